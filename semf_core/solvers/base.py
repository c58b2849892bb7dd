"""The protocol every algorithm speaks, and the one loop that runs them all.

A solver advances a state; a `Run` owns everything around that: stopping, timing, restarts, the best
factors seen, the history, checkpoints. Pages, the command line and studies only ever hold a `Run`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, ClassVar

import numpy as np

from semf_core.matrix import DataMatrix
from semf_core.parameters import Parametrized
from semf_core.registry import Registry
from semf_core.sets import StructureSet, combine

Array = np.ndarray


class Case(IntEnum):
    """What Algorithm 2 decided at an iteration; NONE between its checks."""

    NONE = 0
    SKIP = 1
    """(10) held: ‖M−UV‖ fell enough, nothing changes."""
    NEAR_FEASIBLE = 2
    """Case 1: (11) held, α and β divided by ν."""
    X_STALLED = 3
    """Case 2a: ‖X−U‖ did not fall, α multiplied by μ."""
    Y_STALLED = 4
    """Case 2b: ‖Y−V‖ did not fall, β multiplied by μ."""
    BOTH_STALLED = 5
    """Cases 2a and 2b together."""
    FIDELITY_STALLED = 6
    """Case 3a: (13) held, α and β divided by ν."""
    BOTH_IMPROVE = 7
    """Case 3b: fidelity and feasibility both improve, α and β multiplied by μ."""


@dataclass(frozen=True)
class Problem:
    """What is to be factorized, and into what: M ≈ UV with U in x_set and V in y_set.

    All-zero rows and columns of M may have been left out; `rows` and `columns` say which are there,
    and `expand` puts zeros back.
    """

    matrix: DataMatrix
    rank: int
    x_set: StructureSet = field(default_factory=lambda: combine(()))
    y_set: StructureSet = field(default_factory=lambda: combine(()))
    start: tuple[Array | None, Array | None] = (None, None)
    """Given factors (X, Y) to start from."""
    rows: Array | None = None
    columns: Array | None = None
    shape: tuple[int, int] = (0, 0)
    """Shape of the whole M."""

    def expand(self, Xt: Array, Y: Array) -> tuple[Array, Array]:
        """Factors of the whole M, as new arrays X (m×p) and Y (p×n)."""
        return _spread(Xt, self.rows, self.shape[0]).T, _spread(Y, self.columns, self.shape[1])


def _spread(compact: Array, kept: Array | None, length: int) -> Array:
    if kept is None:
        return compact.copy()
    out = np.zeros((len(compact), length), compact.dtype)
    out[:, kept] = compact
    return out


@dataclass(frozen=True)
class Frame:
    """The plain numbers of one iteration."""

    residual_xy: float
    residual_uv: float
    alpha: float
    beta: float
    gap_x: float
    gap_y: float
    change: float
    """max(‖X−X₊‖/‖X‖, ‖Y−Y₊‖/‖Y‖), the second half of (9)."""
    case: int = Case.NONE


@dataclass
class State:
    """Where a solver stands: W holds X and U, Z holds Y and V, one above the other, transposed for X.

    Plain arrays and numbers, so that it can be copied, stored and resumed bit for bit.
    """

    W: Array
    Z: Array
    numbers: dict[str, float] = field(default_factory=dict)
    arrays: dict[str, Array] = field(default_factory=dict)
    scratch: dict[str, Any] = field(default_factory=dict)
    """Buffers and derived values that are rebuilt on demand and never stored."""

    @property
    def rank(self) -> int:
        return len(self.W) // 2

    @property
    def X(self) -> Array:
        return self.W[: self.rank].T

    @property
    def U(self) -> Array:
        return self.W[self.rank :].T

    @property
    def Y(self) -> Array:
        return self.Z[: self.rank]

    @property
    def V(self) -> Array:
        return self.Z[self.rank :]


@dataclass(frozen=True, eq=False)
class Solver(Parametrized):
    """An algorithm and its options. `step` advances the state in place and returns it."""

    title: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    can_kick: ClassVar[bool] = False

    def init(self, problem: Problem, rng: np.random.Generator) -> State:
        raise NotImplementedError

    def step(self, problem: Problem, state: State) -> State:
        raise NotImplementedError

    def frame(self, problem: Problem, state: State) -> Frame:
        raise NotImplementedError

    def kick(self, problem: Problem, state: State, rng: np.random.Generator) -> State:
        """A new starting point near the current one, out of a stagnation."""
        raise NotImplementedError

    def retuned(self, problem: Problem, state: State, before: Solver) -> State:
        """A state that `before`, the same algorithm with other options, has left: ready to go on with these."""
        return state

    def check(self, problem: Problem) -> None:
        """Raise InvalidInput, before the first iteration, if the problem is not for this solver."""

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict()


SOLVERS: Registry[Solver] = Registry("solver")


def pack_state(state: State) -> dict[str, Array]:
    """A state as named arrays."""
    names = sorted(state.numbers)
    return {
        "W": state.W,
        "Z": state.Z,
        "numbers": np.array([state.numbers[n] for n in names], dtype=np.float64),
        "number_names": np.array(names, dtype=np.str_),
        **{f"array_{k}": v for k, v in state.arrays.items()},
    }


def unpack_state(stored: Mapping[str, Array]) -> State:
    names = [str(n) for n in stored["number_names"]]
    return State(
        W=np.array(stored["W"]),
        Z=np.array(stored["Z"]),
        numbers=dict(zip(names, (float(v) for v in stored["numbers"]), strict=True)),
        arrays={k.removeprefix("array_"): np.array(v) for k, v in stored.items() if k.startswith("array_")},
    )
