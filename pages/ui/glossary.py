"""Words in place: an explanation on hover, a longer one on click, all from one glossary."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import streamlit as st

from pages.ui.places import link
from semf_core.glossary import Word, glossary, word
from semf_core.lessons import lessons

MEASURED = {
    "bound": "lower_bound",
    "error": "relative_error",
    "groups": "groups_right",
    "groups_correct": "groups_right",
    "held_out_error": "held_out",
    "kicks": "kick",
    "parts": "parts_found",
    "recovered_atoms": "atom",
    "recovered_share": "atom",
    "residual": "residual_uv",
    "snr_db": "snr",
    "snr_xy_db": "snr",
    "sparseness_v": "sparseness",
    "starts": "restart",
    "violation": "feasible",
}
"""The word that explains a column or a measure of another name."""


def help_on(name: str) -> str:
    """The tooltip of a word."""
    return word(name).short


def words(names: Iterable[str]) -> None:
    """A button for each word, which opens its explanation."""
    known = [glossary()[name] for name in names if name in glossary()]
    if not known:
        return
    with st.container(horizontal=True, gap="small", key="lesson-glossary"):
        for one in known:
            with st.popover(one.sign, help=one.short, key=f"word-{one.name}"):
                explain(one)


def meanings(names: Iterable[str]) -> None:
    """One button for the columns of a table or the measures of a study: it opens what each of them means."""
    wanted = dict.fromkeys(MEASURED.get(name, name) for name in names)
    known = [glossary()[name] for name in wanted if name in glossary()]
    if known:
        with st.popover("What these mean", icon=":material/menu_book:", key="word-meanings"):
            for one in known:
                explain(one)


def explain(one: Word) -> None:
    """Short and long explanation, drawing, equation and lesson."""
    st.html(one.drawing)
    st.markdown(f"**{one.sign}** {one.short} {one.more}" + (f" *Equation: {one.equation}.*" if one.equation else ""))
    lesson = next((x for x in lessons().lessons if x.name == one.lesson), None)
    if lesson is not None:
        link("learn", f"Lesson: {lesson.title}", lesson=lesson.name)


def as_json() -> dict[str, dict[str, Any]]:
    """The whole glossary for the live view."""
    return {
        name: {"sign": w.sign, "short": w.short, "more": w.more, "equation": w.equation, "drawing": w.drawing, "lesson": w.lesson}
        for name, w in glossary().items()
    }
