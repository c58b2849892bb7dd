"""The reader of lessons: what a file becomes, and every mistake by its file and line."""

from __future__ import annotations

import numpy as np
import pytest

from semf_core.command_line.cli import main
from semf_core.common.errors import InvalidInput
from semf_core.glossary import glossary
from semf_core.lessons import Sketch, lessons
from semf_core.lessons.format import parse_lesson
from semf_core.lessons.goals import Goal
from semf_core.model import preset
from semf_core.sets.typeset import boxed, formula
from tests.docs.fences import titled
from tests.helpers import present

EXAMPLE = titled("docs/extend/lesson.md", "first-steps.md")


def test_the_documented_example_is_what_it_says():
    lesson = parse_lesson("07-first-steps.md", EXAMPLE)
    first, second = lesson.stages
    assert (lesson.name, lesson.title, lesson.minutes) == ("first-steps", "First steps", 5)
    assert first.model == preset("swimmer-sparse") and first.notes == "Only the speaker sees this."
    model, task = present(second.model), present(second.task)
    assert [s.name for s in model.x] == ["nonnegative", "disjoint_supports"]
    assert [s.name for s in model.y] == ["nonnegative"]
    assert second.highlight.sets == (("x", "disjoint_supports"),)
    assert [c.right for c in present(second.question).choices] == [False, True]
    assert task.goals == (Goal("parts_found", ">=", 17), Goal("constraints", "<=", 2))
    assert [s.name for s in present(task.solution).x] == ["disjoint_supports"]
    assert lesson.position("parts-that-share-no-pixel") == 1 and lesson.position("unknown") == 0


MISTAKES = [
    ("title: First steps", "titel: First steps", 2, "no field 'titel'"),
    ("minutes: 5", "minutes: soon", 4, "from 1 to 240"),
    ("model: swimmer-sparse", "model: swimmer", 8, "there is no 'swimmer'"),
    ("model: swimmer-sparse", "model: previous", 8, "no previous stage"),
    ("highlight: y sparse", "highlight: y unit_norm", 9, "does not have on Y"),
    ("highlight: y sparse", "highlight: components 18", 9, "up to the rank"),
    ("highlight: y sparse", "highlight: y sparse,", 9, "highlights ''"),
    ("claim: parts_found == 0", "claim: parts found == 0", 10, "parts_found >= 17"),
    ("words: ghost parts_found", "words: ghost spirit", 11, "no word 'spirit'"),
    ("### Notes", "### Remarks", 15, "no part 'Remarks'"),
    ("drop y: sparse", "drop y: simplex", 20, "not among the constraints"),
    ("add x: disjoint_supports", "add x: disjoint", 21, "there is no 'disjoint'"),
    ("add x: disjoint_supports", "data: file:path=/etc/passwd", 21, "built-in set"),
    ("- [x] All", "- [ ] All", 28, "one of them right"),
    ("goal: constraints <= 2", "goal: beauty >= 2", 36, "what can be measured"),
    ("### Solution\nmodel: previous\nx: disjoint_supports\n", "### Notes\n", 35, "### Solution"),
    ("## Parts that share no pixel", "## Nonnegative and sparse", 18, "of an earlier stage"),
    ("sparse\nmodel: swimmer", "sparse\n\nmodel: swimmer", 7, "right below the title"),
    ("One more line for 𝒳, one less for 𝒴.", "", 18, "has no text"),
]

CHOICES = "- [ ] None\n- [x] All"
VECTOR = """
## A vector
figure: vector

Draw it.

### Your turn
goal: order_ratio >= 1.3

Go wrong.

### Solution
vector: -2 -2 -2 1.9 1.9 1.9 0 0

Places are wasted.
"""
MISTAKES += [
    (CHOICES, "- [sketch] seconds", 29, "what can be drawn is residual_xy"),
    (CHOICES, "- [sketch] alpha, first 1", 29, "first 200"),
    (CHOICES, f"- [sketch] alpha\n{CHOICES}", 28, "not both"),
]
UNSPLIT = """---
title: T
summary: S
---

## A
model: swimmer-svd

Text.

### Predict
How?
- [sketch] alpha

So.
"""


def test_a_curve_can_be_asked_for():
    text = EXAMPLE.replace(CHOICES, "- [sketch] alpha, first 200")
    question = present(parse_lesson("first-steps.md", text).stages[1].question)
    assert question.sketch == Sketch("alpha", 200) and not question.choices
    assert question.explanation == "Ghosts would share pixels with the torso."
    with pytest.raises(InvalidInput, match="the run of this stage does not have"):
        parse_lesson("x.md", UNSPLIT)


def test_a_task_on_a_vector():
    task = present(parse_lesson("first-steps.md", EXAMPLE + VECTOR).stages[2].task)
    assert task.solution is None and task.vector == (-2, -2, -2, 1.9, 1.9, 1.9, 0, 0)
    assert all(goal.met(goal.measured(np.array(task.vector))) for goal in task.goals)
    wrong = (("1.9 0 0", "1.9 0", "8 numbers"), ("-2 -2", "-3 -2", "from −2 to 2"), ("order_ratio", "rank", "approximation"),
             ("vector: -2", "rank: -2", "no field 'rank'"))  # fmt: skip
    for good, bad, words in wrong:
        with pytest.raises(InvalidInput, match=words):
            parse_lesson("first-steps.md", EXAMPLE + VECTOR.replace(good, bad, 1))


@pytest.mark.parametrize(("good", "bad", "line", "words"), MISTAKES, ids=[m[1][:24] for m in MISTAKES])
def test_a_mistake_is_named_by_file_and_line(good, bad, line, words):
    assert EXAMPLE.count(good) == 1 or good in ("## Parts that share no pixel",)
    with pytest.raises(InvalidInput) as rejected:
        parse_lesson("first-steps.md", EXAMPLE.replace(good, bad, 1))
    assert rejected.value.field == f"first-steps.md:{line}" and words in rejected.value.message


def test_the_command_checks_a_folder(tmp_path, capsys):
    (tmp_path / "first-steps.md").write_text(EXAMPLE, encoding="utf-8-sig")  # as some editors write it
    assert main(["lessons", "check", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "first-steps: First steps (2 stages)\n"
    (tmp_path / "broken.md").write_bytes(b"\xff\xfe")
    assert main(["lessons", "check", str(tmp_path)]) == 2
    said = capsys.readouterr()
    assert "first-steps" in said.out and "broken.md:1: cannot be read" in said.err
    assert main(["lessons", "check", str(tmp_path / "nowhere")]) == 2


def test_what_is_no_file_of_a_lesson_is_named_and_the_others_are_there(tmp_path, monkeypatch):
    monkeypatch.setenv("SEMF_LESSONS", str(tmp_path))
    (tmp_path / "a.md").symlink_to(tmp_path / "nowhere")
    (tmp_path / "b.md").mkdir()
    (tmp_path / "c.md").symlink_to("/dev/null")
    (tmp_path / "d.md").write_bytes(bytes(1_000_000))
    found = lessons()
    assert len(found.lessons) == 11 and [str(mistake)[:6] for mistake in found.mistakes] == [
        "a.md:1",
        "b.md:1",
        "c.md:1",
        "d.md:1",
    ]
    assert all("800,000 bytes" in str(mistake) for mistake in found.mistakes[1:])


def test_a_folder_beside_ours(tmp_path, monkeypatch):
    ours = [lesson.name for lesson in lessons().lessons]
    assert len(ours) == 11 and not lessons().mistakes
    (tmp_path / "first-steps.md").write_text(EXAMPLE, encoding="utf-8")
    monkeypatch.setenv("SEMF_LESSONS", str(tmp_path))
    assert [lesson.name for lesson in lessons().lessons] == [*ours, "first-steps"]
    (tmp_path / "first-steps.md").write_text(EXAMPLE.replace("minutes: 5", "minutes: 6"), encoding="utf-8")
    assert lessons().get("first-steps").minutes == 6, "a file is read again when it has changed"
    monkeypatch.setenv("SEMF_LESSONS", str(tmp_path / "gone"))
    assert len(lessons().lessons) == 11 and "not a folder" in str(lessons().mistakes[0])


def test_ours_are_whole():
    """Each has something to predict, something to do, notes nowhere empty, and known words; some have a curve to be drawn."""
    drawn = [lesson.name for lesson in lessons().lessons if any(s.question and s.question.sketch for s in lesson.stages)]
    assert len(drawn) >= 2 and "penalties" in drawn
    for lesson in lessons().lessons:
        assert any(stage.question for stage in lesson.stages), lesson.name
        assert any(stage.task for stage in lesson.stages), lesson.name
        assert lesson.stages[0].question is None, "the first stage moves at once"
        for stage in lesson.stages:
            assert stage.figure or stage.claims or stage.task, f"{lesson.name}/{stage.name} says nothing that is checked"


def test_a_frame_in_a_formula_is_on_one_line():
    """A condition that is long is broken into lines, which a frame cannot be."""
    for lesson in lessons().lessons:
        for stage in lesson.stages:
            for symbol, sets in (("X", stage.model.x), ("Y", stage.model.y)) if stage.model else ():
                for line in formula(symbol, [boxed(s.condition(symbol)) for s in sets]).split("\\\\"):
                    assert line.count(r"\boxed{") <= 1
                    inside = line.partition(r"\boxed{")[2]
                    assert not inside or inside.count("}") > inside.count("{"), line


def test_words_name_lessons_that_exist():
    names = {lesson.name for lesson in lessons().lessons}
    for word in glossary().values():
        assert word.lesson in names, word.name
        assert word.short.endswith(".") and word.more.count(".") >= 1 and word.drawing.startswith("<svg"), word.name
