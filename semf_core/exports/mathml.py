"""LaTeX → MathML, which browsers typeset without any script or font from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree

from latex2mathml.converter import convert
from markupsafe import Markup

from semf_core.sets import StructureSet, members_of
from semf_core.sets.typeset import formula

NAMESPACE = "http://www.w3.org/1998/Math/MathML"
ELEMENTS = frozenset(
    ("math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "mfrac", "msqrt", "mroot", "mstyle", "mpadded")
    + ("msub", "msup", "msubsup", "munder", "mover", "munderover", "mtable", "mtr", "mtd")
)
ENVIRONMENT = "split"
"""The converter does not know `aligned`."""


def mathml(latex: str, display: bool = False) -> Markup:
    """A formula; only the elements of mathematics pass."""
    root = ElementTree.fromstring(convert(latex, display="block" if display else "inline"))
    for node in root.iter():
        node.tag = node.tag.removeprefix(f"{{{NAMESPACE}}}")
        if node.tag not in ELEMENTS:
            raise ValueError(f"{node.tag} is no element of a formula: {latex}")
    root.set("xmlns", NAMESPACE)
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def set_formula(symbol: str, whole: StructureSet) -> Markup:
    """𝒳 = { X : … }, one condition a line."""
    return mathml(formula(symbol, _conditions(symbol, whole), ENVIRONMENT), display=True)


def _conditions(symbol: str, whole: StructureSet) -> Iterable[str]:
    return [member.condition(symbol) for member in members_of(whole)]
