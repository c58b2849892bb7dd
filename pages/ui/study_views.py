"""Two views of a study that need more than a table: the restart atlas, and the choice of rank and sparsity."""

from __future__ import annotations

import dataclasses

import numpy as np
import streamlit as st

from pages.ui import images, session, study_figures
from pages.ui.places import go
from pages.ui.previews import picture, theme
from semf_core.service import get_service
from semf_core.studies.atlas import Atlas
from semf_core.studies.best import REPEATS
from semf_core.studies.views import VIEWS

SHOWN = 3
"""Solutions that are drawn side by side."""
HELD_OUT = VIEWS.build({"name": "heat_map", "measure": "held_out_error", "x": "k", "by": "rank"})
MOST_RUNS = 40
"""Runs in an atlas: all pairs of them are compared."""


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
    """The best runs of the first solutions, their components in the order of the best run's."""
    studies = get_service().studies
    shape = studies.cell_shape(study_id, atlas.runs[0])
    if shape is None:
        return
    kept = studies.components(study_id, [atlas.runs[s.representative] for s in atlas.solutions[:SHOWN]])
    for column, (i, solution) in zip(st.columns(SHOWN), enumerate(atlas.solutions[:SHOWN]), strict=False):
        run = solution.representative
        order = atlas.columns[run]
        U = kept[atlas.runs[run]][:, order[order >= 0]]
        words = f"Solution {i + 1}: error {solution.error:.4g}, {len(solution.members)} runs"
        with column:
            picture(images.basis(U, shape, theme=theme()), words, words, width=420)


def choice_view(study_id: str) -> None:
    """Held-out error over rank × sparsity with the best model and the simplest one that is as good."""
    studies = get_service().studies
    choice = studies.choice(study_id, "rank", "k")
    if choice.best is None or choice.chosen is None:
        return
    st.subheader("The choice", anchor=False)
    drawing = HELD_OUT.draw(studies.table(study_id))
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
    st.plotly_chart(figure, config={"displayModeBar": False}, alt=words.replace("*", ""), key="choice")
    st.markdown(words)
    if st.button("Open the choice in Model", icon=":material/tune:", key="choice-open"):
        trial = studies.study(study_id).cell(int(choice.cells[ci, cj])).trial
        session.set_spec(dataclasses.replace(trial.model, title="Chosen by held-out entries"))
        go("model")
