"""What the generated pages share: formulas, tables, parameters, citations."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence
from typing import Any

from semf_core.common.docstrings import HEADING, kind_of
from semf_core.common.parameters import Param, params_of
from semf_core.exports.mathml import mathml
from semf_core.model.references import entry


def formula(latex: str) -> str:
    """A formula in running text."""
    return str(mathml(latex.replace("aligned", "split")))


def displayed(latex: str) -> str:
    """A formula on a line of its own."""
    return f'<div class="formula">{mathml(latex, display=True)}</div>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; empty if there is no row."""
    lines = ["| " + " | ".join(_in_a_cell(cell) for cell in row) + " |" for row in rows]
    return "\n".join([f"| {' | '.join(head)} |", "|" + "---|" * len(head), *lines]) + "\n" if lines else ""


def _in_a_cell(text: str) -> str:
    """One line; bars are escaped except in code, where they stand for themselves."""
    pieces = text.replace("\n", " ").split("`")
    return "`".join(piece if i % 2 else piece.replace("|", "\\|") for i, piece in enumerate(pieces))


def parameters(cls: type, skip: Iterable[str] = ()) -> str:
    """The parameters of a registered class as a table."""
    rows = [(f"`{p.name}`", _kind(p), _default(p), p.help) for p in params_of(cls) if p.name not in set(skip)]
    return table(("parameter", "kind", "default", "meaning"), rows)


def _kind(p: Param) -> str:
    return ", ".join(f"`{choice}`" for choice in p.choices) or kind_of(p)


def _default(p: Param) -> str:
    return "required" if p.required else "none" if p.default is None else f"`{p.default}`"


def docstring(cls: Any) -> str:
    """A docstring safe inside Markdown, its example as code; the parameters have a table of their own."""
    text, _, examples = inspect.cleandoc(cls.__doc__ or "").partition("Examples\n--------\n")
    plain = re.sub(r"([*_<])", r"\\\1", text.partition(HEADING)[0].strip())
    return f"{plain}\n\n```pycon\n{examples}\n```" if examples else plain


def citation(key: str) -> str:
    """Authors, title, place, year and link of a paper, from its BibTeX."""
    text = entry(key)
    fields = dict(re.findall(r"(\w+)\s*=\s*[{\"](.*?)[}\"],?\s*$", text, re.MULTILINE))
    plain = {name: _unbraced(value) for name, value in fields.items()}
    authors = plain.get("author", "").replace(" and ", ", ")
    place = next(
        (plain[name] for name in ("journal", "booktitle", "publisher", "howpublished", "school", "institution") if name in plain),
        "",
    )
    words = f"{authors}: *{plain['title']}*" + "".join(f", {part}" for part in (place, plain.get("year", "")) if part) + "."
    return words + (f" [doi:{plain['doi']}](https://doi.org/{plain['doi']})" if "doi" in plain else "")


ACCENTS = {
    r"\"o": "ö",
    r"\"u": "ü",
    r"\"a": "ä",
    r"\'e": "é",
    r"\o": "ø",
    r"\'a": "á",
    r"\~n": "ñ",
    r"\v{c}": "č",
    r"\'i": "í",
    r"\'o": "ó",
}


def _unbraced(text: str) -> str:
    for code, letter in ACCENTS.items():
        text = text.replace(code, letter)
    return re.sub(r"[{}]", "", text).replace("--", "–").replace(r"\&", "&")


def references(cls: Any) -> list[str]:
    """The papers that a registered class names."""
    named = getattr(cls, "reference", ())
    return [citation(key) for key in ((named,) if isinstance(named, str) else named) if key]
