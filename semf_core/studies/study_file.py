"""A study with its results as one file: an ordinary ZIP with checksums, without pickles, as a snapshot is.

Members are the study (`study.json`), one line for each cell that has ended (`cells.jsonl`) and what cells kept
(`kept.jsonl`, base64 of NPZ as in the store). What comes from such a file is put into a folder of its own, whose
name follows from the file: results that somebody sent never mix with those that were computed here.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import hashlib
import io
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from semf_core.common.errors import InvalidInput
from semf_core.datasets.archives import open_archive, read_member
from semf_core.datasets.arrays import decode_npy
from semf_core.datasets.reading import Limits
from semf_core.runs.files import whole_or_nothing
from semf_core.runs.home import MB, default_home
from semf_core.runs.uploads import public_form
from semf_core.snapshots.archive import canonical_json, packed, read_json_member, unpacked
from semf_core.snapshots.format import most_content_bytes, most_file_bytes
from semf_core.snapshots.label import LONGEST_NOTE, readable
from semf_core.studies.kept_arrays import FACTORS, HISTORY, MOST_BYTES
from semf_core.studies.store import STUDY, Finished, StudyStore
from semf_core.studies.study import Cell, Study

Array = np.ndarray
SUFFIX = ".semf-study"
CELLS, KEPT = "cells.jsonl", "kept.jsonl"
FIELDS = {"cell", "seconds", "values", "error", "lost"}
LARGEST = sys.float_info.max
LONGEST = 1e12
"""Seconds that no run takes."""
MOST_KEPT = MOST_BYTES + MB
"""What one run may have kept: factors, and a history beside them."""


@dataclass(frozen=True)
class SharedStudy:
    """What a file holds, checked."""

    id: str
    study: Study
    finished: tuple[Finished, ...]

    def stored(self, home: Path | None = None, check: Callable[[Cell], object] = lambda cell: None) -> StudyStore:
        """In a folder of its own below `home`, which is there whole or not at all; `check` may reject a cell."""
        root = (home or default_home()) / "studies"
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not StudyStore(root / self.id).exists():
            with whole_or_nothing(root / self.id) as aside:
                store = StudyStore.make(aside, self.study, check)
                store.record(self.finished)
                store.ask("pause")  # it goes on when somebody asks for it
        return StudyStore(root / self.id)


def export_study(store: StudyStore) -> bytes:
    """The file of a study with all results so far."""
    cells, kept = [], []
    for f in store.finished():
        told = {"values": f.values} if f.values is not None else {"error": _shown(f.error), "lost": f.lost}
        cells.append({"cell": f.number, "seconds": f.seconds, **told})
        if f.kept:
            kept.append({"cell": f.number, "content": f.kept})
    members = {STUDY: canonical_json(public_form(store.study().to_dict())), CELLS: _lines(cells), KEPT: _lines(kept)}
    size, limit = sum(map(len, members.values())), most_content_bytes()
    if size > limit:
        sizes = f"has {size / MB:.0f} MB, and a file may have {limit / MB:.0f} MB here"
        raise InvalidInput("study", sizes, "its results as CSV are smaller")
    return packed(members)


def read_study(data: bytes, name: str = "study") -> SharedStudy:
    """What a file of `export_study` holds; whatever is not as it should be is rejected in words."""
    Limits(max_bytes=most_file_bytes()).check_bytes(name, len(data))
    members = unpacked(name, io.BytesIO(data), most_content_bytes())
    if set(members) != {STUDY, CELLS, KEPT}:
        raise InvalidInput(name, "does not hold a study", f"choose a {SUFFIX} file that SeMF Studio has saved")
    study = Study.from_dict(read_json_member(name, STUDY, members[STUDY]))
    found: dict[int, Finished] = {}
    for line in _read_lines(name, CELLS, members[CELLS]):
        cell = _cell(name, line, study)
        if cell.number in found:
            raise InvalidInput(name, f"has cell {cell.number} twice; the file was changed")
        found[cell.number] = cell
    room = most_content_bytes()
    for line in _read_lines(name, KEPT, members[KEPT]):
        number, content = _place(line, study), line.get("content")
        if number not in found or found[number].values is None or found[number].kept or not isinstance(content, str):
            raise InvalidInput(name, "keeps something of a cell that has no result; the file was changed")
        room -= _check_kept(f"{name}, cell {number}", content, study, number, room)
        found[number] = dataclasses.replace(found[number], kept=content)
    digest = hashlib.sha256(data).digest()[:16]
    return SharedStudy(base64.urlsafe_b64encode(digest).decode().rstrip("="), study, tuple(found.values()))


def _shown(error: str) -> str:
    """A sentence as `readable` takes it, whatever a library said in it."""
    return "".join(c if c.isprintable() or c == "\n" else " " for c in error)[:LONGEST_NOTE]


def _lines(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(canonical_json(row) + b"\n" for row in rows)


def _read_lines(name: str, member: str, data: bytes) -> Iterator[Mapping[str, Any]]:
    for line in data.splitlines():
        value = read_json_member(name, member, line)
        if not isinstance(value, dict):
            raise InvalidInput(name, f"its member {member} must have an object on every line; the file was changed", whole=True)
        yield value


def _cell(name: str, line: Mapping[str, Any], study: Study) -> Finished:
    """One line of the results: numbers of measures that the study has, or why there are none."""
    number, values, seconds = _place(line, study), line.get("values"), line.get("seconds", 0.0)
    belongs = number is not None and not set(line) - FIELDS and isinstance(line.get("lost", False), bool)
    if number is None or not belongs or not _number(seconds) or not 0 <= seconds <= LONGEST:
        raise InvalidInput(name, "has a result that does not belong to the study; the file was changed")
    seconds = float(seconds)  # a whole number may be larger than those of the database
    if values is None:
        return Finished(number, None, seconds, readable("error", line.get("error")) or "failed", bool(line.get("lost")))
    known = {m.key for m in study.measures}
    if not isinstance(values, dict) or not set(values) <= known or not all(v is None or _number(v) for v in values.values()):
        raise InvalidInput(name, f"has values in cell {number} that the study does not measure; the file was changed")
    return Finished(number, {key: None if v is None else float(v) for key, v in values.items()}, seconds)


def _place(line: Mapping[str, Any], study: Study) -> int | None:
    """The number of the cell that a line is about, if the study has it."""
    number = line.get("cell")
    return number if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < study.count else None


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -LARGEST <= value <= LARGEST


def _check_kept(name: str, content: str, study: Study, number: int, room: int) -> int:
    """Reject anything but the arrays that the study keeps; how many bytes they unpack to."""
    try:
        file = io.BytesIO(base64.b64decode(content, validate=True))
    except (binascii.Error, ValueError):
        raise InvalidInput(name, "what it kept is not base64; the file was changed", whole=True) from None
    wanted = {*(FACTORS if "factors" in study.keep else ()), *(HISTORY if "history" in study.keep else ())}
    with open_archive(name, file, Limits(max_bytes=min(room, MOST_KEPT), max_members=len(wanted))) as archive:
        infos = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        if set(infos) != wanted:
            raise InvalidInput(name, "kept other arrays than the study asks for; the file was changed")
        arrays = {key: decode_npy(name, read_member(name, archive, info)) for key, info in infos.items()}
    if not _factors_fit(arrays, study.cell(number).trial.model.rank) or not _history_fits(arrays):
        raise InvalidInput(name, "kept arrays whose shapes do not fit; the file was changed")
    return sum(info.file_size for info in infos.values())


def _factors_fit(arrays: Mapping[str, Array], rank: int) -> bool:
    """Whether they are as `packed` writes them."""
    if "U" not in arrays:
        return True
    U, V = arrays["U"], arrays["V"]
    if {U.dtype.char, V.dtype.char} - {"f", "d"} or U.ndim != 2 or V.ndim != 2:
        return False
    return U.shape[1] == V.shape[0] == rank and U.size > 0


def _history_fits(arrays: Mapping[str, Array]) -> bool:
    if "iteration" not in arrays:
        return True
    iterations, *residuals = (arrays[key] for key in ("iteration", "residual_xy", "residual_uv"))
    if iterations.ndim != 1 or iterations.dtype.kind != "i" or not len(iterations) or iterations[0] != 1:
        return False
    rises = bool((np.diff(iterations) > 0).all())
    return rises and all(r.shape == iterations.shape and r.dtype.kind == "f" for r in residuals)
