"""The drawings of lessons that are no runs: the reader moves what they start from, on the chart or by sliders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import streamlit as st

from pages.ui import figure_charts, params
from pages.ui.charts import chart
from pages.ui.figure_charts import LEAST, MOST, POINT, SPARSENESS, Drawn, State
from pages.ui.places import ASSETS
from semf_core.lessons import Stage, figures
from semf_core.lessons.figures import FIRST, LARGEST_ENTRY, PLANE, STARTS, VECTOR
from semf_core.sets import StructureSet, combine

STEP = 0.1
"""Of a number that a slider or the pointer sets."""
SPOT = ("figure-x", "figure-y")
ENTRIES = tuple(f"figure-v{i}" for i in range(len(FIRST)))


def draw(stage: Stage) -> None:
    """The figure that a stage names, with what moves it."""
    _DRAW[stage.figure](stage)


def state(stage: Stage) -> State:
    """What a reader has chosen for the figure of a stage; what was not touched is as it begins."""
    kept, first = st.session_state.get, figure_charts.first_state(stage.figure)
    if stage.figure == "plane":
        return (kept("figure-set", first[0]), *_held(SPOT, POINT))
    if stage.figure == "vector":
        return (kept(f"figure-set-{stage.name}", _first_set(stage)), *_held(ENTRIES, FIRST))
    start, s = kept("figure-start", first[0]), float(kept("figure-s", first[1]))
    count = len(figure_charts.steps_of(start, s).steps)
    return start, s, kept(f"figure-steps-{count}", first[2])


def _held(keys: Sequence[str], first: Sequence[float]) -> tuple[float, ...]:
    return tuple(float(st.session_state.get(key, value)) for key, value in zip(keys, first, strict=True))


def drawn_vector() -> np.ndarray:
    """The vector as it stands."""
    return np.array(_held(ENTRIES, FIRST))


def put_vector(values: Sequence[float]) -> None:
    """Move its entries."""
    _put(ENTRIES, values)


def _put(keys: Sequence[str], values: Sequence[float]) -> None:
    for key, value in zip(keys, values, strict=True):
        st.session_state[key] = value


# -- each figure -------------------------------------------------------------------------------


def _plane(stage: Stage) -> None:
    st.selectbox("Set", list(PLANE), key="figure-set")
    for column, label, key, first in zip(st.columns(2), ("x₁", "x₂"), SPOT, POINT, strict=True):
        _slider(column, label, key, first)
    made = figure_charts.drawn("plane", state(stage))
    _show(made)
    _by_pointer("point", SPOT)
    _exactness(made.sets)


def _first_set(stage: Stage) -> str:
    """Where the goal of a stage is about approximate projections, it begins with one."""
    asked = {goal.quantity for goal in stage.task.goals} if stage.task is not None else set()
    return figures.APPROXIMATE if "approximation_ratio" in asked else figure_charts.first_state("vector")[0]


def _vector(stage: Stage) -> None:
    names = list(VECTOR)
    st.selectbox("Set", names, index=names.index(_first_set(stage)), key=f"figure-set-{stage.name}")
    now = state(stage)
    made = figure_charts.drawn("vector", now)
    st.markdown("Draw the vector on the chart, with the pointer or a finger.")
    _show(made)
    _by_pointer("bars", ENTRIES)
    with st.expander("Draw with sliders", icon=":material/tune:", key="figure-sliders"):
        for row in range(2):
            for i, column in enumerate(st.columns(4)):
                k = i + 4 * row
                _slider(column, f"x{k + 1}", ENTRIES[k], FIRST[k])
    _exactness(made.sets)
    _all_sets(np.array(now[1:]))


def _slider(column: Any, label: str, key: str, first: float) -> None:
    params.keep(key, first)
    column.slider(label, -LARGEST_ENTRY, LARGEST_ENTRY, step=STEP, key=key)


def _all_sets(given: np.ndarray) -> None:
    """The distance of the vector to its projection onto every set."""
    lines = ["| set | projection | distance |", "|---|---|---|"]
    for name, sets in VECTOR.items():
        distance = np.linalg.norm(given - figures.projected(given[None], sets)[0])
        lines.append(f"| {name} | {'exact' if combine(sets).exact else 'approximate'} | {distance:.3g} |")
    st.markdown("\n".join(lines))


def _tangent(stage: Stage) -> None:
    left, right = st.columns(2)
    s = left.slider("Least sparseness s", LEAST, MOST, SPARSENESS, 0.05, key="figure-s")
    start = right.selectbox("Best fit without the constraint", list(STARTS), key="figure-start")
    count = len(figure_charts.steps_of(start, s).steps)
    if count:
        st.slider("Steps", 0, count, 1, key=f"figure-steps-{count}")
    _show(figure_charts.drawn("tangent-plane", state(stage)))


def _show(made: Drawn) -> None:
    chart(made.chart, made.words, "lesson-figure", width="stretch")
    st.markdown(f"{made.words}.")


def _exactness(sets: tuple[StructureSet, ...]) -> None:
    whole = combine(sets)
    colour, word = ("green", "exact") if whole.exact else ("orange", "approximate")
    st.markdown(f":{colour}-badge[{word} projection] {whole.reason[:1].upper()}{whole.reason[1:]}.")


_DRAW: dict[str, Callable[[Stage], None]] = {"plane": _plane, "vector": _vector, "tangent-plane": _tangent}


# -- by pointer --------------------------------------------------------------------------------


@cache
def _component() -> Any:
    return st.components.v2.component(
        "semf_pointing", js=(ASSETS / "pointing.js").read_text(encoding="utf-8"), isolate_styles=False
    )


def _by_pointer(kind: str, keys: Sequence[str]) -> None:
    """Let the pointer move a point or bars of the chart above; what it sends is put into the sliders."""
    name = f"figure-pointing-{kind}"

    def keep() -> None:
        told = (st.session_state.get(name) or {}).get("drawn")
        values = checked_values(told, len(keys))
        if values is not None:
            _put(keys, values)

    values = _held(keys, POINT if kind == "point" else FIRST)
    data = {"kind": kind, "values": values, "most": LARGEST_ENTRY, "step": STEP}
    _component()(key=name, data=data, on_drawn_change=keep, height=1)


def checked_values(told: object, count: int) -> list[float] | None:
    """Numbers as a browser sends them, as sliders have them; None if they are none."""
    if not isinstance(told, list) or len(told) != count:
        return None
    if not all(isinstance(v, int | float) and not isinstance(v, bool) and abs(v) <= LARGEST_ENTRY for v in told):
        return None
    return [round(round(v / STEP) * STEP, 6) for v in told]
