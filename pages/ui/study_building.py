"""A study of the visitor's own: the current model, what varies in it, how many seeds; or one as JSON."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.ui import session, studying
from pages.ui.params import label, note, plain, say_refusal
from semf_core.model import ModelSpec
from semf_core.parameters import InvalidInput, Param, params_of
from semf_core.service import get_service
from semf_core.spelling import FIRST
from semf_core.studies import Study

NOTHING = "nothing"
KINDS = frozenset({"integer", "number", "choice", "boolean"})
RANK = Param("integer", 2, low=1, high=4096, name="rank", help="number of components p")
SEEDS = Param("integer", 10, low=1, high=1000, name="seeds", help="repetitions of every setting")
ROOTS = {"solver": "algorithm", "limits": "limits", "dataset": "data"}


def paths_of(spec: ModelSpec) -> dict[str, Param]:
    """Everything of a model that a number or a word describes, by its path."""
    found = {"rank": RANK}
    owners: list[tuple[str, Any]] = [("solver", spec.solver), ("limits", spec.limits), ("dataset", spec.dataset)]
    owners += [(f"{factor}.{i}", s) for factor in "xy" for i, s in enumerate(getattr(spec, factor))]
    for root, owner in owners:
        found |= {f"{root}.{p.name}": p for p in params_of(type(owner)) if p.kind in KINDS}
    return found


def path_words(path: str, p: Param) -> str:
    """A path as the Model page speaks of it: x.0.k is k of constraint 1 on X."""
    root, *rest = path.split(".")
    if root in ("x", "y"):
        return f"{label(p)} of constraint {int(rest[0]) + FIRST} on {root.upper()}"
    return f"{label(p)} ({ROOTS[root]})" if rest else label(p)


def values_of(p: Param, text: str) -> list[Any]:
    """What was typed, one value for each word between commas."""
    return [p.parse(word) for word in text.split(",") if word.strip()]


def builder() -> None:
    spec = session.spec()
    st.markdown(f"The model is **{plain(spec.title or spec.dataset.title)}**, as it is on the Model page.")
    paths = paths_of(spec)
    first, second = (_axis(paths, number) for number in (1, 2))
    with st.container(horizontal=True):
        seeds = st.number_input("Seeds", 1, 1000, 10, key="study-seeds", width=160, help=SEEDS.help)
        held = st.number_input("Held-out entries, %", 0.0, 90.0, 0.0, key="study-held", width=200)
    keep = st.toggle("Keep the factors for a restart atlas", key="study-keep", value=first is None and second is None)
    try:
        study = own_study(spec, [axis for axis in (first, second) if axis], int(seeds), held / 100, keep)
        note(f"{study.count} runs.")
        closed = get_service().read_only
        if st.button("Start the study", type="primary", icon=":material/play_arrow:", key="study-start", disabled=closed):
            studying.start(study)
    except InvalidInput as refusal:
        say_refusal(refusal)
    with st.expander("A study as JSON", icon=":material/code:"):
        pasted()


def _axis(paths: dict[str, Param], number: int) -> dict[str, Any] | None:
    """One thing that varies, and its values."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        word = "What varies" if number == 1 else "And with it"
        words = {path: path_words(path, p) for path, p in paths.items()}
        options = {"format_func": lambda path: words.get(path, path), "width": 320}
        path = st.selectbox(word, [NOTHING, *paths], key=f"study-path-{number}", **options)
        if path == NOTHING:
            return None
        p = paths[path]
        text = st.text_input("Values, with commas between", key=f"study-values-{number}-{path}", help=p.help, width=320)
    try:
        values = values_of(p, text)
    except InvalidInput as refusal:
        say_refusal(refusal)
        return None
    if not values:
        note(f"Type the values of {plain(words[path])}, for example {_example(p)}.")
        return None
    return {"name": path, "path": path, "values": values}


def _example(p: Param) -> str:
    if p.kind == "choice":
        return ", ".join(p.choices[:2])
    if p.kind == "boolean":
        return "true, false"
    return "2, 4, 8" if p.kind == "integer" else "0.1, 1, 10"


def own_study(spec: ModelSpec, axes: list[dict[str, Any]], seeds: int, held_out: float, keep: bool) -> Study:
    """The study that the widgets describe."""
    base = {k: v for k, v in spec.to_dict().items() if k not in ("title", "watch")}
    measures = ["relative_error", "snr_db", "sparseness", "overlap", "feasible", "iterations", "seconds"]
    if session.dataset().parts is not None:
        measures = ["solved", "parts_found", *measures]
    if held_out:
        base["data"] = {"held_out": held_out}
        measures = ["held_out_error", *measures]
    repeats = {"name": "repeat", "paths": ["seed", "data.seed"] if held_out else ["seed"], "range": [0, seeds]}
    shown = [m for m in ("held_out_error", "parts_found", "relative_error", "seconds") if m in measures][:3]
    return Study.from_dict(
        {
            "name": "own-study",
            "title": f"{spec.title or spec.dataset.title}: a study",
            "base": base,
            "axes": [*axes, repeats],
            "measures": measures,
            "views": [_view(axes, measure) for measure in shown],
            "keep": ["factors"] if keep else [],
        }
    )


def _view(axes: list[dict[str, Any]], measure: str) -> dict[str, Any]:
    if len(axes) == 2:
        return {"name": "heat_map", "measure": measure, "x": axes[0]["name"], "by": axes[1]["name"]}
    return {"name": "curve", "measure": measure, "x": axes[0]["name"] if axes else "repeat"}


def pasted() -> None:
    """A study that somebody wrote or downloaded."""
    example = '{"base": {"preset": "swimmer-groups"}, "axes": […], "measures": […]}'
    text = st.text_area("Study", key="study-json", height=200, placeholder=example)
    closed = get_service().read_only
    if text.strip() and st.button("Start it", key="study-json-start", icon=":material/play_arrow:", disabled=closed):
        try:
            study = Study.from_json(text)
            studying.start(study.sized(next(iter(study.sizes))) if study.sizes else study)
        except InvalidInput as refusal:
            say_refusal(refusal)
