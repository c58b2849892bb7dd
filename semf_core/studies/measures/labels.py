"""How well codes tell classes apart: a classifier on the codes of samples that the factorization has not seen."""

from __future__ import annotations

import numpy as np

from semf_core.common.extras import optional
from semf_core.common.parameters import param
from semf_core.factorization.encode import encode
from semf_core.studies.measures.base import MEASURES, Measure, Outcome

Array = np.ndarray
COUNT = {"low": 1, "high": 1_000_000}


@MEASURES.register
class LabelErrors(Measure):
    """Wrongly classified samples among those that neither the factorization nor the classifier has seen.

    Samples that the factorization left out (`data.samples`) are taken in a fixed order: the first `learnt` ones teach
    the classifier, the next `count` ones are for validation, that is for choosing among starts or settings, and as
    many after these for the test. Codes of all of them are the best ones for the basis U that the algorithm's
    conditions on V allow.
    """

    name, title, better = "label_errors", "Wrongly classified samples", "low"

    part: str = param("choice", "test", choices=("validation", "test"), help="samples to choose by, or samples to report")
    learnt: int = param("integer", 1000, **COUNT, help="samples that the classifier learns from")
    count: int = param("integer", 300, **COUNT, help="samples that are classified")
    classifier: str = param(
        "choice",
        "entropy",
        choices=("entropy", "neighbour"),
        help="maximum entropy (logistic regression), or the class of the nearest code",
    )
    label: str = param("text", "", help="name of the column, where a study has several")

    @property
    def key(self) -> str:
        return self.label or self.name

    @property
    def heading(self) -> str:
        return f"{self.title} of {self.count} ({self.part})"

    def value(self, outcome: Outcome) -> float | None:
        first = self.learnt + (self.count if self.part == "test" else 0)
        left, source = outcome.data.left_out, outcome.data.source
        if source is None or source.labels is None or len(left) < first + self.count:
            return None
        learnt, tested = left[: self.learnt], left[first : first + self.count]
        teaching, asked = (self._codes(outcome, columns) for columns in (learnt, tested))
        found = CLASSIFIERS[self.classifier](teaching, source.labels[learnt], asked)
        return int((found != source.labels[tested]).sum())

    @staticmethod
    def _codes(outcome: Outcome, columns: Array) -> Array:
        """One row for each sample, in units in which a basis vector has length 1."""
        assert outcome.data.source is not None
        length = np.linalg.norm(outcome.U, axis=0)
        length[length == 0] = 1
        y_set = outcome.run.problem.whole_sets[1]
        return (encode(outcome.data.source.data[:, columns], outcome.U, y_set) * length[:, None]).T


def by_entropy(codes: Array, labels: Array, asked: Array) -> Array:
    """The likeliest class of a maximum entropy model with the codes as features."""
    # scikit-learn takes a second or two to import; only those who want it should wait.
    with optional():
        from sklearn.linear_model import LogisticRegression

    scale = float(np.abs(codes).mean()) or 1.0
    found: Array = LogisticRegression(max_iter=5000).fit(codes / scale, labels).predict(asked / scale)
    return found


def by_neighbour(codes: Array, labels: Array, asked: Array) -> Array:
    """The class of the nearest code."""
    squares = np.square(codes).sum(axis=1) - 2 * asked @ codes.T
    found: Array = labels[squares.argmin(axis=1)]
    return found


CLASSIFIERS = {"entropy": by_entropy, "neighbour": by_neighbour}
