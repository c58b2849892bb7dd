"""How good each of several factorizations is: one row of numbers each, all computed here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from semf_core.common.spreadsheets import csv_text
from semf_core.datasets import Dataset
from semf_core.factorization.result import Result
from semf_core.factorization.scores import truth_scores
from semf_core.glossary import word
from semf_core.mathematics import metrics
from semf_core.model import ModelSpec
from semf_core.runs.frames import FactorFrame

Array = np.ndarray
NEGLIGIBLE = 1e-6
"""An entry below this share of its column's largest counts as zero: multiplicative updates approach zero, but never set it."""


@dataclass(frozen=True)
class Score:
    """A row of the table; None where a number has no meaning."""

    title: str
    algorithm: str
    state: str
    error: float | None = None
    snr: float | None = None
    bound: float | None = None
    sparseness: float | None = None
    nonzeros: float | None = None
    overlap: float | None = None
    parts: int | None = None
    groups: int | None = None
    violation: float | None = None
    iterations: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Column:
    """What a column of the table is called and what it means."""

    name: str
    title: str
    help: str
    form: str = ""


SCORES = (
    Column("title", "Run", "what the run is called"),
    Column("algorithm", "Algorithm", "how it was computed"),
    Column("state", "State", "where it stands"),
    Column("error", "Error", word("relative_error").short, "%.3g"),
    Column("snr", "SNR (dB)", word("snr").short, "%.2f"),
    Column("bound", "SNR bound (dB)", "what no factorization of this rank can exceed (Eckart–Young)", "%.2f"),
    Column("sparseness", "Sparseness of U", word("sparseness").short, "%.3f"),
    Column("nonzeros", "Nonzeros of U (%)", "share of its entries above 10⁻⁶ of their column's largest modulus", "%.1f"),
    Column("overlap", "Overlap of U", word("overlap").short, "%.3g"),
    Column("parts", "Parts found", word("parts_found").short, "%d"),
    Column("groups", "Groups right", word("groups_right").short, "%d"),
    Column("violation", "Violation", "largest distance from a constraint that is enforced, relative to the factor", "%.2g"),
    Column("iterations", "Iterations", word("iterations").short, "%d"),
    Column("seconds", "Time (s)", word("seconds").short, "%.3g"),
)


@dataclass(frozen=True, eq=False)
class Curve:
    """The residual of a run: iteration, seconds and ‖M−UV‖ / ‖M‖ at a few hundred points."""

    title: str
    iterations: Array
    seconds: Array
    error: Array


def measure(
    dataset: Dataset, spec: ModelSpec, frame: FactorFrame, norm: float, lower_bound: float | None, result: Result | None = None
) -> dict[str, Any]:
    """All numbers of a row that depend on the factors.

    Frames are float32; a result has its factors, residual and certificate in full precision.
    """
    U, V = (frame.U, frame.V) if result is None else (result.U, result.V)
    residual = metrics.residual(dataset.data, frame.U, frame.V) if result is None else result.residual_uv
    truth = truth_scores(dataset, U, V, spec.y_set)
    return {
        "error": metrics.relative_error(norm, residual),
        "snr": metrics.snr_db(norm, residual),
        "bound": None if not lower_bound else metrics.snr_db(norm, lower_bound),
        "sparseness": float(metrics.hoyer_sparseness(U).mean()),
        "nonzeros": 100 * float((np.abs(metrics.unit_peak(U)) > NEGLIGIBLE).mean()),
        "overlap": metrics.overlap(U),
        "parts": truth.get("parts_found"),
        "groups": truth.get("groups_correct"),
        "violation": _violation(dataset, spec, frame) if result is None else _certified(result),
    }


def _violation(dataset: Dataset, spec: ModelSpec, frame: FactorFrame) -> float:
    whole = zip(spec.enforced_sets(dataset.shape), (frame.U, frame.V), strict=True)
    return max(s.violation(A) / max(float(np.linalg.norm(A)), 1e-300) for s, A in whole)


def _certified(result: Result) -> float:
    return max((v.relative for v in result.certificate.violations), default=0.0)


def table_csv(rows: Sequence[Score]) -> str:
    """Scores as CSV, with full precision.

    Parameters
    ----------
    rows : sequence of Score
        One for each factorization.

    Returns
    -------
    str
        A header, and a line for each.

    Examples
    --------
    >>> from semf_core.comparison import Score, table_csv
    >>> print(table_csv([Score("mine", "SeMF", "finished", error=0.25)]))
    Run,...
    mine,...
    """
    return csv_text([[c.title for c in SCORES], *([getattr(row, c.name) for c in SCORES] for row in rows)])
