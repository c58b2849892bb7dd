"""A lesson as something to take home, by name: one HTML file, or slides."""

from __future__ import annotations

from semf_core.common.extras import optional
from semf_core.lessons.format import Lesson
from semf_core.lessons.stage_runs import FindRun


def lesson_export(lesson: Lesson, kind: str, find: FindRun) -> bytes:
    """The bytes of the file `html`, or of the ZIP `slides`."""
    with optional():
        from semf_core.lessons import handout, slides  # matplotlib takes most of a second to import

    return slides.archive(lesson, find) if kind == "slides" else handout.html(lesson, find)
