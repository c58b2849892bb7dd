"""One factor while the other is fixed: the convex programs that both algorithms are made of.

For the H-step, f(H) = ‖V − WH‖² = ‖RH − QᵀV‖² + const with W = QR: r×r and r×n numbers are all that
a program sees of the data, whatever the number of rows. The W-step is the same with Vᵀ ≈ HᵀWᵀ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from semf_core.solvers.base import Problem
from semf_core.solvers.reverse_convex import parts
from semf_core.solvers.reverse_convex.conic import Array, Entries, Part, Program
from semf_core.solvers.reverse_convex.geometry import Band, sparseness, sparseness_gradient

RIDGE = 1e-10
"""Added to the Gram matrix, whose diagonal is 1: directions that do not matter do not run away."""
ROOM = 1e-9
"""What a level set or a ball is widened by, relative to its size: a cone program needs an interior."""

ERROR_ROOM = 1e-6
"""What ‖M−XY‖² may be above its bound, in ‖M‖²: what a conic solver leaves, and more than the room in its programs."""
LABEL_ROOM = 1e-3
"""How much farther than λ eᵀμ a code may be from the mean of its class, relatively: what a conic solver leaves."""


@dataclass(frozen=True)
class Quadratic:
    """f(H) = ‖R(S∘H) − T‖² + rest in units where R has unit columns and T entries of ordinary size.

    S holds the signs of sparse PCA, (30), otherwise ones. H in the units of the data is units·H.
    """

    R: Array
    T: Array
    signs: Array
    units: Array
    alive: Array
    """Which rows have any effect: those whose partner in the other factor is not zero."""
    scale: float
    """f here times this is f in the units of the data, apart from a constant."""
    ridge: float = 0.0
    """ρ of the term ρ‖H‖², which is ρ Σ_k ‖X_k‖²‖Y_k‖² in the units of the data."""

    def fit(self, H: Array) -> float:
        difference = self.R @ (self.signs * H) - self.T
        return float(np.vdot(difference, difference))

    def value(self, H: Array) -> float:
        return self.fit(H) + self.ridge * float(np.vdot(H, H))

    def gradient(self, H: Array) -> Array:
        return 2 * self.signs * (self.R.T @ (self.R @ (self.signs * H) - self.T)) + 2 * self.ridge * H

    def gram(self) -> Array:
        G: Array = self.R.T @ self.R + (RIDGE + self.ridge) * np.eye(self.R.shape[1])
        return G

    def objective(self, index: Array, size: int) -> tuple[Entries, Array]:
        """P (upper triangle) and q: H's columns do not meet, so P has r(r+1)/2 nonzeros for each of them."""
        k, j = np.triu_indices(len(index))
        G = self.gram()
        P = Entries(index[k].ravel(), index[j].ravel(), (2 * G[k, j][:, None] * self.signs[k] * self.signs[j]).ravel())
        q = np.zeros(size)
        q[index] = -2 * self.signs * (self.R.T @ self.T)
        return P, q


@dataclass(frozen=True)
class Labels:
    """The class of every sample and λ of (5b)."""

    classes: Array
    radius: float


def quadratic_for(problem: Problem, other: Array, axis: int, least: float = 0.0) -> Quadratic:
    """f for Xᵀ (axis 0) or for Y (axis 1), the other one being given.

    No row's unit is more than 1/least times that of the largest: constraints that tie rows together need comparable ones.
    """
    M = problem.matrix
    norms = np.linalg.norm(other, axis=1)
    alive = norms > 0
    norms = np.maximum(np.where(alive, norms, 1), least * norms.max(initial=0.0))
    Q, R = np.linalg.qr((other / norms[:, None]).T)
    Qt = np.ascontiguousarray(Q.T, dtype=M.dtype)
    product = M.right(Qt, Qt) if axis == 0 else M.left(Qt, Qt, Qt)
    size = float(np.linalg.norm(product)) / np.sqrt(product.size) or 1.0
    signs = np.ones((len(other), product.shape[1]))
    return Quadratic(R, product.astype(float) / size, signs, size / norms, alive, size**2)


class Half:
    """The convex programs for one factor, kept from one iteration to the next.

    Everything is a matrix of nonnegative rows in the units of a `Quadratic`.
    """

    rng: np.random.Generator
    """For searches that draw points; of the current iteration."""
    norm: float = 0.0
    """‖M‖."""
    admissible: float | None = None
    """The largest ‖M−XY‖/‖M‖ that a reward for sparseness may cost (§6.3)."""

    def __init__(self, shape: tuple[int, int], band: Band, labels: Labels | None = None, weight: float = 0.0) -> None:
        self.band, self.labels, self.weight = band, labels, weight
        self.index = np.arange(shape[0] * shape[1]).reshape(shape)
        classes = 0 if labels is None else int(labels.classes.max()) + 1
        self.means = self.index.size + np.arange(shape[0] * classes).reshape(shape[0], classes)
        self.size = self.index.size + self.means.size
        self._programs: dict[Any, Program] = {}

    @property
    def solves(self) -> int:
        """Conic programs solved so far."""
        return sum(program.solves for program in self._programs.values())

    @property
    def seconds(self) -> float:
        """Time spent in them by the conic solver."""
        return sum(program.seconds for program in self._programs.values())

    def level(self, f: Quadratic, slack: float) -> float:
        """The largest f, without its ridge, that leaves ‖M−XY‖² admissible up to slack·‖M‖²; infinite where nothing is bound."""
        if self.admissible is None:
            return np.inf
        beyond = self.norm**2 - f.scale * float(np.vdot(f.T, f.T))  # what no H can explain
        return ((self.admissible**2 + slack) * self.norm**2 - beyond) / f.scale

    def minimise(self, f: Quadratic, *extra: Part, kind: str, reward: Array | None = None) -> Array:
        """argmin f(H) − ⟨reward, H⟩ over H ≥ 0 in C(high), near its class means, and the extra parts.

        A row rarely wants to be sparser than it may, and without second-order cones the program is
        several times smaller: they are left out at first and put in if the answer needs them.
        """
        P, q = f.objective(self.index, self.size)
        if reward is not None:
            q[self.index] -= reward
        free = [parts.nonnegative(self.index), *self._label_parts(f), *extra]
        H = self._solved((kind, "free"), P, q, free)
        if self.band.high < 1 and self.band.too_sparse(H).any():
            H = self._solved((kind, "cones"), P, q, [*free, parts.at_most_sparse(self.index, self.band.least)])
        return H

    def beyond_planes(self, f: Quadratic, normals: Array, active: Array, reward: Array | None = None) -> Array:
        """The solution of (20), and of (19) where no row is active; one with a reward fits admissibly."""
        extra = [] if self.band.low == 0 else [parts.beyond_planes(self.index, normals, active)]
        kind = "planes" if extra else "plain"
        if reward is not None and self.admissible is not None:
            bound = np.sqrt(self.level(f, ROOM))
            extra, kind = [*extra, parts.fits(self.index, f.R, f.signs, f.T, bound)], f"{kind}, bounded"
        return self.minimise(f, *extra, kind=kind, reward=reward)

    def within_balls(self, f: Quadratic, centres: Array) -> Array:
        """The solution of (25): as good a fit as possible within a safe distance of sparser rows."""
        radii = np.maximum(self.band.clearance(centres), ROOM * np.linalg.norm(centres, axis=1))
        return self.minimise(f, parts.within_balls(self.index, centres, radii), kind="balls")

    def sparser(self, f: Quadratic, H: Array, at: Array | None = None) -> Array:
        """The solution of (24): the least sparse row as sparse as possible, linearised at H or elsewhere, at no worse a fit."""
        at = H if at is None else at
        least = self.size
        q = np.zeros(least + 1)
        q[least] = -1
        bound = np.sqrt(f.value(H) + ROOM * float(np.vdot(f.T, f.T)))
        constraints = [
            parts.nonnegative(self.index),
            *self._label_parts(f),
            parts.fits(self.index, f.R, f.signs, f.T, bound),
            parts.sparser_than(self.index, least, sparseness_gradient(at), sparseness(at)),
        ]
        if self.band.high < 1:
            constraints.append(parts.at_most_sparse(self.index, self.band.least))
        none = np.empty(0, int)
        return self._solved("sparser", Entries(none, none, np.empty(0)), q, constraints)

    def keeps_labels(self, f: Quadratic, H: Array) -> bool:
        """Whether every sample is near the mean of its class, (27)."""
        if self.labels is None:
            return True
        codes, classes = f.units[:, None] * H, self.labels.classes
        means = np.stack([np.bincount(classes, row) for row in codes]) / np.bincount(classes)
        distances = np.linalg.norm(codes - means[:, classes], axis=0)
        return bool((distances <= (1 + LABEL_ROOM) * self.labels.radius * means.sum(axis=0)[classes]).all())

    def _label_parts(self, f: Quadratic) -> list[Part]:
        if self.labels is None:
            return []
        units = f.units / f.units.max()
        return [parts.near_class_means(self.index, self.means, self.labels.classes, units, self.labels.radius)]

    def _solved(self, kind: Any, P: Entries, q: Array, constraints: list[Part]) -> Array:
        x = self._programs.setdefault(kind, Program()).solve(P, q, constraints)
        return np.maximum(x[: self.index.size].reshape(self.index.shape), 0)
