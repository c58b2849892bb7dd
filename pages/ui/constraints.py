"""The stack of constraint blocks on one factor: drawn from the registry, edited, moved, removed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from pages.ui import params, previews, session
from semf_core.common.errors import InvalidInput
from semf_core.model.drafts import draft_set, misfit, vector_length
from semf_core.sets import ROUNDS, SETS, StructureSet, combine, in_rounds, members_of, without_rounds
from semf_core.sets.typeset import broken, formula

IDS = "semf_block_ids"
NEXT = "semf_block_next"
LETTERS = " (N entries in vectors of length d)"
ORDER_HELP = (
    "Off: the nearest point, by a closed form where one is known. On: in the order of the blocks, as SeMF §3.4 and §4.4.3 do it; "
    "the answer may lie outside of a constraint that comes early."
)
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
    def whole(self) -> StructureSet:
        """All constraints as one set, with the way it is projected onto."""
        return combine(getattr(session.spec(), self.field))

    @property
    def sets(self) -> tuple[StructureSet, ...]:
        return without_rounds(getattr(session.spec(), self.field))[0]

    @property
    def rounds(self) -> int:
        """Rounds of one projection after the other; 0 where a closed form is used if there is one."""
        return without_rounds(getattr(session.spec(), self.field))[1]

    def replace(self, sets: Sequence[StructureSet], rounds: int | None = None) -> None:
        session.update_spec(**{self.field: in_rounds(sets, self.rounds if rounds is None else rounds)})


def stacks(loaded: session.Loaded) -> bool:
    """One stack below the other; whether their constraints can be met."""
    (m, n), p = loaded.dataset.shape, session.spec().rank
    factors = Factor("X", (m, p), loaded), Factor("Y", (p, n), loaded)
    above = st.container()  # filled after the switches below it: whether a projection is exact depends on them
    for factor in factors:
        _order(factor)
    with above:
        wrong = [stack(factor) for factor in factors]
    for factor, problem in zip(factors, wrong, strict=True):
        if problem is None and factor.sets:
            _projection(factor)
    return wrong == [None, None]


def stack(factor: Factor) -> InvalidInput | None:
    """Draw one stack with its formula; why it cannot be used, or None."""
    m, n = factor.shape
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.subheader(f"{factor.name} · {m} × {n}", anchor=False, width="content")
        badge = st.container(width="content")
    typeset = st.container()
    ids = block_ids(factor)
    for index, block_id in enumerate(ids):
        _block(factor, index, block_id, len(ids))
    _adder(factor)
    problem = misfit(factor.sets, factor.shape)
    with typeset:
        _formula(factor, problem)
    if problem is None:
        with badge:
            _exactness(factor)
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
        with st.container(horizontal=True, vertical_alignment="center", gap="small", wrap=False):
            st.markdown(f"**{current.title}**", help=_told(current), width="stretch")
            with st.container(horizontal=True, gap=None, width="content", wrap=False, key=f"tools_{factor.name}_{block_id}"):
                scope = _scope() if params.has_scope(type(current)) else None
                _block_buttons(factor, index, key, count)
        around = params.Around(vector_length(current, factor.shape), factor.loaded.dataset.groups if factor.name == "Y" else None)
        new = params.edit(current, key, lambda s: s.check_shape(factor.shape), around, columns=1, aside=scope)
    if new != current:
        sets = list(factor.sets)
        sets[index] = new
        factor.replace(sets)


def _told(current: StructureSet) -> str:
    """What a set is, and what it costs at every iteration."""
    letters = LETTERS if "N" in current.cost else ""
    return f"{current.summary[:1].upper()}{current.summary[1:]}. Cost of a projection: {current.cost}{letters}."


def _scope() -> Any:
    return st.popover("Scope", icon=":material/select_all:", type="tertiary", help="Which part of the factor it binds.")


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
    sets[index], sets[target] = sets[target], sets[index]
    ids[index], ids[target] = ids[target], ids[index]
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
        label_visibility="collapsed",
        index=None,
        format_func=lambda name: titles.get(name, name),
        placeholder=f"Add a constraint on {factor.name} …",
        key=chooser,
        on_change=add,
        args=(factor, chooser),
        help="The constraint appears at the end of the stack, ready to be edited.",
    )


def _order(factor: Factor) -> None:
    """By a closed form where one is known, or one projection after the other in the order of the blocks."""
    if len(factor.sets) < 2 and not factor.rounds:
        return
    key = f"rounds.{factor.name}.{session.stamp()}"
    params.keep(f"{key}.on", factor.rounds > 0)
    rounds = 0
    if st.toggle(f"{factor.name}: one projection after the other", key=f"{key}.on", help=ORDER_HELP):
        rounds = params.value_widget(replace(ROUNDS, low=1), factor.rounds or 1, key)
    if rounds != factor.rounds:
        factor.replace(factor.sets, rounds)


# -- formula and projection --------------------------------------------------------------------


def formula_of(name: str, sets: Sequence[StructureSet], simplified: bool = True) -> None:
    """The set that a factor is in, typeset."""
    members = members_of(combine(tuple(sets))) if simplified and sets else sets
    conditions = [s.condition(name) for s in members]
    dense = any(broken(condition) != condition for condition in conditions)
    with st.container(key=f"formula_{name}{'-dense' if dense else ''}"):
        st.latex(formula(name, conditions))


def _formula(factor: Factor, problem: InvalidInput | None) -> None:
    formula_of(factor.name, factor.sets, simplified=problem is None)
    if problem is not None:
        _say_problem(factor, problem)


def _exactness(factor: Factor) -> None:
    whole = factor.whole
    word, icon, colour = ("exact", "check", "green") if whole.exact else ("approximate", "info", "orange")
    reason = whole.reason[:1].upper() + whole.reason[1:] + "."
    st.markdown(f":{colour}-badge[:material/{icon}: {word} projection]", help=reason, width="content")


def _say_problem(factor: Factor, problem: InvalidInput) -> None:
    """A block says itself what is wrong with it; what several say together is said here."""
    wrong = [s.title for s in factor.sets if misfit((s,), factor.shape) is not None]
    if wrong:
        names = ", ".join(dict.fromkeys(wrong))
        st.error(f"{names}: does not fit this factor; the reason stands at the block.", icon=":material/block:")
    else:
        params.show_error(problem)


def _projection(factor: Factor) -> None:
    """Before and after, for a matrix made of the data or a random one."""
    if not st.toggle(f"Preview the projection of {factor.name}", key=f"preview.{factor.name}.on", help=PREVIEW_HELP):
        return
    with st.container(border=True):
        words = {"data": "made of the data", "random": "random"}
        key = f"preview.{factor.name}"
        params.keep(key, "data")
        written = params.shown_as(words)
        kind = st.segmented_control("Matrix that is projected", list(words), format_func=written, key=key, required=True)
        rank = factor.shape[1] if factor.name == "X" else factor.shape[0]
        sets = json.dumps(factor.whole.to_dict(), sort_keys=True)
        try:
            shown = previews.projected(
                (factor.loaded.fingerprint, rank, factor.name, kind or "data", sets),
                factor.loaded.dataset,
                factor.whole,
            )
        except InvalidInput as error:
            params.show_error(error)
        else:
            previews.show_projection(shown, factor.name)
