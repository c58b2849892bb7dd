"""The tables of the report: what was asked, what came out, what it satisfies."""

from __future__ import annotations

import math
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import scipy
from markupsafe import Markup

import semf_core
from semf_core.common.notation import number
from semf_core.common.parameters import Parametrized, params_of
from semf_core.exports.mathml import condition
from semf_core.exports.story import RESIDUAL, Story
from semf_core.factorization.result import FEASIBLE
from semf_core.factorization.scores import truth_words
from semf_core.glossary import word
from semf_core.mathematics import metrics
from semf_core.sets import StructureSet, members_of


@dataclass(frozen=True)
class Fact:
    """One row of a table."""

    name: str
    value: str
    note: str = ""


def badges(story: Story) -> list[dict[str, Any]]:
    """The headline: error, truth, feasibility."""
    shown: list[dict[str, Any]] = [{"text": f"{story.iterations:,} iterations", "done": False, "word": "iterations"}]
    if story.result is None:
        return [*shown, {"text": "not finished", "done": False}]
    shown.append({"text": f"relative error {number(story.result.relative_error)}", "done": False, "word": "relative_error"})
    shown += truth_words(story.truth)
    feasible = story.result.certificate.feasible
    shown.append({"text": "feasible" if feasible else "not feasible", "done": feasible, "word": "feasible"})
    return [badge | {"help": word(badge["word"]).short} for badge in shown]


def outcome(story: Story) -> list[Fact]:
    """Fit, sparsity, truth, effort."""
    result = story.result
    if result is None:
        last = float(story.rows[-1, RESIDUAL]) if len(story.rows) else math.nan
        return [Fact("‖M−UV‖", number(last), "after the last iteration so far")]
    facts = [
        Fact("Relative error ‖M−UV‖/‖M‖", number(result.relative_error), f"‖M−UV‖ = {number(result.residual_uv)}"),
        Fact("Signal-to-noise ratio of UV", f"{number(result.snr_db)} dB", "of the feasible factors"),
    ]
    if story.splits:
        facts.append(Fact("Signal-to-noise ratio of XY", f"{number(result.snr_db_xy)} dB", "of the free copies"))
    facts += [Fact(name.capitalize(), f"{found} of {total}") for name, found, total in _truths(story.truth)]
    facts += [
        Fact("Nonzeros of U", f"{100 * _filled(result.U):.3g} %", _spread(result.certificate.nonzeros_u, "column")),
        Fact("Nonzeros of V", f"{100 * _filled(result.V):.3g} %", _spread(result.certificate.nonzeros_v, "sample")),
        Fact("Sparseness of U", number(float(metrics.hoyer_sparseness(result.U).mean())), "Hoyer's, mean over columns"),
        Fact("Overlap of U", number(metrics.overlap(result.U)), "average overlapping degree of its columns"),
        Fact("Iterations", f"{result.iterations:,}", result.ending.text),
        Fact("Starts", f"{result.starts:,}"),
        Fact("Time", f"{number(result.seconds)} s", _rate(result.iterations, result.seconds)),
    ]
    return facts


def _truths(truth: dict[str, Any]) -> list[tuple[str, int, int]]:
    pairs = (("parts found", "parts_found", "parts_total"), ("groups right", "groups_correct", "groups_total"))
    return [(name, truth[a], truth[b]) for name, a, b in pairs if truth.get(a) is not None and truth.get(b)]


def _filled(A: np.ndarray) -> float:
    return float(np.count_nonzero(A)) / max(1, A.size)


def _spread(counts: np.ndarray, what: str) -> str:
    low, high = int(counts.min(initial=counts.max(initial=0))), int(counts.max(initial=0))
    return f"{low:,} in each {what}" if low == high else f"{low:,} to {high:,} in a {what}"


def _rate(iterations: int, seconds: float) -> str:
    return f"{iterations / seconds:,.0f} iterations a second" if seconds > 0 else ""


@dataclass(frozen=True)
class Certified:
    """One constraint and how far the result is from it."""

    factor: str
    title: str
    condition: Markup
    violation: str
    relative: str
    holds: bool


def certificate(story: Story) -> list[Certified]:
    """Every constraint of the model with its measured violation; formulas come from the model, never from a file's text."""
    if story.result is None or story.sets is None:
        return []
    bound = [(factor, s) for factor, whole in zip("UV", story.sets, strict=True) for s in members_of(whole)]
    measured = story.result.certificate.violations
    if [(v.factor, v.constraint) for v in measured] != [(factor, s.name) for factor, s in bound]:
        return []
    return [
        Certified(factor, s.title or s.name, condition(factor, s), number(v.value), number(v.relative), v.relative <= FEASIBLE)
        for (factor, s), v in zip(bound, measured, strict=True)
    ]


def data(story: Story) -> list[Fact]:
    """The data, as far as it is known."""
    source = story.spec.dataset
    facts = [Fact("Source", type(source).title or source.name, type(source).summary)]
    given = [f"{k} = {v}" for k, v in source.to_dict().items() if k not in ("name", "id")]
    if given:
        facts.append(Fact("Made with", ", ".join(given)))
    dataset = story.dataset
    if dataset is None:
        return facts
    m, n = dataset.shape
    facts.append(Fact("Title", dataset.title or "–", dataset.note))
    facts.append(Fact("M", f"{m:,} × {n:,}", "a column for each sample"))
    if dataset.image_shape is not None:
        facts.append(Fact("Images", f"{dataset.image_shape[0]} × {dataset.image_shape[1]} pixels"))
    if dataset.missing:
        facts.append(Fact("Missing entries", f"{dataset.missing:,}", f"{100 * dataset.missing / (m * n):.3g} %"))
    return [*facts, Fact("SHA-256", dataset.fingerprint(), "of shape, type and entries")]


def options(value: Parametrized) -> list[Fact]:
    """What is not at its default."""
    changed = value.to_dict()
    chosen = [p for p in params_of(type(value)) if p.name in changed]
    return [Fact(p.name, str(changed[p.name]), p.help) for p in chosen]


def exactness(whole: StructureSet) -> Fact:
    """Whether the projection is exact, and why."""
    reason = whole.reason[:1].upper() + whole.reason[1:]
    return Fact("exact projection" if whole.exact else "approximate projection", f"{reason}.")


def versions() -> str:
    """What wrote this."""
    parts = (("SeMF Studio", semf_core.__version__), ("Python", platform.python_version()))
    return ", ".join(f"{name} {version}" for name, version in (*parts, ("NumPy", np.__version__), ("SciPy", scipy.__version__)))


def day(story: Story) -> str:
    """When the run was made, if that is known."""
    return "" if story.created is None else f"{datetime.fromtimestamp(story.created, UTC):%d %B %Y}"
