"""Texts: a query that is typed in is answered by the nearest documents."""

from __future__ import annotations

import streamlit as st

from pages.ui.params import note, plain, sentence
from semf_core.common.errors import InvalidInput
from semf_core.datasets.axes import component_names
from semf_core.factorization.retrieval import takes_queries
from semf_core.service import RunStatus, get_service

MOST_SHOWN = 3
"""Components of the query that are named."""


def panel(status: RunStatus) -> None:
    """Only for a run at rest whose rows are words (or genes); nothing is computed before something is asked."""
    service = get_service()
    if status.moving or not status.iterations or not takes_queries(service.axes(status.id), service.image_shape(status.id)):
        return
    rows = service.axes(status.id).rows
    words = ", ".join((rows.names or ())[:3])
    with st.expander("Query: words in, nearest samples out", icon=":material/search:"):
        query = st.text_input(
            f"Names of {plain(rows.title or 'row')}s", key=f"query.{status.id}", placeholder=f"for example {words}"
        )
        if query.strip():
            _answer(status, query)


def _answer(status: RunStatus, query: str) -> None:
    service = get_service()
    try:
        found = service.retrieved(status.id, query)
    except InvalidInput as error:
        st.error(sentence(error))
        return
    title = service.axes(status.id).columns.title or "Sample"
    st.table(
        [{plain(title).capitalize(): plain(hit.name), "Cosine": f"{hit.cosine:.3f}"} for hit in found.hits], border="horizontal"
    )
    names = component_names(service.component_names(status.id), status.spec.rank)
    strongest = sorted(range(len(names)), key=lambda k: -abs(found.code[k]))[:MOST_SHOWN]
    said = f"In the query: {', '.join(f'{names[k]} ({found.code[k]:.3g})' for k in strongest)}."
    note(said + (f" Not among the rows: {', '.join(found.unknown)}." if found.unknown else ""))
