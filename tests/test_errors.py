"""Errors are made of parts: field, problem, remedy. They are put together in one place and taken apart nowhere."""

from __future__ import annotations

import ast
import json
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from semf_core.common.errors import InvalidInput, parsed_json

ROOT = Path(__file__).parents[1]
VERBS = re.compile(
    r"(is|are|was|went|must|may|can|cannot|would|has|have|holds?|keeps|kept|lacks|names?|leave out|allows?|declares?|does|"
    r"changes|counts|makes?|needs?|points|says|shows|takes|overlap|go|of)\b"
)
"""How a problem begins that goes on after the name of its field."""


def test_the_sentence_is_made_of_its_parts():
    error = InvalidInput("columns", "names column {worst}", "count from {origin}", worst=9)
    assert str(error) == "columns: names column 9; count from 0" and error.counted(1) == "names column 10; count from 1"
    assert (error.problem, error.remedy, error.message) == ("names column 9", "count from 0", "names column 9; count from 0")


def test_nothing_is_lost_on_the_way():
    """To another process, under another name, with a word on where it happened."""
    error = InvalidInput("a.csv", "its row {row} is empty", "fill it", whole=True, row=2)
    sent = InvalidInput.from_dict(json.loads(json.dumps(error.to_dict())))
    for other in (sent, pickle.loads(pickle.dumps(error)), error.about("a.csv")):
        assert other.to_dict() == error.to_dict() and str(other) == str(error)
    assert error.noted("in {1}").counted(1) == "its row 3 is empty; fill it (in {1})"
    assert InvalidInput("k", "is {1}").noted("in {2}").message == "is {1} (in {2})"


@pytest.mark.parametrize("text", ["{", "[" * 100_000, "9" * 5000, '{"title": "\\ud800"}', '{"\\udfff": 1}', b"\xff"])
def test_what_is_no_json_that_can_be_kept_is_rejected_in_words(text):
    with pytest.raises(InvalidInput, match="model: is not valid JSON"):
        parsed_json("model", text)


REMEDIES = re.compile(
    r"; (add|ask|begin|bring|build|check|choose|copy|cut|delete|draw|fill|give|leave|lower|make|name|pack|pass|put|raise|rename|"
    r"save|say|scale|set|shift|split|store|subtract|supply|take|try|unpack|use|widen|write)\b"
)
"""How a piece of advice begins."""


def literal_problems() -> Iterator[tuple[str, str, bool]]:
    """Where, its text and whether it is called a clause of its own; for all that stand in the code ({} for what is put in)."""
    for path in [*(ROOT / "semf_core").rglob("*.py"), *(ROOT / "pages").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or getattr(node.func, "id", "") != "InvalidInput" or len(node.args) < 2:
                continue
            pieces = getattr(node.args[1], "values", [node.args[1]])
            if isinstance(pieces[0], ast.Constant):
                text = "".join(str(piece.value) if isinstance(piece, ast.Constant) else "{}" for piece in pieces)
                yield f"{path.relative_to(ROOT)}:{node.lineno}", text, any(k.arg == "whole" for k in node.keywords)


def test_what_to_do_is_not_hidden_in_the_problem():
    hidden = [f"{where} {problem!r}" for where, problem, _ in literal_problems() if REMEDIES.search(problem)]
    assert not hidden, f"give what to do as the remedy: {hidden}"


def test_a_problem_goes_on_after_its_field_or_says_that_it_does_not():
    found = list(literal_problems())
    wrong = [f"{where} {problem!r}" for where, problem, whole in found if bool(VERBS.match(problem)) == whole]
    assert len(found) > 300 and not wrong, f"write whole=True where a problem is a clause of its own, and only there: {wrong}"
