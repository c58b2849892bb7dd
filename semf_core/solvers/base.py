"""The protocol every algorithm speaks, and the one loop that runs them all.

A solver advances a state; a `Run` owns everything around that: stopping, timing, restarts, the best
factors seen, the history, checkpoints. Pages, the command line and studies only ever hold a `Run`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, ClassVar, NamedTuple

import numpy as np

from semf_core.common.parameters import InvalidInput, Parametrized
from semf_core.common.registry import Registry
from semf_core.mathematics.matrix import DataMatrix, DenseMatrix
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
    labels: Array | None = None
    """Class of each sample, where the data has classes."""
    image_shape: tuple[int, int] | None = None
    """Height and width of the images that the samples are, row after row, where they are images."""
    sets: tuple[StructureSet, StructureSet] | None = None
    """The sets on the whole factors, where rows or columns were left out."""

    @property
    def whole_sets(self) -> tuple[StructureSet, StructureSet]:
        """What the expanded U and V satisfy."""
        return self.sets or (self.x_set, self.y_set)

    @property
    def convex(self) -> bool:
        """Both sets are."""
        return self.x_set.convex and self.y_set.convex

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

    def free_buffers(self, make: Callable[[], tuple[Array, Array]]) -> tuple[Array, Array]:
        """Memory for the next W and Z that holds neither the current factors nor those kept as the best."""
        pool = self.scratch.setdefault("pool", [])
        kept = self.scratch.get("kept")
        for W, Z in pool:
            if W is not self.W and (kept is None or W is not kept[0]):
                return W, Z
        pool.append(make())
        return pool[-1]


class HalfStep(NamedTuple):
    """How an iteration changes one factor, the other being as the half step before has left it."""

    factor: str
    """U or V; X or Y where they are not the same."""
    formula: str
    """LaTeX. U_+ and V_+ are the new ones, u_k a column of U, v_{k:} a row and v_i a column of V, [·]_+ the positive part."""
    words: str


Sets = tuple[StructureSet, ...]
SYSTEMS = 8
"""p×p arrays of the linear systems."""


@dataclass(frozen=True)
class Patience:
    """When a run counts as stuck, when as solved, and whether it then gets a kick; see `Limits`."""

    kick: bool = False
    window: int = 100
    stagnation: float = 0.01
    target: float = 0.02


class Solver(Parametrized):
    """An algorithm and its options. `step` advances the state in place and returns it."""

    title: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    family: ClassVar[str] = ""
    """The heading that it stands under in a list of algorithms."""
    enforces: ClassVar[str] = ""
    """What U and V satisfy at every iteration, in words."""
    encourages: ClassVar[str] = ""
    """What is only rewarded by the objective, in words; empty if nothing is."""
    reference: ClassVar[str | tuple[str, ...]] = ""
    """Key of its paper in references.bib, or its BibTeX entry; of several, the main one first."""
    takes_sets: ClassVar[bool] = False
    """Enforces the structure sets of the model; otherwise it has constraints of its own, see `structure`."""
    splits: ClassVar[bool] = False
    """X differs from U and Y from V: there are penalties and feasibility gaps to show."""
    drops_zeros: ClassVar[bool] = False
    """The iterates stay the same if all-zero rows and columns of M are left out."""
    needs: ClassVar[tuple[str, ...]] = ()
    """Properties of the data without which it cannot run; keys of `NEEDS`."""
    judged_by_change: ClassVar[bool] = False
    """‖M−UV‖ is not what it minimises: it has converged when the factors stop changing, not when the residual does."""
    own_start: ClassVar[str] = ""
    """What it begins with instead of factors that are given, in words; empty if it takes them: X, Y or both."""
    taken_along: ClassVar[tuple[str, ...]] = ("alpha", "beta")
    """Numbers of its state that it goes on with on another problem."""
    can_kick: ClassVar[bool] = False
    patience: ClassVar[Patience] = Patience()
    """When it counts as stuck or solved, where the limits leave that open."""
    buffers: ClassVar[float] = 12
    """Arrays of the size of both factors that are in memory at the peak of a run, those of its result included."""
    data_buffers: ClassVar[float] = 1
    """Arrays of the size of a dense M, beside M itself."""

    def workspace(self, shape: tuple[int, int], rank: int, item: int, is_sparse: bool) -> float:
        """Bytes in memory at the peak of a run beside the data, for entries of `item` bytes; measured, not promised."""
        data = 0 if is_sparse else self.data_buffers * shape[0] * shape[1]
        return item * (self.buffers * rank * sum(shape) + data + SYSTEMS * rank**2)

    @property
    def penalised(self) -> bool:
        """The objective is more than the fit: the best factors are those of the smallest `cost`, not of the smallest ‖M−UV‖."""
        return False

    @property
    def uses_labels(self) -> bool:
        """Whether the classes of the samples matter to it."""
        return False

    def objective(self) -> str:
        """LaTeX of what is minimised, and subject to what."""
        raise NotImplementedError

    def half_steps(self) -> tuple[HalfStep, ...]:
        """What an iteration does to the factors, in its order, where it does not split them; what one iteration is shown by."""
        words = "a half step of this algorithm"
        return HalfStep("U", r"U \to U_+", words), HalfStep("V", r"V \to V_+", words)

    def structure(self, shape: tuple[int, int], rank: int) -> tuple[Sets, Sets]:
        """The sets that U and V are in by the algorithm's own doing, for an M of this shape."""
        return (), ()

    def init(self, problem: Problem, rng: np.random.Generator) -> State:
        raise NotImplementedError

    def step(self, problem: Problem, state: State) -> State:
        raise NotImplementedError

    def frame(self, problem: Problem, state: State) -> Frame:
        raise NotImplementedError

    def cost(self, problem: Problem, state: State) -> float:
        """The value of `objective`; without penalty terms that is ‖M−UV‖²."""
        return self.frame(problem, state).residual_uv ** 2

    def remarks(self, problem: Problem, state: State, residual: float, factors: tuple[Array, Array]) -> tuple[str, ...]:
        """Sentences that only this algorithm can say of an ending in this state with these best factors (U, V)."""
        return ()

    def kick(self, problem: Problem, state: State, W: Array, Z: Array, rng: np.random.Generator) -> State:
        """A new starting point near the factors in W and Z, out of a stagnation."""
        raise NotImplementedError

    def patience_on(self, problem: Problem) -> Patience:
        """`patience`, on this problem."""
        return self.patience

    def kicks(self, problem: Problem) -> bool:
        """Whether a kick can lead anywhere on this problem."""
        return self.can_kick

    def gives_up(self, problem: Problem, state: State) -> bool:
        """Whether the kicks so far have shown that another one leads nowhere."""
        return False

    @property
    def descends(self) -> bool:
        """Pauses its search where it stagnates, and ends it, with a descent on U and V themselves."""
        return False

    def search_length(self, problem: Problem) -> float:
        """Iterations of a search after which a descent begins even where it has not stagnated."""
        return np.inf

    def begin_descent(self, problem: Problem, state: State, W: Array, Z: Array) -> State:
        """From the factors in W and Z on, U and V are improved themselves and ‖M−UV‖ never grows."""
        raise NotImplementedError

    def set_numbers(self, state: State, values: Mapping[str, float]) -> None:
        """Set values of the state by hand: "alpha", "beta"."""
        state.numbers.update(values)

    def retuned(self, problem: Problem, state: State, before: Solver) -> State:
        """A state that `before`, the same algorithm with other options, has left: ready to go on with these."""
        return state

    def check(self, problem: Problem) -> None:
        """Raise InvalidInput, before the first iteration, if the problem is not for this solver."""
        for need in self.needs:
            NEEDS[need](problem, self.title)


SOLVERS: Registry[Solver] = Registry("solver")


def _complete(problem: Problem, title: str) -> None:
    if not problem.matrix.identity:
        raise InvalidInput(
            "solver", f"{title} cannot leave out missing entries", "fill them in, or use SeMF, which can", whole=True
        )


def _dense(problem: Problem, title: str) -> None:
    if not isinstance(problem.matrix, DenseMatrix):
        raise InvalidInput(
            "solver", f"{title} needs a dense, complete matrix", "use SeMF, which takes sparse and incomplete ones", whole=True
        )


def _nonnegative(problem: Problem, title: str) -> None:
    if problem.matrix.minimum() < 0:
        raise InvalidInput(
            "solver", f"{title} needs data without negative entries", "shift or rescale the data first", whole=True
        )


def _labels(problem: Problem, title: str) -> None:
    if problem.labels is None:
        raise InvalidInput("solver", f"{title} needs the class of every sample", "choose data with labels", whole=True)


NEEDS: dict[str, Callable[[Problem, str], None]] = {
    "complete": _complete,
    "dense": _dense,
    "nonnegative": _nonnegative,
    "labels": _labels,
}


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
