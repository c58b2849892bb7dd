"""One loop for every solver: stopping, timing, restarts, kicks, the best factors, checkpoints."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import numpy as np

from semf_core.parameters import InvalidInput, Parametrized, param
from semf_core.solvers.base import Array, Case, Frame, Problem, Solver, State, pack_state, unpack_state
from semf_core.solvers.polish import polish

COLUMNS = ("residual_xy", "residual_uv", "alpha", "beta", "gap_x", "gap_y", "change", "case", "seconds", "start")
SETTLED = 3
"""(9) must hold this many times in a row."""
COUNTERS = ("stop_reason", "seconds", "start", "_settled", "_start_iteration", "_window_first", "best_uv", "best_iteration")
"""What a checkpoint holds of a run beside its state, history, events and generator."""


@dataclass(frozen=True, eq=False)
class Limits(Parametrized):
    """When a run stops, starts afresh or gets a kick, and what is done at its end."""

    name: ClassVar[str] = "limits"

    max_iter: int = param("integer", 1000, low=1, high=10_000_000, help="iterations of one start at most")
    tol: float = param("number", 1e-6, low=0, high=1, symbol=r"\mathrm{tol}", help="relative change in (9); 0 never stops by it")
    restarts: int = param("integer", 1, low=1, high=100_000, help="starting points at most; the best ‖M−UV‖ is kept")
    target: float = param(
        "number", 0.02, low=0, high=1, help="‖M−UV‖/‖M‖ at which a start counts as solved: no kick, no further start"
    )
    kick: bool = param("boolean", False, help="push the iterates out of a stagnation above the target")
    window: int = param("integer", 100, low=2, help="iterations over which stagnation is judged")
    stagnation: float = param("number", 0.01, low=0, high=1, help="less relative progress than this in a window is stagnation")
    polish: int = param("integer", 0, low=0, high=100_000, help="sweeps of coordinate descent on the final supports")


@dataclass(frozen=True)
class Event:
    """Something that happened between two iterations: a kick, a new start, an edit, a polish."""

    iteration: int
    kind: str
    text: str = ""


class History:
    """One row of numbers for every iteration, 80 bytes each; columns are arrays."""

    def __init__(self, rows: Array | None = None) -> None:
        given = np.empty((0, len(COLUMNS))) if rows is None else rows
        self._rows = np.empty((max(256, len(given)), len(COLUMNS)))
        self._rows[: len(given)] = given
        self._length = len(given)

    def append(self, frame: Frame, seconds: float, start: int) -> None:
        f = frame
        if self._length == len(self._rows):  # a new array, so that tables handed out earlier stay as they are
            self._rows = np.concatenate((self._rows, np.empty_like(self._rows)))
        self._rows[self._length] = (
            f.residual_xy,
            f.residual_uv,
            f.alpha,
            f.beta,
            f.gap_x,
            f.gap_y,
            f.change,
            f.case,
            seconds,
            start,
        )
        self._length += 1

    def __len__(self) -> int:
        return self._length

    def table(self, first: int = 0) -> Array:
        """The rows from `first` on, one column for each of COLUMNS; a view that later iterations leave alone."""
        rows = self._rows[first : self._length]
        rows.flags.writeable = False
        return rows

    def column(self, name: str) -> Array:
        values = self._rows[: self._length, COLUMNS.index(name)]
        return values.astype(np.int64 if name in {"case", "start"} else np.float64)

    def last(self, name: str) -> float:
        return float(self._rows[self._length - 1, COLUMNS.index(name)])

    def __getattr__(self, name: str) -> Array:
        if name in COLUMNS:
            return self.column(name)
        raise AttributeError(name)

    def __getitem__(self, name: str) -> Array:
        return self.column(name)


class Run:
    """A factorization in progress: `advance` it one iteration at a time, or `finish` it."""

    def __init__(self, problem: Problem, solver: Solver, limits: Limits | None = None, seed: int = 0) -> None:
        self.problem, self.solver, self.limits, self.seed = problem, solver, limits or Limits(), seed
        solver.check(problem)
        self.history = History()
        self.events: list[Event] = []
        self.stop_reason: str | None = None
        self.seconds = 0.0
        self.start = 0
        self._settled = 0
        self._start_iteration = 0
        self._window_first = 0
        self.best_uv = self._best_value = np.inf
        self.best_iteration = 0
        self._begin()

    # -- state -------------------------------------------------------------------------------

    def _begin(self) -> None:
        """A new starting point, reproducible from the seed and the number of the start."""
        self.rng = np.random.default_rng((self.seed, self.start))
        kept = getattr(self, "best", None)
        began = time.perf_counter()
        self.state = self.solver.init(self.problem, self.rng)
        self.seconds += time.perf_counter() - began  # some algorithms do all their work here
        self.best = kept or (self.state.W, self.state.Z)
        self.state.scratch["kept"] = self.best
        self._start_iteration = self._window_first = self.iterations
        self._settled = 0

    @property
    def iterations(self) -> int:
        return len(self.history)

    def _factors(self, best: bool) -> State:
        return State(*self.best) if best else self.state

    def factors(self, best: bool = True) -> tuple[Array, Array, Array, Array]:
        """(U, V, X, Y): the best ones seen (of the smallest ‖M−UV‖, or cost where the solver has penalties), or the current."""
        s = self._factors(best)
        p = s.rank
        U, V = self.problem.expand(s.W[p:], s.Z[p:])
        X, Y = self.problem.expand(s.W[:p], s.Z[:p])
        return U, V, X, Y

    # -- the loop ----------------------------------------------------------------------------

    def advance(self) -> Frame:
        """One iteration, and whatever is due after it."""
        if self.stop_reason is not None:
            raise RuntimeError(f"the run has stopped ({self.stop_reason})")
        began = time.perf_counter()
        self.state = self.solver.step(self.problem, self.state)
        frame = self.solver.frame(self.problem, self.state)
        value = self._value(self.state, frame.residual_uv)
        if not np.isfinite(frame.residual_uv + frame.residual_xy):
            self.stop_reason = "diverged"
        elif value < self._best_value:
            self._best_value = value
            self.best_uv, self.best_iteration = frame.residual_uv, self.iterations + 1
            self.best = (self.state.W, self.state.Z)
            self.state.scratch["kept"] = self.best
        previous = self.history.last("residual_xy") if self.iterations > self._start_iteration else np.inf
        self.seconds += time.perf_counter() - began
        self.history.append(frame, self.seconds, self.start)
        if self.stop_reason is None:
            self._after(frame, previous)
        return frame

    def _value(self, state: State, residual_uv: float) -> float:
        """What the best factors have the least of."""
        return self.solver.cost(self.problem, state) if self.solver.penalised else residual_uv

    def _value_of_best(self) -> float:
        return self._value(State(self.best[0], self.best[1], {"residual": self.best_uv}), self.best_uv)

    def _after(self, frame: Frame, previous_xy: float) -> None:
        """Decide whether the start is over, stagnates, or goes on."""
        tol = self.limits.tol
        quiet = tol > 0 and (abs(previous_xy - frame.residual_xy) <= tol * previous_xy or frame.change <= tol)
        self._settled = self._settled + 1 if quiet and np.isfinite(previous_xy) else 0
        solved = self.best_uv <= self.limits.target * self.problem.matrix.norm
        settled = self._settled >= SETTLED
        stuck = not solved and (settled or self._stagnates())
        more_starts = not solved and self.start + 1 < self.limits.restarts
        if self.iterations - self._start_iteration >= self.limits.max_iter:
            reason = "converged" if settled else "iteration limit"
        elif stuck and self.limits.kick and self.solver.can_kick:
            return self._kick()
        elif settled:
            reason = "converged"
        elif stuck and more_starts:
            reason = "gave up"
        else:
            return
        if more_starts:
            self.start += 1
            self.events.append(Event(self.iterations, "restart", f"start {self.start + 1} of {self.limits.restarts} ({reason})"))
            self._begin()
        else:
            self.stop_reason = reason

    def _stagnates(self) -> bool:
        """The best ‖M−UV‖ of the last window is hardly below that of the window before."""
        window = self.limits.window
        if self.iterations - self._window_first < 2 * window:
            return False
        recent = self.history.table(self.iterations - 2 * window)[:, COLUMNS.index("residual_uv")]
        return bool(recent[window:].min() >= (1 - self.limits.stagnation) * recent[:window].min())

    def _kick(self) -> None:
        self.state = self.solver.kick(self.problem, self.state, self.rng)
        self._window_first = self.iterations
        self._settled = 0
        self.events.append(Event(self.iterations, "kick", "stuck above the target: Y restarts near V"))

    def finish(self, callback: Callable[[Run], object] | None = None, should_stop: Callable[[], bool] | None = None) -> Run:
        """Iterate to the end; `callback(run)` after each iteration, its time not counted.

        A callback that returns something true, or `should_stop()`, ends the run as cancelled.
        """
        while self.stop_reason is None:
            self.advance()
            if (callback is not None and callback(self)) or (should_stop is not None and should_stop()):
                self.stop_reason = self.stop_reason or "cancelled"
        self.complete()
        return self

    def complete(self) -> None:
        """The final polish of the best factors, once the run has stopped."""
        done = any(e.kind == "polish" and e.iteration == self.iterations for e in self.events)
        if not self.limits.polish or done or self.stop_reason == "diverged":
            return
        if self.solver.penalised:
            self.events.append(Event(self.iterations, "polish", "left out: the algorithm minimises more than ‖M−UV‖"))
            return
        began = time.perf_counter()
        polished = polish(self.problem, self._factors(best=True), self.limits.polish, self.solver.splits)
        before, self.best_uv = self.best_uv, min(self.best_uv, polished.residual_uv)
        self.seconds += time.perf_counter() - began
        text = f"{polished.sweeps} sweeps: ‖M−UV‖ {before:.6g} → {self.best_uv:.6g}" if polished.sweeps else polished.why
        if polished.residual_uv < before:
            self.best = (polished.state.W, polished.state.Z)
        self.events.append(Event(self.iterations, "polish", text))

    # -- changes in the middle ---------------------------------------------------------------

    def edit(self, problem: Problem, solver: Solver, limits: Limits, numbers: Mapping[str, float], text: str) -> None:
        """Go on under other sets, options or limits; iterations count on, the limits count from here.

        With the problem unchanged (the same object) the state stays as it is. Otherwise, or with another
        algorithm, the current X and Y become starting factors, and the best ‖M−UV‖ is judged afresh.
        `numbers` sets values of the state: "alpha", "beta".
        """
        solver.check(problem)
        for name in numbers:
            if name not in self.state.numbers:
                raise InvalidInput(name, "is not used by this algorithm")
        if problem is self.problem and type(solver) is type(self.solver):
            self.state = solver.retuned(problem, self.state, self.solver)
        else:
            self.state = self._started_from_here(problem, solver)
            p = self.state.rank
            self.best = (self.state.W, self.state.Z)
            self.state.scratch["kept"] = self.best
            self.best_uv, self.best_iteration = problem.matrix.residual(self.state.W[p:], self.state.Z[p:]), self.iterations
        self.state.numbers.update(numbers)
        self.problem, self.solver, self.limits = problem, solver, limits
        self._best_value = self._value_of_best()
        self._start_iteration = self._window_first = self.iterations
        self._settled = 0
        self.stop_reason = None
        self.events.append(Event(self.iterations, "edit", text))

    def _started_from_here(self, problem: Problem, solver: Solver) -> State:
        """A state of another problem or algorithm at the current X and Y, with the current penalties."""
        X, Y = self.problem.expand(self.state.W[: self.state.rank], self.state.Z[: self.state.rank])
        here = (X if problem.rows is None else X[problem.rows], Y if problem.columns is None else Y[:, problem.columns])
        state = solver.init(replace(problem, start=here), self.rng)
        if type(solver) is type(self.solver):
            state.numbers.update({name: value for name, value in self.state.numbers.items() if name in {"alpha", "beta"}})
            state = solver.retuned(problem, state, self.solver)
        return state

    # -- checkpoints -------------------------------------------------------------------------

    def checkpoint(self, file: str | Path | BinaryIO) -> None:
        """Everything needed to go on bit for bit, as NPZ without pickle."""
        meta = {
            "counters": {name: getattr(self, name) for name in COUNTERS},
            "rng": self.rng.bit_generator.state,
            "events": [asdict(e) for e in self.events],
            "seed": self.seed,
        }
        np.savez(
            file,
            meta=np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8),
            history=self.history.table(),
            best_W=self.best[0],
            best_Z=self.best[1],
            **pack_state(self.state),  # type: ignore[arg-type]
        )

    @classmethod
    def resume(cls, file: str | Path | BinaryIO | bytes, problem: Problem, solver: Solver, limits: Limits | None = None) -> Run:
        """The run that `checkpoint` stored, ready to go on."""
        with np.load(io.BytesIO(file) if isinstance(file, bytes) else file, allow_pickle=False) as stored:
            arrays = {k: stored[k] for k in stored.files}
        meta: dict[str, Any] = json.loads(arrays["meta"].tobytes())
        m, n = problem.matrix.shape
        if arrays["W"].shape != (2 * problem.rank, m) or arrays["Z"].shape != (2 * problem.rank, n):
            raise InvalidInput("checkpoint", "was made for other data or another rank")
        run = cls(problem, solver, limits, seed=int(meta["seed"]))
        for name, value in meta["counters"].items():
            setattr(run, name, value)
        run.history = History(arrays["history"])
        run.events = [Event(**e) for e in meta["events"]]
        run.rng.bit_generator.state = meta["rng"]
        run.state = unpack_state(arrays)
        run.best = (arrays["best_W"], arrays["best_Z"])
        run.state.scratch["kept"] = run.best
        run._best_value = run._value_of_best()
        return run


__all__ = ["COLUMNS", "Case", "Event", "History", "Limits", "Run"]
