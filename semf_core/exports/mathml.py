"""LaTeX → MathML, which browsers typeset without any script or font from elsewhere."""

from __future__ import annotations

import re
from html import unescape
from xml.etree import ElementTree

from latex2mathml.converter import convert_to_element
from markupsafe import Markup

from semf_core.sets import StructureSet, members_of
from semf_core.sets.typeset import broken, formula

NAMESPACE = "http://www.w3.org/1998/Math/MathML"
ELEMENTS = frozenset(
    {"math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "mfrac", "msqrt", "mroot", "mstyle", "mpadded"}
    | {"msub", "msup", "msubsup", "munder", "mover", "munderover", "mtable", "mtr", "mtd"}
)
ENVIRONMENT = "split"
"""The converter does not know `aligned`."""
TEXT = re.compile(r"\\text\{((?:[^{}\\]|\\[a-z]+\{\}|\\[^a-z])*)\}")
ESCAPED = re.compile(r"\\textbackslash\{\}|\\textasciitilde\{\}|\\textasciicircum\{\}|\\[^a-z]")
SIGNS = {r"\textbackslash{}": "\\", r"\textasciitilde{}": "~", r"\textasciicircum{}": "^"}
NO_BREAK = "\u00a0"
FIRST = 0xE000
"""Of the private characters that stand for texts."""
NARROW = 20


def mathml(latex: str, display: bool = False) -> Markup:
    """A formula; only the elements of mathematics pass."""
    words: dict[str, str] = {}

    def held(found: re.Match[str]) -> str:  # the converter does not know all escapes
        sign = chr(FIRST + len(words))
        words[sign] = _plain(found[1])
        return rf"\text{{{sign}}}"

    root = convert_to_element(TEXT.sub(held, latex), display="block" if display else "inline")
    for node in root.iter():
        if node.tag not in ELEMENTS:
            raise ValueError(f"{node.tag} is no element of a formula: {latex}")
        text = node.text = unescape(node.text or "")  # signs are entities here
        if node.tag == "mtext":
            node.text = words.get(text, text)
        if node.tag == "mi" and text and not text.isalnum():
            node.tag = "mo"  # relations such as ⟂ and the colon get their space
        if display and node.tag == "msub" and node[0].text == "min":
            node.tag = "munder"
    root.set("xmlns", NAMESPACE)
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _plain(text: str) -> str:
    """What the argument of \\text says."""
    said = ESCAPED.sub(lambda found: SIGNS.get(found[0], found[0][-1]), text)
    return re.sub("^ | $", NO_BREAK, said)


def set_formula(symbol: str, whole: StructureSet) -> Markup:
    """𝒳 = { X : … }, one condition a line."""
    conditions = [member.condition(symbol) for member in members_of(whole)]
    return mathml(formula(symbol, conditions, ENVIRONMENT), display=True)


def own_structure(symbol: str, whole: StructureSet) -> Markup:
    """What an algorithm keeps a factor to by itself, one condition a line."""
    lines = r",\\ ".join(f"{symbol}: & {broken(c)}" for c in dict.fromkeys(m.condition(symbol) for m in members_of(whole)))
    free = rf"{symbol}: & \;\text{{free}}"
    return mathml(rf"\begin{{{ENVIRONMENT}}} {lines or free} \end{{{ENVIRONMENT}}}", display=True)


def condition(symbol: str, member: StructureSet) -> Markup:
    """What one set asks of a factor, broken into lines."""
    return mathml(rf"\begin{{{ENVIRONMENT}}} & {broken(member.condition(symbol), NARROW)} \end{{{ENVIRONMENT}}}")
