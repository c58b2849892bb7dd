"""One loop for every solver: stopping, timing, restarts, kicks, the best factors, checkpoints."""

from __future__ import annotations

import io
import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from semf_core.common.errors import InvalidInput
from semf_core.solvers.base import Array, Case, Frame, Problem, Solver, State, pack_state, unpack_state
from semf_core.solvers.history import COLUMNS, Event, History
from semf_core.solvers.limits import Limits, Rules
from semf_core.solvers.polish import polish
from semf_core.solvers.starts import started

SETTLED = 3
"""(9) must hold this many times in a row."""
ASTRAY = 1e6
"""Where ‖M−XY‖ is so many times ‖M‖, X and Y grow without bound: no product of members of both sets is near M."""
COUNTERS = ("stop_reason", "seconds", "start", "_settled", "_start_iteration", "_window_first", "best_uv", "best_iteration")
"""What a checkpoint holds of a run beside its state, history, events and generator."""
LATER_COUNTERS = ("best_xy",)
"""The same, in checkpoints of later versions only."""
BY_ITSELF = ("kick", "descent", "restart")
Checkpointed = str | Path | BinaryIO | bytes | Mapping[str, Array]
MOST_EVENTS = 10_000
"""Kicks, descents and new starts that are listed; a run that goes on has as many as it likes."""


class Run:
    """A factorization in progress: `advance` it one iteration at a time, or `finish` it.

    Parameters
    ----------
    problem : Problem
        What is to be factorized; `ModelSpec.problem` makes one.
    solver : Solver
        The algorithm with its options.
    limits : Limits, optional
        When it stops.
    seed : int
        Number from which all randomness follows.
    bounded : bool
        Keep ever fewer rows of a long history (see `History`).

    Examples
    --------
    >>> from semf_core.model import preset
    >>> run = preset("swimmer-groups").run()
    >>> first = run.advance().residual_uv
    >>> while run.iterations < 20:
    ...     frame = run.advance()
    >>> frame.residual_uv < first, run.stop_reason
    (True, None)
    >>> U, V, X, Y = run.factors()
    """

    def __init__(
        self, problem: Problem, solver: Solver, limits: Limits | None = None, seed: int = 0, bounded: bool = False
    ) -> None:
        """A `bounded` run keeps ever fewer rows of its history (see `History`), whoever lets it go on for how long."""
        self.problem, self.solver, self.limits, self.seed = problem, solver, limits or Limits(), seed
        solver.check(problem)
        self.history = History(bounded=bounded)
        self._set_rules()
        self.events: list[Event] = []
        self._listed = 0
        self.stop_reason: str | None = None
        self.seconds = 0.0
        self.start = 0
        self._settled = 0
        self._start_iteration = 0
        self._window_first = 0
        self.best_uv = self._best_value = np.inf
        self.best_xy = np.nan
        self.best_iteration = 0
        self._begin()

    # -- state -------------------------------------------------------------------------------

    def _set_rules(self) -> None:
        """Work out what iterations are judged by; they need as many values of the history as two windows have."""
        self._rules = Rules.of(self.problem, self.solver, self.limits)
        self.history.remember(2 * self._rules.patience.window)

    def _begin(self) -> None:
        """A new starting point, reproducible from the seed and the number of the start."""
        self.rng = np.random.default_rng((self.seed, self.start))
        kept = getattr(self, "best", None)
        began = time.perf_counter()
        common = self.limits.common_start and not self.solver.own_start
        self.state = self.solver.init(started(self.problem, (self.seed, self.start)) if common else self.problem, self.rng)
        self.seconds += time.perf_counter() - began  # some algorithms do all their work here
        self.best = kept or (self.state.W, self.state.Z)
        self.state.scratch["kept"] = self.best
        self._start_iteration = self._window_first = self.iterations
        self._settled = 0

    @property
    def iterations(self) -> int:
        return self.history.iterations

    @property
    def start_iteration(self) -> int:
        """The iteration after which the limits count: the last start or the last edit."""
        return self._start_iteration

    def _factors(self, best: bool) -> State:
        return State(*self.best) if best else self.state

    def factors(self, best: bool = True) -> tuple[Array, Array, Array, Array]:
        """The factors of the whole M.

        Parameters
        ----------
        best : bool
            The best ones seen (of the smallest ‖M−UV‖, or cost where the solver has penalties); otherwise the current ones.

        Returns
        -------
        U, V, X, Y : array
            The factors in their sets, and their free copies.
        """
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
        if not math.isfinite(frame.residual_uv + frame.residual_xy):
            self.stop_reason = "diverged"
        elif value < self._best_value:
            self._best_value = value
            self.best_uv, self.best_xy, self.best_iteration = frame.residual_uv, frame.residual_xy, self.iterations + 1
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
        level = abs(previous_xy - frame.residual_xy) <= tol * previous_xy and not self.solver.judged_by_change
        quiet = tol > 0 and (level or frame.change <= tol)
        self._settled = self._settled + 1 if quiet and math.isfinite(previous_xy) else 0
        solved = self.best_uv <= self._rules.patience.target * self.problem.matrix.norm
        astray = frame.residual_xy > ASTRAY * self.problem.matrix.norm > 0
        stuck = (settled := self._settled >= SETTLED) or self._stagnates()
        more_starts = not solved and self.start + 1 < self.limits.restarts
        done = self.iterations - self._start_iteration
        left = self.limits.max_iter - done
        descends = self.solver.descends
        if left <= 0:
            reason = "converged" if settled else "iteration limit"
        elif descends and left == self._rules.reserve and (not self._descending or self._best_value < frame.residual_uv):
            return self._descend("the last iterations improve the best factors", *self.best)
        elif descends and not self._descending and (stuck or astray or self._searched >= self._rules.search_length):
            why = "stagnation: " if stuck else "X and Y run away: " if astray else ""
            return self._descend(f"{why}U and V are improved themselves", self.state.W, self.state.Z)
        elif stuck and not solved and self._kicks_help and left > 2 * self._rules.reserve:
            return self._kick()
        elif settled:
            reason = "converged"
        elif stuck and more_starts:
            reason = "gave up"
        else:
            return
        if more_starts:
            self.start += 1
            self._list(Event(self.iterations, "restart", f"start {self.start + 1} of {self.limits.restarts} ({reason})"))
            self._begin()
        else:
            self.stop_reason = reason

    @property
    def _searched(self) -> int:
        """Iterations since the start, the last kick or edit, or the beginning of a descent."""
        return self.iterations - self._window_first

    @property
    def _descending(self) -> bool:
        return bool(self.state.numbers.get("descending"))

    def _stagnates(self) -> bool:
        """The best ‖M−UV‖ of the last window is hardly below that of the window before.

        A descent, which never grows, is judged sooner, or by (9) alone.
        """
        if self._descending and self._rules.by_tolerance:
            return False
        window, enough = self._rules.patience.window, self._rules.patience.stagnation
        if self._descending:
            window, enough = max(2, window // 5), enough / 2.5
        if self._searched < 2 * window:
            return False
        recent = self.history.recent(2 * window)
        return bool(recent[window:].min() >= (1 - enough) * recent[:window].min())

    @property
    def _kicks_help(self) -> bool:
        return self._rules.kicks and not self.solver.gives_up(self.problem, self.state)

    def _kick(self) -> None:
        W, Z = self.best if self.solver.descends else (self.state.W, self.state.Z)
        self.state = self.solver.kick(self.problem, self.state, W, Z, self.rng)
        self.state.scratch["kept"] = self.best
        self._new_window()
        anew = "looser sets for a while, or a component or Y begins anew" if self.solver.descends else "Y begins anew near V"
        self._list(Event(self.iterations, "kick", f"stuck above the target: {anew}"))

    def _descend(self, why: str, W: Array, Z: Array) -> None:
        self.state = self.solver.begin_descent(self.problem, self.state, W, Z)
        self.state.scratch["kept"] = self.best
        self._new_window()
        self._list(Event(self.iterations, "descent", why))

    def _new_window(self) -> None:
        """Stagnation is judged from here on."""
        self._window_first = self.iterations
        self._settled = 0

    def _list(self, event: Event) -> None:
        """Remember what happened by itself, as long as there is not too much of it."""
        self._listed += 1
        if self._listed <= MOST_EVENTS:
            self.events.append(event)
        elif self._listed == MOST_EVENTS + 1:
            text = f"after {MOST_EVENTS:,} kicks, descents and new starts, more are not listed"
            self.events.append(Event(event.iteration, "unlisted", text))

    @property
    def moved(self) -> bool:
        """A kick or a new start has just changed the factors: the last row of the history speaks of others."""
        here = self.events[-1].kind if self.events and self.events[-1].iteration == self.iterations else ""
        return 0 < self.iterations == self._window_first and here not in {"edit", "descent"}

    def finish(self, callback: Callable[[Run], object] | None = None, should_stop: Callable[[], bool] | None = None) -> Run:
        """Iterate to the end.

        Parameters
        ----------
        callback : callable, optional
            `callback(run)` is called after each iteration, its time not counted; something true ends the run as cancelled.
        should_stop : callable, optional
            Asked after each iteration; something true ends the run as cancelled.

        Returns
        -------
        Run
            The run itself.
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
            self.best_xy = self.history.last("residual_xy") if self.iterations else np.nan
        solver.set_numbers(self.state, numbers)
        self.problem, self.solver, self.limits = problem, solver, limits
        self._set_rules()
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
            state.numbers.update({name: value for name, value in self.state.numbers.items() if name in solver.taken_along})
            state = solver.retuned(problem, state, self.solver)
        return state

    # -- checkpoints -------------------------------------------------------------------------

    def packed(self, past: bool = True) -> dict[str, Array]:
        """Everything needed to go on bit for bit, as named arrays; without its `past` no rows, and only the number of events."""
        meta = {
            "counters": {name: getattr(self, name) for name in (*COUNTERS, *LATER_COUNTERS)},
            "rng": self.rng.bit_generator.state,
            "events": [asdict(e) for e in self.events] if past else len(self.events),
            "seed": self.seed,
        }
        stored = {name: rows for name, rows in self.history.packed().items() if past or name != "history"}
        best = {"best_W": self.best[0], "best_Z": self.best[1]}
        return {"meta": np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8), **best, **stored, **pack_state(self.state)}

    def checkpoint(self, file: str | Path | BinaryIO) -> None:
        """`packed`, as NPZ without pickle."""
        np.savez(file, **self.packed())  # type: ignore[arg-type]

    @classmethod
    def resume(
        cls, file: Checkpointed, problem: Problem, solver: Solver, limits: Limits | None = None, bounded: bool = False
    ) -> Run:
        """The run that `checkpoint` stored or `packed` gave, ready to go on."""
        arrays = dict(file) if isinstance(file, Mapping) else _loaded(file)
        meta: dict[str, Any] = json.loads(arrays["meta"].tobytes())
        m, n = problem.matrix.shape
        if arrays["W"].shape != (2 * problem.rank, m) or arrays["Z"].shape != (2 * problem.rank, n):
            raise InvalidInput("checkpoint", "was made for other data or another rank")
        run = cls(problem, solver, limits, seed=int(meta["seed"]))
        for name, value in meta["counters"].items():
            setattr(run, name, value)
        run.history = History.unpacked(arrays, bounded)
        run._set_rules()
        if "best_xy" not in meta["counters"] and run.best_iteration:
            run.best_xy = float(arrays["history"][run.best_iteration - 1, COLUMNS.index("residual_xy")])
        run.events = [Event(**e) for e in meta["events"]]
        run._listed = sum(e.kind in (*BY_ITSELF, "unlisted") for e in run.events)
        run.rng.bit_generator.state = meta["rng"]
        run.state = unpack_state(arrays)
        run.best = (arrays["best_W"], arrays["best_Z"])
        run.state.scratch["kept"] = run.best
        run._best_value = run._value_of_best()
        return run


def _loaded(file: str | Path | BinaryIO | bytes) -> dict[str, Array]:
    with np.load(io.BytesIO(file) if isinstance(file, bytes) else file, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


__all__ = ["COLUMNS", "Case", "History", "Limits", "Run"]
