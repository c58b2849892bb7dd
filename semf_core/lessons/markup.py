"""The Markdown of lessons as HTML, for pages that are not Streamlit's: formulas become MathML, HTML in it stays text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markupsafe import Markup, escape

from semf_core.exports.mathml import mathml

DOLLAR = "$"


def to_html(text: str) -> Markup:
    """HTML of a text; only what Markdown itself can say passes, and links lead to web pages alone."""
    return Markup(_reader().render(text))


@cache
def _reader() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False, "typographer": False}).enable("table").disable("image")
    made.inline.ruler.before("escape", "formula", _formula)
    made.add_render_rule("formula", _drawn)
    return made


def _formula(state: StateInline, silent: bool) -> bool:
    """$…$ inside a line, $$…$$ on lines of its own; an amount in dollars, whose sign has a space behind it, is none."""
    start = state.pos
    if state.src[start] != DOLLAR:
        return False
    mark = DOLLAR * 2 if state.src.startswith(DOLLAR * 2, start) else DOLLAR
    end = state.src.find(mark, start + len(mark))
    latex = state.src[start + len(mark) : end]
    if end < 0 or not latex.strip() or (mark == DOLLAR and latex != latex.strip()):
        return False
    if not silent:
        token = state.push("formula", "math", 0)
        token.content, token.markup = latex.strip(), mark
    state.pos = end + len(mark)
    return True


def _drawn(renderer: Any, tokens: Sequence[Any], index: int, options: Any, env: Any) -> str:
    """MathML; a formula that cannot be converted stays as it was written."""
    token = tokens[index]
    try:
        return str(mathml(token.content, display=token.markup != DOLLAR))
    except Exception:  # the converter has no error of its own
        return str(Markup("<code>{}</code>").format(escape(token.content)))
