"""What the factors look like, and whether they are in their sets."""

from __future__ import annotations

import math

import numpy as np

from semf_core.factorization.result import certify
from semf_core.mathematics import metrics
from semf_core.studies.measures.base import MEASURES, Measure, Outcome


@MEASURES.register
class Sparseness(Measure):
    """Mean of Hoyer's sparseness over the columns of U."""

    name, title = "sparseness", "Sparseness of the components"

    def value(self, outcome: Outcome) -> float | None:
        return float(metrics.hoyer_sparseness(outcome.U).mean())


@MEASURES.register
class SparsenessCodes(Measure):
    """Mean of Hoyer's sparseness over the rows of V."""

    name, title = "sparseness_v", "Sparseness of the activations"

    def value(self, outcome: Outcome) -> float | None:
        return float(metrics.hoyer_sparseness(outcome.V.T).mean())


@MEASURES.register
class Nonzeros(Measure):
    """Mean share of nonzeros in a column of U."""

    name, title = "nonzeros", "Nonzero share of the components"

    def value(self, outcome: Outcome) -> float | None:
        return float(metrics.nonzero_fraction(outcome.U).mean())


@MEASURES.register
class Overlap(Measure):
    """Average overlapping degree of the components (CSMF 15)."""

    name, title, better = "overlap", "Overlap (AOD)", "low"

    def value(self, outcome: Outcome) -> float | None:
        return metrics.overlap(outcome.U)


@MEASURES.register
class EmptyComponents(Measure):
    """Components whose column of U is zero; the overlap is that of the others (CSMF prints NaN there)."""

    name, title, better = "empty_components", "Components that died", "low"

    def value(self, outcome: Outcome) -> float | None:
        return metrics.empty_columns(outcome.U)


@MEASURES.register
class ComponentSize(Measure):
    """‖U‖/√p: where only U is penalised it shrinks while V grows, and the penalty fades."""

    name, title = "component_size", "Size of the components ‖U‖/√p"
    orders = True

    def value(self, outcome: Outcome) -> float | None:
        return float(np.linalg.norm(outcome.U)) / math.sqrt(outcome.U.shape[1])


@MEASURES.register
class Feasible(Measure):
    """U and V are in their sets up to rounding."""

    name, title, better, yes_no = "feasible", "Feasible", "high", True

    def value(self, outcome: Outcome) -> float | None:
        x_set, y_set = outcome.run.problem.whole_sets
        certificate = certify({"U": x_set, "V": y_set}, {"U": outcome.U, "V": outcome.V}, (0.0, 0.0))
        return float(certificate.feasible)
