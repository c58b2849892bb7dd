"""Views of a study that do more than draw a table: maps to click, the restart atlas, the choice of rank and sparsity."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from pages.ui import images, places, session, study_figures
from pages.ui.params import note
from pages.ui.previews import picture, theme
from semf_core.service import get_service
from semf_core.studies.atlas import Atlas
from semf_core.studies.best import REPEATS
from semf_core.studies.choice import choose
from semf_core.studies.tables import ResultTable
from semf_core.studies.views import VIEWS, View

CLICKS, CLICKED = "semf_study_clicks", "semf_study_clicked"
SHOWN, ACROSS = 6, 3
"""Solutions that are drawn side by side, and how many of them in a row."""
HELD_OUT = "held_out_error"
SPARSITY = re.compile(r"[xy]\.\d+\.k")
MOST_RUNS = 40
"""Runs in an atlas: all pairs of them are compared."""


def heat_chart(figure: go.Figure, words: str, key: str) -> None:
    """A heat map; a click on a field with results opens its best run."""
    plain: dict[str, Any] = {"config": {"displayModeBar": False}, "alt": words}
    if get_service().read_only:  # nothing can be run here
        st.plotly_chart(figure, key=key, **plain)
        return
    clicks = int(st.session_state.get(CLICKS, 0))
    event = st.plotly_chart(figure, key=f"{key}-{clicks}", on_select="rerun", selection_mode="points", **plain)
    cell = clicked_cell(event["selection"]["points"] if event else [])
    if cell is not None:
        st.session_state[CLICKS] = clicks + 1  # a fresh chart: coming back must not open the run again
        st.session_state[CLICKED] = cell
        st.rerun()  # the whole page leaves; from inside a fragment the address would stay behind
    note("Click a field to open its best run on the Run page.")


def clicked_cell(points: list[Any]) -> int | None:
    """The number of the cell below the pointer; None where there is no result yet."""
    for point in points:
        data = point["customdata"]
        number = int(data[0] if isinstance(data, list | tuple) else data)
        return number if number >= 0 else None
    return None


def atlas_view(study_id: str) -> None:
    """Which components come back from run to run, and the different solutions that fit equally well."""
    st.subheader("Restart atlas", anchor=False)
    numbers = _one_setting(study_id)
    atlas = get_service().studies.atlas(study_id, numbers[:MOST_RUNS])
    if atlas is None or len(atlas.runs) < 2:
        st.markdown("At least two finished runs of one setting are needed.")
        return
    similar = [s for s in atlas.solutions if s.similar]
    st.markdown(
        f"{len(atlas.runs)} runs end in {len(atlas.solutions)} different solutions; "
        f"{len(similar)} of them fit as well as the best one (error {atlas.errors.min():.4g})."
    )
    rows = [
        {"Solution": i + 1, "Runs": len(s.members), "Error": f"{s.error:.4g}", "Cosine with the best": f"{s.agreement:.3f}"}
        for i, s in enumerate(atlas.solutions[:10])
    ]
    st.table(rows, border="horizontal")
    _side_by_side(study_id, atlas)
    if not np.isnan(atlas.stability).all():
        st.markdown("**How surely each component comes back** among the runs that fit equally well")
        bars = study_figures.stability_bars(atlas.stability)
        words = f"Stability of {len(atlas.stability)} components, from {atlas.stability.min():.2f} to {atlas.stability.max():.2f}"
        st.plotly_chart(bars, config={"displayModeBar": False}, alt=words, key="atlas-stability")


def _one_setting(study_id: str) -> list[int]:
    """Cells of the setting that the visitor chooses; repetitions of it."""
    studies = get_service().studies
    study, table = studies.study(study_id), studies.table(study_id)
    axes = [a for a in study.axes if not set(a.paths) <= set(REPEATS)]
    if not axes:
        return [int(n) for n in np.flatnonzero(table.done)]
    with st.container(horizontal=True):
        chosen = [
            st.selectbox(a.name, range(len(a)), format_func=a.labels.__getitem__, key=f"atlas-{a.name}", width=260) for a in axes
        ]
    cells = table.arranged_cells([a.name for a in axes])[tuple(chosen)]
    return [int(n) for n in cells if table.done[n]]


def _side_by_side(study_id: str, atlas: Atlas) -> None:
    """The best run of each solution that fits as well as the best, its components in the order of the best run's."""
    studies = get_service().studies
    shape = studies.cell_shape(study_id, atlas.runs[0])
    if shape is None:
        return
    similar = [(i, s) for i, s in enumerate(atlas.solutions) if s.similar][:SHOWN]
    kept = studies.components(study_id, [atlas.runs[s.representative] for _, s in similar])
    for first in range(0, len(similar), ACROSS):
        for column, (i, solution) in zip(st.columns(ACROSS), similar[first : first + ACROSS], strict=False):
            run = solution.representative
            order = atlas.columns[run]
            U = kept[atlas.runs[run]][:, order[order >= 0]]
            words = f"Solution {i + 1}: error {solution.error:.4g}, {len(solution.members)} runs"
            with column:
                picture(images.basis(U, shape, theme=theme()), words, words, width=420)


def choice_axes(table: ResultTable) -> tuple[str, str] | None:
    """The names of the axes of rank and of a number of nonzeros, where held-out entries can choose between them."""
    if HELD_OUT not in table.columns:
        return None
    numbers = [a for a in table.axes if a.numbers() is not None]
    rank = next((a.name for a in numbers if a.paths[0] == "rank"), None)
    sparsity = next((a.name for a in numbers if SPARSITY.fullmatch(a.paths[0])), None)
    return (rank, sparsity) if rank and sparsity else None


def shows_choice(view: View, names: tuple[str, str]) -> bool:
    """Whether a view is the map that the choice is marked on."""
    return view.name == "heat_map" and view.measure == HELD_OUT and set(view.axes()) == set(names)


def choice_view(study_id: str, table: ResultTable, names: tuple[str, str]) -> None:
    """Held-out error over rank × sparsity with the best model and the simplest one that is as good."""
    studies = get_service().studies
    rank, sparsity = names
    choice = choose(table, rank, sparsity)
    if choice.best is None or choice.chosen is None:
        return
    st.subheader("The choice", anchor=False)
    drawing = VIEWS.build({"name": "heat_map", "measure": HELD_OUT, "x": sparsity, "by": rank}).draw(table)
    assert drawing.grid is not None
    figure = study_figures.heat_map(drawing.grid, drawing)
    for (i, j), word, symbol in ((choice.best, "smallest error", "circle"), (choice.chosen, "one-standard-error choice", "star")):
        study_figures.marked(figure, (j, i), word, symbol)
    (bi, bj), (ci, cj) = choice.best, choice.chosen
    words = (
        f"The smallest held-out error is {choice.mean[bi, bj]:.4g} ± {choice.error[bi, bj]:.2g} at rank {choice.ranks[bi]} with "
        f"{choice.sparsities[bj]} nonzeros. The simplest model within one standard error has rank **{choice.ranks[ci]}** and "
        f"**{choice.sparsities[cj]}** nonzeros (error {choice.mean[ci, cj]:.4g})."
    )
    heat_chart(figure, words.replace("*", ""), f"choice-{study_id}")
    st.markdown(words)
    if st.button("Open the choice in Model", icon=":material/tune:", key="choice-open"):
        trial = studies.study(study_id).cell(int(choice.cells[ci, cj])).trial
        session.set_spec(dataclasses.replace(trial.model, title="Chosen by held-out entries"))
        places.go("model")
