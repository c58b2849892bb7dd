"""What stands beside a question before it is answered, and gives nothing away: the model, the data, the stage before."""

from __future__ import annotations

import streamlit as st

from pages.ui import images
from pages.ui.params import note, plain
from pages.ui.previews import picture, theme
from semf_core.common.errors import InvalidInput
from semf_core.factorization.scores import model_groups, truth_words
from semf_core.lessons import Stage
from semf_core.service import RunStatus, get_service

ROOM, ACROSS = (640, 660, 0), 5
"""Of a picture beside a question in the presenter's view at 1920 × 1080, and the samples in a row of it."""


def show(stage: Stage, before: Stage | None, stored: RunStatus | None) -> None:
    """`stored` is the run of the stage before, where there is one on the same data."""
    assert stage.model is not None
    source = stage.model.dataset
    same = stored is not None and before is not None and before.model is not None and before.model.dataset == source
    with st.container(key="lesson-foretaste"):
        left, right = st.columns(2) if same else (st.container(), None)
        with left:
            data = get_service().datasets.dataset(source)
            shape = data.image_shape
            drawn = get_service().datasets.draw(source, shape, theme())
            drawn = drawn.corner(ACROSS) if shape else drawn
            m, n = data.shape
            some = f"{len(drawn.tiles)} of " if len(drawn.tiles) < n else ""
            note(f"The data: {some}{n:,} samples, a column of M each" if shape else f"The data: M is {m:,} × {n:,}")
            picture(drawn, f"Some of the {n:,} samples of {plain(data.title)}", width=640)
        if right is not None and before is not None and stored is not None:
            with right:
                _before(before, stored)


def _before(before: Stage, stored: RunStatus) -> None:
    """The components of the stage before, dimmed: they are what this stage is compared with."""
    service = get_service()
    try:
        frame = service.factors(stored.id)
        groups = model_groups(stored.spec.y_set)
        drawn = images.components(frame.U, service.column_shape(stored.id), groups, theme(), ROOM)
        found = truth_words(service.truth(stored.id, frame))
    except InvalidInput:  # nothing is recorded yet
        return
    words = ", ".join(badge["text"] for badge in found)
    some, count = len(drawn.tiles), frame.U.shape[1]
    which = f", the first {some} of {count} components" if some < count else ""
    note(f"The stage before, {before.title}{which}" + (f": {words}" if words else ""))
    with st.container(key="lesson-dimmed"):
        picture(drawn, f"{some} components of the stage before, {before.title}", width=640)
