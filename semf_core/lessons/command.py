"""The command line of lessons: `semf lessons`, `semf lessons check FOLDER` and `semf lessons export NAME FILE`."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from semf_core.common.errors import InvalidInput
from semf_core.lessons.checking import untrue
from semf_core.lessons.export import lesson_export
from semf_core.lessons.format import Lesson, Stage, read_lesson
from semf_core.lessons.library import Library, check_folder, lessons
from semf_core.lessons.stage_runs import recorded_here
from semf_core.runs.files import write_whole

KINDS = {".html": "html", ".zip": "slides"}
"""What the end of a file's name asks for."""


def add_commands(commands: Any) -> None:
    """Add `lessons` to the parser of the command line."""
    parser = commands.add_parser("lessons", help="list the lessons, check those of a folder, or take one home as a file")
    parser.set_defaults(command=_list)
    inner = parser.add_subparsers(metavar="check | export")
    check = inner.add_parser("check", help="read every lesson of a folder and name each mistake by file and line")
    check.add_argument("folder", metavar="FOLDER")
    check.add_argument("--run", action="store_true", help="run every model too, and measure what claims, goals and solutions say")
    check.set_defaults(command=_check)
    export = inner.add_parser("export", help="run the stages of a lesson and write it as one HTML file, or its slides as a ZIP")
    export.add_argument("lesson", metavar="NAME", help="as `semf lessons` lists it, or the path of a lesson's file")
    export.add_argument("file", metavar="FILE", help="ends in .html, or in .zip for slides (PNG, SVG and GIF of each stage)")
    export.set_defaults(command=_export)


def _list(options: argparse.Namespace) -> int:
    return _print(lessons())


def _check(options: argparse.Namespace) -> int:
    library = check_folder(Path(options.folder))
    if options.run:
        found = [mistake for lesson in library.lessons for mistake in untrue(lesson, partial(_say, lesson))]
        library = replace(library, mistakes=(*library.mistakes, *found))
    return _print(library)


def _say(lesson: Lesson, stage: Stage) -> None:
    print(f"semf: runs {lesson.name}: {stage.title}", file=sys.stderr)


def _export(options: argparse.Namespace) -> int:
    path = Path(options.file)
    if path.suffix not in KINDS:
        raise InvalidInput("file", f"{path.name} must end in {' or '.join(KINDS)}", whole=True)
    written = Path(options.lesson)
    lesson = read_lesson(written) if written.suffix == ".md" else lessons().get(options.lesson)
    with recorded_here(lambda spec: print(f"semf: runs {spec.title}", file=sys.stderr)) as find:
        made = lesson_export(lesson, KINDS[path.suffix], find)
    write_whole(path, lambda file: file.write(made))
    return 0


def _print(library: Library) -> int:
    """A line for each lesson; mistakes on standard error, and 2 where there is one."""
    for lesson in library.lessons:
        print(f"{lesson.name}: {lesson.title} ({len(lesson.stages)} stages)")
    for mistake in library.mistakes:
        print(f"semf: {mistake}", file=sys.stderr)
    return 2 if library.mistakes else 0
