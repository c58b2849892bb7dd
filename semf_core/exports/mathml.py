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
STAND_INS = {r"\textbackslash{}": "\ue000", r"\textasciitilde{}": "\ue001", r"\textasciicircum{}": "\ue002"}
"""Private characters for what the converter does not know inside a text."""
SIGNS = str.maketrans(dict(zip(STAND_INS.values(), r"\~^", strict=True)))
NARROW = 20


def mathml(latex: str, display: bool = False) -> Markup:
    """A formula; only the elements of mathematics pass."""
    for name, stand_in in STAND_INS.items():
        latex = latex.replace(name, stand_in)
    root = convert_to_element(latex, display="block" if display else "inline")
    for node in root.iter():
        if node.tag not in ELEMENTS:
            raise ValueError(f"{node.tag} is no element of a formula: {latex}")
        text = unescape(node.text or "")  # signs are entities here
        if node.tag == "mtext":
            text = re.sub(r"\\([_#$%&{}])", r"\1", text).translate(SIGNS)  # the converter keeps the backslash
        node.text = text
        if node.tag == "mi" and text and not text.isalnum():
            node.tag = "mo"  # relations such as ⟂ and the colon get their space
        if display and node.tag == "msub" and node[0].text == "min":
            node.tag = "munder"
    root.set("xmlns", NAMESPACE)
    return Markup(ElementTree.tostring(root, encoding="unicode"))


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
