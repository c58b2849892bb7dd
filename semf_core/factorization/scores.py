"""How a factorization compares with the truth, where the data has one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from semf_core.datasets import Dataset
from semf_core.mathematics import metrics
from semf_core.sets import GroupSparse, StructureSet, members_of


def truth_scores(dataset: Dataset, U: np.ndarray, V: np.ndarray, y_set: StructureSet) -> dict[str, Any]:
    """Parts found and groups right, as plain numbers; empty where the data has no ground truth.

    A component that has vanished from UV is no part, whatever shape its remains have.
    """
    if dataset.parts is None:
        return {}
    U = metrics.without_vanished(U, V)
    scores: dict[str, Any] = {"parts_found": metrics.parts_found(U, dataset.parts), "parts_total": dataset.parts.shape[1]}
    if dataset.groups is not None:
        groups = model_groups(y_set)
        right = metrics.groups_correct(U, dataset.parts, dataset.groups, groups) if groups else None
        scores |= {"groups_correct": right, "groups_total": len(dataset.groups)}
    return scores


def model_groups(y_set: StructureSet) -> Sequence[Sequence[int]] | None:
    """The partition of the components that a model imposes, if it does."""
    return next((s.groups for s in members_of(y_set) if isinstance(s, GroupSparse) and s.axis == "column"), None)


def truth_words(scores: dict[str, Any]) -> list[dict[str, Any]]:
    """Badges: what agrees with the ground truth, whether all of it does, and its name in the glossary."""
    badges = []
    for found, total, word in (("parts_found", "parts_total", "parts_found"), ("groups_correct", "groups_total", "groups_right")):
        if scores.get(found) is not None and scores.get(total):
            text = f"{scores[found]} of {scores[total]} {word.replace('_', ' ')}"
            badges.append({"text": text, "done": scores[found] == scores[total], "word": word})
    return badges
