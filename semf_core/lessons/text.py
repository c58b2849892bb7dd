"""The texts of lessons where they are no paragraphs: inside a line, and as plain words for slides."""

from __future__ import annotations

import re

from markupsafe import Markup

from semf_core.lessons.markup import to_html


def inline_html(text: str) -> Markup:
    """Markdown as HTML without the paragraph around it."""
    return Markup(re.sub(r"^<p>(.*)</p>\s*$", r"\1", str(to_html(text)), flags=re.DOTALL))


def plain_of(text: str) -> str:
    """The words alone, in paragraphs; formulas stay as they were typed."""
    bare = re.sub(r"\*\*(.+?)\*\*|\*(.+?)\*|`(.+?)`", lambda m: next(filter(None, m.groups())), text)
    return re.sub(r"^[ \t]*[-*+][ \t]+", "• ", bare, flags=re.MULTILINE)
