"""A study of the visitor's own: the current model, what varies in it, how many seeds; or one as JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from pages.ui import params, session, study_page
from pages.ui.params import note, plain, show_error
from semf_core.common.notation import FIRST, label
from semf_core.common.parameters import InvalidInput, Param, params_of
from semf_core.model import ModelSpec
from semf_core.service import get_service
from semf_core.solvers import SOLVERS
from semf_core.studies import MEASURES, DataChanges, Study

NOTHING = "nothing"
KINDS, WORDS = frozenset({"integer", "number", "choice", "boolean"}), frozenset({"choice", "boolean"})
RANK = Param("integer", 2, low=1, high=4096, name="rank", help="number of components p")
SEEDS = Param("integer", 10, low=1, high=1000, name="seeds", help="repetitions of every setting")
ALGORITHM = Param(
    "choice", SOLVERS.names()[0], choices=tuple(SOLVERS.names()), name="algorithm", help="the others have their default options"
)
CHANGES = ("samples", "snr_db")
"""What can be done to any data: fewer samples, more noise."""
ROOTS = {"solver": "algorithm", "limits": "limits", "dataset": "data", "data": "data"}
USUAL = ("relative_error", "snr_db", "sparseness", "overlap", "feasible", "iterations", "seconds")
OF_PARTS = ("solved", "parts_found", "groups_correct", "recovered_atoms", "recovered_share", "dictionary_distance", "true_error")
"""Measures that need data with known parts."""
HELD_OUT = "held_out_error"
DRAWN = (HELD_OUT, "parts_found", "relative_error", "seconds")


def paths_of(spec: ModelSpec) -> dict[str, Param]:
    """Everything of a model that a number or a word describes, by its path."""
    found = {"rank": RANK, "solver": ALGORITHM}
    owners: list[tuple[str, Any]] = [("solver", spec.solver), ("limits", spec.limits), ("dataset", spec.dataset)]
    owners += [(f"{factor}.{i}", s) for factor in "xy" for i, s in enumerate(getattr(spec, factor))]
    for root, owner in owners:
        found |= {f"{root}.{p.name}": p for p in params_of(type(owner)) if p.kind in KINDS}
    changes = {p.name: p for p in params_of(DataChanges) if p.name in CHANGES}
    return found | {f"data.{name}": p for name, p in changes.items() if f"dataset.{name}" not in found}


def path_words(path: str, p: Param) -> str:
    """A path as the workbench speaks of it: x.0.k is k of constraint 1 on X."""
    root, *rest = path.split(".")
    if root in ("x", "y"):
        return f"{label(p)} of constraint {int(rest[0]) + FIRST} on {root.upper()}"
    return f"{label(p)} ({ROOTS[root]})" if rest else label(p)


def values_of(p: Param, text: str) -> list[Any]:
    """What was typed, one value for each word between commas."""
    return [p.parse(word) for word in text.split(",") if word.strip()]


def builder() -> None:
    spec = session.spec()
    st.markdown(f"The model is **{plain(spec.title or spec.dataset.title)}**, as it is on the workbench.")
    paths = paths_of(spec)
    first, second = (_axis(paths, number) for number in (1, 2))
    with st.container(horizontal=True):
        seeds = st.number_input("Seeds", 1, 1000, 10, key="study-seeds", width=160, help=SEEDS.help)
        held = st.number_input("Held-out entries, %", 0.0, 90.0, 0.0, key="study-held", width=200)
    drawn = _drawn(bool(held))
    keep = st.toggle("Keep the factors for a restart atlas", key="study-keep", value=first is None and second is None)
    try:
        study = own_study(spec, [axis for axis in (first, second) if axis], int(seeds), held / 100, keep, drawn)
        note(f"{study.count} runs.")
        closed = get_service().read_only
        if st.button("Start the study", type="primary", icon=":material/play_arrow:", key="study-start", disabled=closed):
            study_page.start(study)
    except InvalidInput as error:
        show_error(error)
    with st.expander("A study as JSON", icon=":material/code:"):
        pasted()


def measures_for(held_out: bool) -> list[str]:
    """Names of the measures that mean something on the data in use."""
    known = session.dataset().parts is not None
    unknown = {"success"} | (set() if held_out else {HELD_OUT}) | (set() if known else set(OF_PARTS))
    return [name for name in MEASURES.names() if name not in unknown]


def _drawn(held_out: bool) -> list[str]:
    names = measures_for(held_out)
    usual = [name for name in DRAWN if name in names][:3]
    titles = {name: MEASURES.get(name).title for name in names}
    return st.multiselect("What is drawn", names, usual, format_func=params.shown_as(titles), key=f"study-drawn-{held_out}")


def _axis(paths: dict[str, Param], number: int) -> dict[str, Any] | None:
    """One thing that varies, and its values."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        word = "What varies" if number == 1 else "Crossed with"
        words = {path: path_words(path, p) for path, p in paths.items()}
        key = f"study-path-{number}"
        path = st.selectbox(word, [NOTHING, *paths], format_func=params.shown_as(words), key=key, width=320)
        if path == NOTHING:
            return None
        p = paths[path]
        try:
            values = _values(path, p, f"study-values-{number}-{path}")
        except InvalidInput as error:
            show_error(error)
            return None
    if path == "solver" and (own := [SOLVERS.get(name) for name in values if SOLVERS.get(name).own_start]):
        note(f"All begin with the same random X and Y, except {'; '.join(f'{cls.title} ({cls.own_start})' for cls in own)}.")
    if not values:
        wanted = f"the values of {words[path]}"
        note(f"Choose {wanted}." if p.kind in WORDS else f"Type {wanted}, for example {_example(p)}.")
        return None
    if path == "solver":
        return algorithms_axis(session.spec(), values)
    return {"name": words[path], "path": path, "values": values}


def _values(path: str, p: Param, key: str) -> list[Any]:
    """The values of what varies: chosen where there are a few words for them, typed where they are numbers."""
    if p.kind not in WORDS:
        return values_of(p, st.text_input("Values, with commas between", key=key, help=p.help, width=320))
    titles = {name: SOLVERS.get(name).title for name in p.choices} if path == "solver" else {}
    words = list(p.choices) if p.kind == "choice" else ["true", "false"]
    chosen = st.multiselect("Values", words, format_func=lambda word: titles.get(word, word), key=key, help=p.help)
    return [p.parse(word) for word in chosen]


def algorithms_axis(spec: ModelSpec, names: list[str]) -> dict[str, Any]:
    """Several algorithms: the model's own as it is set, the others with their default options."""
    forms = [spec.solver.to_dict() if name == spec.solver.name else {"name": name} for name in names]
    return {"name": label(ALGORITHM), "path": "solver", "values": forms, "labels": [SOLVERS.get(name).title for name in names]}


def _example(p: Param) -> str:
    return "2, 4, 8" if p.kind == "integer" else "0.1, 1, 10"


def own_study(
    spec: ModelSpec, axes: list[dict[str, Any]], seeds: int, held_out: float, keep: bool, drawn: Sequence[str] = ()
) -> Study:
    """The study that the widgets describe."""
    if any(axis["path"] == "solver" for axis in axes):  # algorithms are compared from the same start
        spec = replace(spec, limits=replace(spec.limits, common_start=True))
    base = {k: v for k, v in spec.to_dict().items() if k not in ("title", "watch")}
    offered = measures_for(bool(held_out))
    measures = [name for name in offered if name in (*USUAL, *drawn, HELD_OUT, "solved", "parts_found")]
    if held_out:
        base["data"] = {"held_out": held_out}
    axes = _together(axes, spec)
    at_random = held_out or any(axis["path"].startswith("data.") for axis in axes)
    repeats = {"name": "repeat", "paths": ["seed", "data.seed"] if at_random else ["seed"], "range": [0, seeds]}
    return Study.from_dict(
        {
            "name": "own-study",
            "title": f"{spec.title or spec.dataset.title}, over {' × '.join(a['name'] for a in axes) or f'{seeds} seeds'}",
            "base": base,
            "axes": [*axes, repeats],
            "measures": measures,
            "views": [_view(axes, measure) for measure in drawn or [name for name in DRAWN if name in measures][:3]],
            "keep": ["factors"] if keep else [],
        }
    )


def _together(axes: list[dict[str, Any]], spec: ModelSpec) -> list[dict[str, Any]]:
    """Algorithms first: what is set in the model's own then counts for that one alone."""
    if not any(axis["path"] == "solver" for axis in axes):
        return axes
    own = f"solver:{spec.solver.name}."
    paths = [re.sub(r"^solver\.", own, axis["path"]) for axis in axes]
    return sorted((axis | {"path": path} for axis, path in zip(axes, paths, strict=True)), key=lambda a: a["path"] != "solver")


def _view(axes: list[dict[str, Any]], measure: str) -> dict[str, Any]:
    """Numbers run along the figure; settings that are words stand side by side or have a line each."""
    rate = MEASURES.get(measure).yes_no
    words = [a["name"] for a in axes if not all(isinstance(v, int | float) and not isinstance(v, bool) for v in a["values"])]
    numbers = [a["name"] for a in axes if a["name"] not in words]
    if len(axes) == 2 and len(words) != 1:
        return {"name": "heat_map", "measure": measure, "x": axes[0]["name"], "by": axes[1]["name"]}
    kind = "rates" if rate else "table" if words and not numbers else "curve"
    x = (numbers or words or ["repeat"])[0]
    return {"name": kind, "measure": measure, "x": x} | ({"by": words[0]} if words and numbers else {})


def pasted() -> None:
    """A study that somebody wrote or downloaded."""
    example = '{"base": {"preset": "swimmer-groups"}, "axes": […], "measures": […]}'
    text = st.text_area("Study", key="study-json", height=200, placeholder=example)
    closed = get_service().read_only
    if text.strip() and st.button("Start it", key="study-json-start", icon=":material/play_arrow:", disabled=closed):
        try:
            study = Study.from_json(params.pasted(text))
            study_page.start(study.sized(next(iter(study.sizes))) if study.sizes else study)
        except InvalidInput as error:
            show_error(error)
