"""Views of a study that do more than draw a table: maps to click, the restart atlas, the choice of rank and sparsity."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from pages.ui import images, presets, session, study_figures
from pages.ui.charts import chart
from pages.ui.params import note, plain
from pages.ui.previews import picture, theme
from semf_core.datasets import Axes
from semf_core.drawing.overview import column_shape
from semf_core.drawing.top import word_lists
from semf_core.service import get_service
from semf_core.service.public import choose, names_from
from semf_core.studies.atlas import Atlas
from semf_core.studies.best import REPEATS
from semf_core.studies.tables import ResultTable
from semf_core.studies.views import VIEWS, View

CLICKS, CLICKED = "semf_study_clicks", "semf_study_clicked"
SHOWN, ACROSS = 6, 3
"""Solutions that are drawn side by side, and how many of them in a row."""
MOST_WORDS = 6
HELD_OUT = "held_out_error"
SPARSITY = re.compile(r"[xy]\.\d+\.k")
MOST_RUNS = 40
"""Runs in an atlas: all pairs of them are compared."""


def click_chart(figure: go.Figure, words: str, key: str, what: str) -> None:
    """A figure; a click on a field, bar or point (`what` it has) opens the run that stands for it."""
    if get_service().read_only:  # nothing can be run here
        chart(figure, words, key)
        return
    clicks = int(st.session_state.get(CLICKS, 0))
    event = chart(figure, words, f"{key}-{clicks}", on_select="rerun", selection_mode="points")
    cell = clicked_cell(event["selection"]["points"] if event else [])
    if cell is not None:
        st.session_state[CLICKS] = clicks + 1  # a fresh chart: coming back must not open the run again
        st.session_state[CLICKED] = cell
        st.rerun()  # the whole page leaves; from inside a fragment the address would stay behind
    note(f"Click a {what} to open the best of its runs on the workbench (the middle one where none is better).")


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
        bars = study_figures.stability_bars(atlas.stability, _names(study_id, atlas))
        words = f"Stability of {len(atlas.stability)} components, from {atlas.stability.min():.2f} to {atlas.stability.max():.2f}"
        chart(bars, words, "atlas-stability")


def _one_setting(study_id: str) -> list[int]:
    """Cells of the setting that the visitor chooses; repetitions of it."""
    studies = get_service().studies
    study, table = studies.study(study_id), studies.table(study_id)
    axes = [a for a in study.axes if not set(a.paths) <= set(REPEATS)]
    if not axes:
        return [int(n) for n in np.flatnonzero(table.done)]
    with st.container(horizontal=True):
        chosen = [
            st.selectbox(plain(a.name), range(len(a)), format_func=a.labels.__getitem__, key=f"atlas-{a.name}", width=260)
            for a in axes
        ]
    cells = table.arranged_cells([a.name for a in axes])[tuple(chosen)]
    return [int(n) for n in cells if table.done[n]]


def _side_by_side(study_id: str, atlas: Atlas) -> None:
    """The best run of each solution that fits as well as the best, its components in the order of the best run's."""
    studies = get_service().studies
    image_shape, axes = studies.cell_view(study_id, atlas.runs[0])
    shape, names = column_shape(image_shape, axes), _names(study_id, atlas)
    similar = [(i, s) for i, s in enumerate(atlas.solutions) if s.similar][:SHOWN]
    for first in range(0, len(similar), ACROSS):
        for column, (i, solution) in zip(st.columns(ACROSS), similar[first : first + ACROSS], strict=False):
            run = solution.representative
            order = atlas.columns[run]
            U = studies.components(study_id, atlas.runs[run])[:, order[order >= 0]]
            words = f"Solution {i + 1}: error {solution.error:.4g}, {len(solution.members)} runs"
            called = [name for name, place in zip(names, order, strict=True) if place >= 0]
            with column:
                _solution(U, axes, image_shape, shape, called, words)


def _solution(U: Any, axes: Axes, image_shape: Any, shape: Any, names: list[str], words: str) -> None:
    """The components of one solution: the strongest rows where they are words, pictures or curves otherwise."""
    lists = word_lists(U, axes, image_shape, MOST_WORDS)
    if lists is not None:
        st.markdown(f"**{words}**")
        for k, (name, top) in enumerate(zip(names, lists, strict=True)):
            st.markdown(f"{k + 1}. {plain(name) + ': ' if name else ''}" + plain(", ".join(word for word, _ in top)))
        return
    named = "; ".join(f"{k + 1} {name}" for k, name in enumerate(names) if name)
    picture(images.basis(U, shape, theme=theme()), words, f"{words}. {named}" if named else words, width=420)


def _names(study_id: str, atlas: Atlas) -> list[str]:
    """What the visitor has called such components in a run on the same data; the newest that has names counts."""
    service = get_service()
    number = atlas.runs[atlas.reference]
    model = service.studies.study(study_id).cell(number).trial.model
    U = service.studies.components(study_id, number)
    for run in service.list_runs(session.own_runs()):
        typed = service.component_names(run.id)
        if any(typed) and run.spec.dataset == model.dataset and run.iterations:
            return names_from(U, service.factors(run.id).U, typed)
    return [""] * U.shape[1]


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
    click_chart(figure, words.replace("*", ""), f"choice-{study_id}", "field")
    st.markdown(words)
    closed = get_service().read_only
    if st.button("Open the choice on the workbench", disabled=closed, icon=":material/tune:", key="choice-open"):
        trial = studies.study(study_id).cell(int(choice.cells[ci, cj])).trial
        presets.run(dataclasses.replace(trial.model, title="Chosen by held-out entries"))
