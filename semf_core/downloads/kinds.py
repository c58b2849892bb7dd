"""Which files can be made, what they are called, and how each is made.

Finding out that a file can be had, and whether it is the same as last time, costs little and is done by the server;
making it may take long and is done elsewhere (see keeping.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import semf_core
from semf_core.common.errors import InvalidInput
from semf_core.comparison import Reader, figure_html, figure_image, table_csv
from semf_core.exports import EXPORTS
from semf_core.exports.curves import COMPARED
from semf_core.lessons import lessons
from semf_core.lessons.export import lesson_export
from semf_core.lessons.stage_runs import Found, digest, models, stage_run
from semf_core.model import ModelSpec
from semf_core.service import Service
from semf_core.snapshots.gallery import file_name
from semf_core.studies.study_file import SUFFIX

Made = Callable[[Service, dict[str, Any]], bytes]


@dataclass(frozen=True)
class Wanted:
    """A file that somebody wants."""

    name: str
    media_type: str
    order: dict[str, Any]
    """What `made` takes; JSON can hold it."""
    mark: str
    """Another one whenever the content is another."""


def made(service: Service, order: dict[str, Any]) -> bytes:
    """The bytes of a file."""
    return _MAKERS[order["of"]](service, order)


# -- runs and snapshots ------------------------------------------------------------------------


def run_file(service: Service, run_id: str, kind: str) -> Wanted:
    """A run or snapshot as something else: a report, a figure, a table."""
    if kind not in EXPORTS:
        raise InvalidInput("export", f"there is no {kind!r}", f"known are {', '.join(EXPORTS)}", whole=True)
    wanted, title = EXPORTS[kind], service.status(run_id).title
    order = {"of": "run", "id": run_id, "kind": kind}
    return Wanted(file_name(title, wanted.suffix), wanted.media_type, order, _mark(order, service.content_mark(run_id)))


def _made_of_run(service: Service, order: dict[str, Any]) -> bytes:
    return service.export(order["id"], order["kind"])[2]


# -- studies -----------------------------------------------------------------------------------

STUDY_KINDS = {"csv": (".csv", "text/csv"), "json": (".json", "application/json"), "whole": (SUFFIX, "application/zip")}


def study_file(service: Service, study_id: str, kind: str) -> Wanted:
    """The numbers of a study, its description, or all of it."""
    if kind not in STUDY_KINDS:
        raise InvalidInput("export", f"there is no {kind!r}", f"known are {', '.join(STUDY_KINDS)}", whole=True)
    suffix, media_type = STUDY_KINDS[kind]
    order = {"of": "study", "id": study_id, "kind": kind}
    name = file_name(service.studies.study(study_id).name, suffix)
    return Wanted(name, media_type, order, _mark(order, service.studies.content_mark(study_id)))


def _made_of_study(service: Service, order: dict[str, Any]) -> bytes:
    studies, study_id = service.studies, order["id"]
    if order["kind"] == "whole":
        return studies.export(study_id)
    text = studies.table(study_id).to_csv() if order["kind"] == "csv" else studies.as_json(study_id)
    return text.encode()


# -- comparisons -------------------------------------------------------------------------------

COMPARISON_KINDS = {"csv": "text/csv", "png": "image/png", "svg": "image/svg+xml", "html": "text/html"}


def comparison_file(service: Service, run_ids: Sequence[str], kind: str, axis: str) -> Wanted:
    """The table or the figure of several runs."""
    if kind not in COMPARISON_KINDS or axis not in COMPARED:
        known = f"{', '.join(COMPARISON_KINDS)}, against {' or '.join(COMPARED)}"
        raise InvalidInput("export", f"there is no {kind!r} against {axis!r}", f"known are {known}", whole=True)
    found = Reader(service).existing(run_ids)
    if not found:
        raise InvalidInput("run", "there is none of these runs; they may have been deleted", whole=True)
    order = {"of": "comparison", "ids": found, "kind": kind, "axis": axis}
    mark = _mark(order, *map(service.content_mark, found))
    return Wanted(f"comparison.{kind}", COMPARISON_KINDS[kind], order, mark)


def _made_of_comparison(service: Service, order: dict[str, Any]) -> bytes:
    read, kind = Reader(service), order["kind"]
    if kind == "csv":
        return table_csv(read.scores(order["ids"])).encode()
    shown = read.shown(order["ids"], order["axis"])
    return figure_html(shown).encode() if kind == "html" else figure_image(shown, kind)


# -- lessons -----------------------------------------------------------------------------------

LESSON_KINDS = {"html": (".html", "text/html"), "slides": ("-slides.zip", "application/zip")}


def lesson_file(service: Service, name: str, kind: str) -> Wanted | None:
    """A lesson with the runs of its stages; None as long as one of them is being made. Those that are not there are started."""
    if kind not in LESSON_KINDS:
        raise InvalidInput("export", f"there is no {kind!r}", f"known are {', '.join(LESSON_KINDS)}", whole=True)
    lesson = lessons().get(name)
    runs = {one: stage_run(service, spec) for one, spec in models(lesson).items()}
    found = {one: run_id for one, run_id in runs.items() if run_id is not None}
    if any(status.moving for status in service.list_runs(found.values())):
        return None
    suffix, media_type = LESSON_KINDS[kind]
    order = {"of": "lesson", "name": name, "kind": kind, "runs": found}
    mark = _mark(order, repr(lesson), *map(service.content_mark, found.values()))
    return Wanted(file_name(lesson.title, suffix), media_type, order, mark)


def _made_of_lesson(service: Service, order: dict[str, Any]) -> bytes:
    runs: dict[str, str] = order["runs"]

    def find(spec: ModelSpec) -> Found | None:
        run_id = runs.get(digest(spec))
        return None if run_id is None else service.recorded(run_id)

    return lesson_export(lessons().get(order["name"]), order["kind"], find)


_MAKERS: dict[str, Made] = {
    "run": _made_of_run,
    "study": _made_of_study,
    "comparison": _made_of_comparison,
    "lesson": _made_of_lesson,
}


def _mark(order: dict[str, Any], *contents: str) -> str:
    """A name for a file in a cache; another version of this software makes other files."""
    text = repr((semf_core.__version__, sorted(order.items()), contents))
    return hashlib.sha256(text.encode()).hexdigest()
