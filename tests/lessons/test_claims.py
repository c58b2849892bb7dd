"""What lessons say of their runs is true, and every task can be solved: each model is run and measured."""

from __future__ import annotations

import pytest

from semf_core.command_line.cli import main
from semf_core.lessons import Stage, lessons
from semf_core.lessons.checking import unmet

STAGES = {f"{lesson.name}/{stage.name}": stage for lesson in lessons().lessons for stage in lesson.stages}
MEASURED = {name: stage for name, stage in STAGES.items() if stage.claims or stage.task is not None}


@pytest.mark.parametrize("stage", MEASURED.values(), ids=MEASURED)
def test_a_stage_shows_what_it_says_and_its_task_is_solved_by_its_solution_and_not_before(stage: Stage):
    """A mistake names the file of the lesson (in semf_core/lessons/builtin) and the line that has to change."""
    assert [str(mistake) for mistake in unmet(stage)] == []


UNTRUE = """---
title: T
summary: S
---

## A
model: swimmer-svd
rank: 12
claim: rank == 13
claim: parts_found == 0

Text.

### Your turn
goal: relative_error <= 1e-6

Find it.

### Solution
model: previous
rank: 11

No.

## B
model: swimmer-svd

Text.

### Your turn
goal: rank <= 20

Nothing to do.

### Solution
model: previous
rank: 13

Yes.
"""


def test_what_a_run_does_not_bear_out_is_named_by_file_and_line(tmp_path, capsys):
    (tmp_path / "own.md").write_text(UNTRUE, encoding="utf-8")
    assert main(["lessons", "check", str(tmp_path)]) == 0
    assert main(["lessons", "check", str(tmp_path), "--run"]) == 2
    said = [line for line in capsys.readouterr().err.splitlines() if "own.md" in line]
    assert len(said) == 3
    assert "own.md:9: says rank p = 13, but the run has 12" in said[0]
    assert "own.md:15: asks for error ‖M−UV‖/‖M‖ ≤ 1e-06, but the solution has 0.2" in said[1]
    assert "own.md:31: asks for what the stage has from the beginning" in said[2]
