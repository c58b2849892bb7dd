"""How much of a known truth was found."""

from __future__ import annotations

from typing import Any

from semf_core.factorization.scores import truth_scores
from semf_core.mathematics import metrics
from semf_core.studies.measures.base import MEASURES, Measure, Outcome


class _Score(Measure):
    """One of the numbers that the truth gives."""

    def value(self, outcome: Outcome) -> float | None:
        return self.of(truth_scores(outcome.data.dataset, outcome.U, outcome.V, outcome.trial.model.y_set))

    def of(self, scores: dict[str, Any]) -> float | None:
        raise NotImplementedError


@MEASURES.register
class PartsFound(_Score):
    """True parts that have a column of their own with cosine above 0.99."""

    name, title, better = "parts_found", "Parts found", "high"

    def of(self, scores: dict[str, Any]) -> float | None:
        return scores.get("parts_found")


@MEASURES.register
class GroupsRight(_Score):
    """Groups of the model that hold exactly the parts of one true group."""

    name, title, better = "groups_correct", "Groups right", "high"

    def of(self, scores: dict[str, Any]) -> float | None:
        return scores.get("groups_correct")


@MEASURES.register
class Solved(_Score):
    """All true parts found and, where the model has groups, all of them right."""

    name, title, better, yes_no = "solved", "All parts (and groups) right", "high", True

    def of(self, scores: dict[str, Any]) -> float | None:
        if not scores:
            return None
        groups = scores.get("groups_correct")
        return float(scores["parts_found"] == scores["parts_total"] and (groups is None or groups == scores["groups_total"]))


@MEASURES.register
class RecoveredAtoms(Measure):
    """Atoms of the generating dictionary within 0.01 of a learned one (SeMF 27)."""

    name, title, better = "recovered_atoms", "Recovered atoms", "high"

    def value(self, outcome: Outcome) -> float | None:
        parts = outcome.data.dataset.parts
        return None if parts is None else metrics.recovered_atoms(parts, outcome.U)


@MEASURES.register
class RecoveredShare(Measure):
    """Recovered atoms as a fraction of all."""

    name, title, better = "recovered_share", "Share of recovered atoms", "high"

    def value(self, outcome: Outcome) -> float | None:
        parts = outcome.data.dataset.parts
        return None if parts is None else metrics.recovered_atoms(parts, outcome.U) / parts.shape[1]


@MEASURES.register
class DictionaryDistance(Measure):
    """Mean distance of the generating atoms to the learned dictionary (SeMF 28)."""

    name, title, better = "dictionary_distance", "Distance of the dictionaries", "low"

    def value(self, outcome: Outcome) -> float | None:
        parts = outcome.data.dataset.parts
        return None if parts is None else metrics.dictionary_distance(parts, outcome.U)
