"""Small studies whose cells take milliseconds, and waiting with a deadline."""

from __future__ import annotations

import sqlite3
import time
from typing import Any

from semf_core.service import Service
from semf_core.studies import Finished, Study, StudyStore

BASE: dict[str, Any] = {
    "dataset": {"name": "sparse_codes", "rows": 8, "atoms": 4, "samples": 30, "nonzeros": 2},
    "rank": 4,
    "x": [{"name": "unit_norm"}],
    "y": [{"name": "sparse", "k": 2}],
    "solver": {"name": "semf", "start": "normal"},
    "limits": {"max_iter": 20, "tol": 0},
}


def small_form(**changes: Any) -> dict[str, Any]:
    """Two ranks, two penalties that change together with β₀, three seeds: twelve cells."""
    form: dict[str, Any] = {
        "name": "small",
        "title": "Small study",
        "base": BASE,
        "axes": [
            {"path": "rank", "values": [3, 4]},
            {"name": "penalty", "paths": ["solver.alpha0", "solver.beta0"], "values": [[0.1, 0.01], [1, 0.1]]},
            {"path": "seed", "range": [0, 3]},
        ],
        "measures": ["relative_error", {"name": "success", "of": "relative_error", "at_most": 0.5}, "seconds"],
        "views": [{"name": "curve", "measure": "relative_error", "x": "rank", "by": "penalty"}],
    }
    return form | changes


def small(**changes: Any) -> Study:
    return Study.from_dict(small_form(**changes))


def slow(cells: int, max_iter: int = 800) -> Study:
    """Cells of about a tenth of a second."""
    base = BASE | {"limits": {"max_iter": max_iter, "tol": 0}}
    return small(base=base, axes=[{"path": "seed", "range": [0, cells]}], views=[])


def rows(store: StudyStore, columns: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(store.folder / "cells.db") as base:
        return base.execute(f"SELECT {columns} FROM cells ORDER BY number").fetchall()


def filled(service: Service, study: Study) -> StudyStore:
    """A finished study with made-up numbers that differ from cell to cell."""
    store = StudyStore.create(service.studies.prepare(study), service.home)
    found = [{m.key: float(n % 2) if m.yes_no else 0.5 + 0.01 * n for m in study.measures} for n in range(study.count)]
    store.record([Finished(n, numbers, 0.1) for n, numbers in enumerate(found)])
    return store


def wait_for(condition: Any, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
