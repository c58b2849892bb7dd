"""Lessons: rows of stages, each with one idea and a live model, written as Markdown without code.

The format is described in docs/extend/lesson.md; `semf lessons check FOLDER` names every mistake by file and line.
"""

from semf_core.lessons.format import Choice, Goal, Highlight, Lesson, Question, Sketch, Stage, Task, read_lesson
from semf_core.lessons.library import Library, check_folder, lessons

__all__ = [
    "Choice",
    "Goal",
    "Highlight",
    "Lesson",
    "Library",
    "Question",
    "Sketch",
    "Stage",
    "Task",
    "check_folder",
    "lessons",
    "read_lesson",
]
