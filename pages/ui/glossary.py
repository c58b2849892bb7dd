"""Words in place: an explanation on hover, a longer one on click, all from one glossary."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import streamlit as st

from pages.ui.places import link
from semf_core.glossary import Word, glossary, word
from semf_core.lessons import lessons


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
