"""Formulas that fit a page."""

from semf_core.sets import GroupSparse
from semf_core.sets.typeset import LINES, broken


def test_long_formulas_are_broken_and_abbreviated():
    long = GroupSparse(groups=tuple((i,) for i in range(300))).condition("Y")
    lines = broken(long).split(r"\\")
    assert len(lines) == LINES
    assert "dots" in lines[-2]
    assert broken(r"X \ge 0") == r"X \ge 0"
