"""The stack of constraint blocks on one factor: drawn from the registry, edited, moved, removed."""

from __future__ import annotations

import json
from dataclasses import dataclass

import streamlit as st

from pages.ui import params, previews, session
from semf_core.drafts import draft_set, misfit, vector_length
from semf_core.parameters import InvalidInput
from semf_core.sets import SETS, StructureSet, combine, members_of
from semf_core.sets.typeset import formula

IDS = "semf_block_ids"
NEXT = "semf_block_next"
PREVIEW_HELP = "Shows what the constraints make of a matrix of this shape, before anything runs."


@dataclass(frozen=True)
class Factor:
    """One side of M ≈ XY: its name, its shape and the data around it."""

    name: str
    shape: tuple[int, int]
    loaded: session.Loaded

    @property
    def field(self) -> str:
        return self.name.lower()

    @property
    def sets(self) -> tuple[StructureSet, ...]:
        return getattr(session.spec(), self.field)

    def replace(self, sets: list[StructureSet]) -> None:
        session.update_spec(**{self.field: tuple(sets)})


def stacks(loaded: session.Loaded) -> bool:
    """Both stacks side by side; whether their constraints can be met."""
    (m, n), p = loaded.dataset.shape, session.spec().rank
    wrong = []
    for side, factor in zip(st.columns(2, gap="medium"), (Factor("X", (m, p), loaded), Factor("Y", (p, n), loaded)), strict=True):
        with side:
            wrong.append(stack(factor))
    return wrong == [None, None]


def stack(factor: Factor) -> InvalidInput | None:
    """Draw one stack with its formula; why it cannot be used, or None."""
    m, n = factor.shape
    st.subheader(f"{factor.name} · {m} × {n}", anchor=False)
    formula = st.container()
    ids = block_ids(factor)
    for index, block_id in enumerate(ids):
        _block(factor, index, block_id, len(ids))
    _adder(factor)
    problem = misfit(factor.sets, factor.shape)
    with formula:
        _formula(factor, problem)
    if problem is None and factor.sets:
        _projection(factor)
    return problem


# -- blocks ------------------------------------------------------------------------------------


def block_ids(factor: Factor) -> list[int]:
    """A number for every block that moves with it, so that its widgets do too."""
    kept = st.session_state.setdefault(IDS, {})
    key = (factor.name, session.stamp())
    ids = kept.get(key)
    if ids is None or len(ids) != len(factor.sets):
        ids = [_new_id() for _ in factor.sets]
        for old in [k for k in kept if k[0] == factor.name]:
            del kept[old]
        kept[key] = ids
    return ids


def _new_id() -> int:
    st.session_state[NEXT] = st.session_state.get(NEXT, 0) + 1
    return st.session_state[NEXT]


def _block(factor: Factor, index: int, block_id: int, count: int) -> None:
    current = factor.sets[index]
    key = f"{factor.name}.{block_id}"
    with st.container(border=True, key=f"block_{factor.name}_{block_id}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"**{current.title}**", help=current.summary[:1].upper() + current.summary[1:] + ".", width="stretch")
            with st.container(horizontal=True, gap="small", width="content", wrap=False):
                _block_buttons(factor, index, key, count)
        around = params.Around(vector_length(current, factor.shape), factor.loaded.dataset.groups if factor.name == "Y" else None)
        new = params.edit(current, key, lambda s: s.check_shape(factor.shape), around)
    if new != current:
        sets = list(factor.sets)
        sets[index] = new
        factor.replace(sets)


def _block_buttons(factor: Factor, index: int, key: str, count: int) -> None:
    name = factor.sets[index].title
    for word, icon, target in (("Up", "arrow_upward", index - 1), ("Down", "arrow_downward", index + 1)):
        st.button(
            word,
            key=f"{key}.{word.lower()}",
            icon=f":material/{icon}:",
            type="tertiary",
            disabled=not 0 <= target < count,
            help=f"Move {name} {word.lower()}; the order matters where projections are made one after the other.",
            on_click=move,
            args=(factor, index, target),
        )
    st.button(
        "Remove",
        key=f"{key}.remove",
        icon=":material/delete:",
        type="tertiary",
        on_click=remove,
        args=(factor, index),
        help=f"Remove {name}.",
    )


def move(factor: Factor, index: int, target: int) -> None:
    """Exchange two blocks, with their widgets."""
    sets, ids = list(factor.sets), block_ids(factor)
    for row in (sets, ids):
        row[index], row[target] = row[target], row[index]
    factor.replace(sets)


def remove(factor: Factor, index: int) -> None:
    sets, ids = list(factor.sets), block_ids(factor)
    del sets[index], ids[index]
    factor.replace(sets)


def add(factor: Factor, chooser: str) -> None:
    """Append the chosen set, as a first version that fits the factor where one does."""
    name = st.session_state.get(chooser)
    if name is None:
        return
    ids = block_ids(factor)
    known = factor.loaded.dataset.groups if factor.name == "Y" else None
    new = draft_set(SETS.get(name), factor.shape, known)
    ids.append(_new_id())
    factor.replace([*factor.sets, new])
    st.session_state[chooser] = None


def _adder(factor: Factor) -> None:
    titles = {cls.name: f"{cls.title}: {cls.summary}" for cls in SETS}
    chooser = f"add.{factor.name}"
    st.selectbox(
        f"Add a constraint on {factor.name}",
        list(titles),
        index=None,
        format_func=lambda name: titles.get(name, name),
        placeholder="Choose what to enforce …",
        key=chooser,
        on_change=add,
        args=(factor, chooser),
        help="The constraint appears at the end of the stack, ready to be edited.",
    )


# -- formula and projection --------------------------------------------------------------------


def _formula(factor: Factor, problem: InvalidInput | None) -> None:
    if problem is not None:
        conditions = [s.condition(factor.name) for s in factor.sets]
    else:
        conditions = [s.condition(factor.name) for s in members_of(combine(factor.sets))] if factor.sets else []
    with st.container(key=f"formula_{factor.name}"):
        st.latex(formula(factor.name, conditions))
    if problem is not None:
        _say_problem(factor, problem)
        return
    whole = combine(factor.sets)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if whole.exact:
            st.badge("exact projection", icon=":material/check:", color="green")
        else:
            st.badge("approximate projection", icon=":material/info:", color="orange")
        params.note(whole.reason[:1].upper() + whole.reason[1:] + ".")


def _say_problem(factor: Factor, problem: InvalidInput) -> None:
    """A block says itself what is wrong with it; what several say together is said here."""
    wrong = [s.title for s in factor.sets if misfit((s,), factor.shape) is not None]
    if wrong:
        names = ", ".join(dict.fromkeys(wrong))
        st.error(f"{names}: does not fit this factor; the reason stands at the block.", icon=":material/block:")
    else:
        params.say_refusal(problem)


def _projection(factor: Factor) -> None:
    """Before and after, for a matrix made of the data or a random one."""
    if not st.toggle(f"Preview the projection of {factor.name}", key=f"preview.{factor.name}.on", help=PREVIEW_HELP):
        return
    with st.container(border=True):
        words = {"data": "made of the data", "random": "random"}
        key = f"preview.{factor.name}"
        params.keep(key, "data")
        kind = st.segmented_control("Matrix that is projected", list(words), format_func=words.get, key=key, required=True)
        rank = factor.shape[1] if factor.name == "X" else factor.shape[0]
        sets = json.dumps([s.to_dict() for s in factor.sets], sort_keys=True)
        try:
            shown = previews.projected(
                (factor.loaded.fingerprint, rank, factor.name, kind or "data", sets), factor.loaded, combine(factor.sets)
            )
        except InvalidInput as error:
            params.say_refusal(error)
        else:
            previews.show_projection(shown, factor.name, factor.loaded.dataset.image_shape)
