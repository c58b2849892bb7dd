"""One iteration, step by step: the matrix that changes before, after and as a difference, with its formula filled in."""

from __future__ import annotations

import re
from html import escape

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from pages.ui.error_boundary import error_boundary
from pages.ui.glossary import explain, help_on
from pages.ui.images import basis
from pages.ui.params import show_error
from pages.ui.previews import theme
from semf_core.common.errors import InvalidInput
from semf_core.exports.curves import COLOURS
from semf_core.glossary import word
from semf_core.runs.substeps import Substep
from semf_core.service import RunStatus, get_service

STEP, ITERATION, COLUMN = "substep", "substep-iteration", "substep-column"
_TILES = (
    '<div style="display:grid;grid-template-columns:repeat(3,1fr);max-width:36rem;text-align:center">'
    "<span>before</span><span>after</span><span>difference</span></div>"
    '<img src="{url}" alt="{alt}" style="width:100%;max-width:36rem;image-rendering:pixelated">'
)


@st.fragment
@error_boundary()
def show(run_id: str) -> None:
    """The steps of an iteration of a run, one press each."""
    status = get_service().status(run_id)
    if status.iterations < 1:
        return
    box = st.expander("One iteration, step by step", icon=":material/footprint:", key="substeps", on_change="rerun")
    if box.open:  # an iteration is computed again only for who wants to see it
        with box:
            _steps(status)


def _steps(status: RunStatus) -> None:
    at = st.query_params.get("at", "")
    if ITERATION not in st.session_state:
        st.session_state[ITERATION] = int(at) if at.isdecimal() and len(at) < 16 and int(at) > 0 else 1
    st.session_state[ITERATION] = min(st.session_state[ITERATION], status.iterations)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        iteration = st.number_input("Iteration", 1, status.iterations, key=ITERATION, width=160)
        try:
            with st.spinner(f"Computing iteration {iteration} again"):
                steps = get_service().substeps(status.id, int(iteration))
        except InvalidInput as error:
            show_error(error)
            return
        position = min(st.session_state.get(STEP, 0), len(steps) - 1)
        st.button("Previous step", on_click=_go, args=(position - 1,), disabled=position == 0, icon=":material/arrow_back:")
        st.button("Next step", on_click=_onwards, args=(position, len(steps), status.iterations), type="primary",
                  icon=":material/arrow_forward:", key="substep-next")  # fmt: skip
        step = steps[position]
        with st.popover(word(step.name).sign, help=help_on(step.name)):
            explain(word(step.name))
    formula, _, tag = step.formula.partition(r" \tag")  # as a tag, its number would lie on a formula that fills its place
    number = f", ({tag.strip('{}')})" if tag else ""
    st.markdown(f"**Step {position + 1} of {len(steps)}**: {step.words}{number}.")
    with st.container(key="substep-formula"):
        st.latex(_on_lines(formula))
    if step.table:
        head = {"": [name for name, _, _ in step.table]}
        st.table(head | {"mean now": [f"{now:.4g}" for _, now, _ in step.table],
                         "mean before": [f"{old:.4g}" for _, _, old in step.table]}, border="horizontal")  # fmt: skip
    if step.before is not None and step.after is not None:
        _matrix(status, step, step.before, step.after)


def _on_lines(formula: str) -> str:
    """A formula and what its symbols are on lines of their own: a phone has no room for them side by side."""
    lines = re.split(r",\\quad | \\quad(?=\\text\{s\.t\.\})", formula)
    return formula if len(lines) == 1 else r"\begin{gathered}" + r" \\ ".join(lines) + r"\end{gathered}"


def _go(position: int) -> None:
    st.session_state[STEP] = max(0, position)


def _onwards(position: int, count: int, iterations: int) -> None:
    """The next step, or the first of the next iteration."""
    last = position + 1 >= count
    _go(0 if last else position + 1)
    if last and st.session_state[ITERATION] < iterations:
        st.session_state[ITERATION] += 1


def _matrix(status: RunStatus, step: Substep, before: np.ndarray, after: np.ndarray) -> None:
    what, count = ("Component", before.shape[1]) if step.of_parts else ("Sample", before.shape[1])
    key = f"{COLUMN}-{what}"
    st.session_state[key] = min(st.session_state.get(key, 1), count)
    j = int(st.number_input(what, 1, count, key=key, width=160)) - 1
    old, new = before[:, j].astype(float), after[:, j].astype(float)
    change = new - old
    size = f"‖after − before‖ = {np.linalg.norm(after - before):.4g} for the whole matrix, {np.linalg.norm(change):.4g} here"
    if step.of_parts:
        shape = get_service().image_shape(status.id)
        picture = basis(np.stack([old, new, change], axis=1), shape, ((0, 1, 2),), theme(), one_scale=True)
        alt = f"{word(step.name).sign}, {what.lower()} {j + 1}: before, after and difference"
        st.html(_TILES.format(url=picture.url, alt=escape(alt)))
    else:
        _bars(old, new)
    st.markdown(f"{size}.")
    if step.filled is not None:
        i = int(np.abs(change).argmax())
        st.markdown(f"The entry that changes most, number {i + 1}:")
        with st.container(key="substep-formula-numbers"):
            st.latex(step.filled(i, j))


def _bars(old: np.ndarray, new: np.ndarray) -> None:
    chart = go.Figure(layout={"height": 260, "margin": {"l": 30, "r": 10, "t": 10, "b": 30}, "barmode": "group"})
    rows = [str(i + 1) for i in range(len(old))]
    for name, values, colour in (("before", old, "grey"), ("after", new, "blue"), ("difference", new - old, "orange")):
        chart.add_bar(x=rows, y=values, name=name, marker_color=COLOURS["light"][colour])
    st.plotly_chart(chart, key="substep-bars", config={"displayModeBar": False}, width="stretch")
