"""The choice of an algorithm in the workbench's panel: what it minimises, what it enforces, and its options."""

from __future__ import annotations

import streamlit as st

from pages.ui import params, session
from semf_core.sets import members_of
from semf_core.solvers import SOLVERS, Solver

ASIDE = "semf_sets_aside"
"""The model as it was, and its stamp, while an algorithm is chosen that takes no sets."""


def choose() -> bool:
    """Draw the choice; whether the chosen algorithm takes the model's structure sets."""
    key = f"solver{session.stamp()}.choice"
    listed = sorted(SOLVERS, key=lambda cls: (not cls.takes_sets, cls.family))
    titles = {cls.name: f"{cls.title}: {cls.summary}" for cls in listed}
    params.keep(key, session.spec().solver.name)
    solver = session.spec().solver
    what = rf"$\displaystyle {solver.objective()}$  \n**Enforces** {solver.enforces}."
    st.selectbox("Algorithm", list(titles), format_func=params.shown_as(titles), key=key, on_change=_take, args=(key,), help=what)
    if not solver.takes_sets:
        describe(solver)
    return session.spec().solver.takes_sets


def describe(solver: Solver) -> None:
    """What an algorithm minimises, what it enforces and what it only encourages."""
    _wrapping(solver.objective())
    encouraged = f" **Only encourages** {solver.encourages}." if solver.encourages else ""
    st.markdown(f"**Enforces** {solver.enforces}.{encouraged}")


def _wrapping(latex: str) -> None:
    """A formula on a line of its own that goes on in the next line where the page is narrow."""
    st.markdown(rf"$\displaystyle {latex}$", text_alignment="center")


def own_structure(shape: tuple[int, int]) -> None:
    """The sets that an algorithm without a choice of sets keeps its factors in."""
    spec = session.spec()
    for symbol, sets in zip("UV", spec.solver.structure(shape, spec.rank), strict=True):
        conditions = [member.condition(symbol) for s in sets for member in members_of(s)]
        _wrapping(rf"{symbol}:\; " + (r",\quad ".join(conditions) or r"\text{free}"))
    params.note("This algorithm has constraints of its own. Sets on X and Y are for SeMF; those of this model come back with it.")


def _take(key: str) -> None:
    """Change the algorithm; sets that it cannot take are put aside and come back with one that can.

    So are its options.
    """
    chosen, spec = SOLVERS.get(st.session_state[key]), session.spec()
    if chosen is type(spec.solver):
        return
    if spec.solver.takes_sets:
        st.session_state[ASIDE] = (session.stamp(), spec)
    stamp, before = st.session_state.get(ASIDE, (None, spec))
    back = chosen.takes_sets and stamp == session.stamp()
    x, y = (before.x, before.y) if back else ((), ())
    solver = before.solver if back and type(before.solver) is chosen else chosen()
    session.update_spec(solver=solver, x=x, y=y)
