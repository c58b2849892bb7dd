"""How a run ended, in words that a user can act on: the same sentence in Python, on the command line and on every page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from semf_core.common.notation import number
from semf_core.mathematics.matrix import DataMatrix, DenseMatrix, SparseMatrix
from semf_core.solvers.relative import LEAST, MOST, RelativeADMM
from semf_core.solvers.run import COLUMNS, Run

Array = np.ndarray
RECENT = 100
"""Iterations over which the last progress is measured."""
FALLING = 0.002
"""More relative progress than this over the last of them, and the limit came too early."""
FAR, WIDE = 2.0, 0.1
"""Well above the best of the rank: this many times its error, and this fraction of ‖M‖ more."""
OVERSAMPLED, POWERS = 8, 3
"""The sketch of the singular values: columns beyond the rank, and passes over M."""
NEAR = 1.005
"""As good as the best of the rank: at most this many times its error."""
MORE_STARTS = 5
WORTHWHILE = 100
"""Fewer iterations are not suggested."""
REASONS = {
    "converged": "Settled: the iterates no longer move.",
    "gave up": "Gave up: every start stagnated above the target.",
    "cancelled": "Stopped by hand.",
    "diverged": "Diverged: the numbers left the range of floating point; rescale the data, or take other penalties.",
    "complete": "Complete: the algorithm computes its answer directly.",
    "running": "Still running.",
}


@dataclass(frozen=True)
class Suggestion:
    """Something to try: its name on a button, and the values it changes in the model's JSON ("limits.restarts": 5)."""

    title: str
    changes: dict[str, Any]


@dataclass(frozen=True)
class Ending:
    """Sentences on how a run ended, and what could be tried next."""

    sentences: tuple[str, ...]
    suggestions: tuple[Suggestion, ...] = ()

    @property
    def text(self) -> str:
        return " ".join(self.sentences)

    def to_dict(self) -> dict[str, Any]:
        return {"ending": self.text, "suggestions": [{"title": s.title, "changes": s.changes} for s in self.suggestions]}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Ending:
        """What `to_dict` stored beside other values; results from before it was stored have only a reason."""
        text = stored.get("ending") or words_for(stored["stop_reason"])
        return cls((text,), tuple(Suggestion(s["title"], s["changes"]) for s in stored.get("suggestions", ())))


class PenaltyAtBound(NamedTuple):
    """A relative penalty that Algorithm 2 could not move further: α or β, and whether down or up."""

    symbol: str
    low: bool


@dataclass(frozen=True)
class Finish:
    """What an ending is told from; all of it is kept with a result."""

    stop_reason: str
    history: Array
    numbers: Array
    """The rows of the history and the iterations they are of; a long one is thinned out."""
    U: Array
    V: Array
    residual: float
    norm: float
    rank_residual: float
    """‖M − M_p‖ of the best matrix of this rank, NaN where it is not known."""
    max_iter: int
    first: int
    """The iteration after which the limit counts: the last start or the last change of the model."""
    starts: int
    bound_in_size: bool = False
    """The sets of both factors leave out large multiples of their members."""
    penalties: tuple[PenaltyAtBound, ...] = ()
    remarks: tuple[str, ...] = ()
    """What the algorithm itself has to say."""


def ending(finish: Finish) -> Ending:
    """The sentences, most important first."""
    progress = _recent_progress(finish)
    at_limit = finish.stop_reason == "iteration limit"
    falling = at_limit and (progress is None or progress > FALLING)
    parts = [_first(finish, progress) if at_limit else Ending((words_for(finish.stop_reason),))]
    if finish.stop_reason != "diverged":
        parts += [_of_fit(finish, falling), _of_components(finish)]
    parts += [_of_penalty(penalty) for penalty in finish.penalties]
    sentences = [sentence for part in parts for sentence in part.sentences]
    suggestions = {suggestion.title: suggestion for part in parts for suggestion in part.suggestions}
    return Ending((*sentences, *finish.remarks), tuple(suggestions.values()))


def _first(finish: Finish, progress: float | None) -> Ending:
    """Whether more iterations would have helped; None of progress if there were too few to tell."""
    since = f" since iteration {finish.first:,}" if finish.first else ""
    limit = f"{finish.max_iter:,} iteration" + ("s" if finish.max_iter > 1 else "") + since
    more = max(2 * finish.max_iter, WORTHWHILE)
    suggestion = Suggestion(f"{more:,} iterations", {"limits.max_iter": more})
    if progress is None:
        return Ending(
            (f"Stopped at the limit of {limit}, too soon to tell what comes of it; allow more iterations.",), (suggestion,)
        )
    if progress <= FALLING:
        return Ending((f"Settled within the {limit}: ‖M−UV‖ hardly fell at the end.",))
    numbers = finish.numbers[finish.numbers > finish.first]
    over = int(numbers[-1] - numbers[-1 - min(RECENT, len(numbers) // 2)])
    sentence = f"Still falling at the limit of {limit}: ‖M−UV‖ by {_percent(progress)} in the last {over}; allow more iterations."
    return Ending((sentence,), (suggestion,))


def _of_fit(finish: Finish, falling: bool) -> Ending:
    """How near the fit is to the best that the rank allows; nothing where it still falls, or where it is well in between."""
    own, best = (number(value / (finish.norm or 1), 3) for value in (finish.residual, finish.rank_residual))
    rank, most = finish.U.shape[1], min(len(finish.U), finish.V.shape[1])
    if not finish.norm:
        return Ending(("All of M is zero: there is nothing to fit.",))
    if falling or len(_dead(finish)) == rank:
        return Ending(())
    if _stuck(finish):
        advice = (
            "Both factors are bound in size, so that UV may not reach that of M: rescale the data, or free one of them."
            if finish.bound_in_size
            else "Either the constraints forbid more, or the start was unlucky: try more starts, or loosen one constraint."
        )
        sentence = f"Stuck well above what this rank allows: relative error {own}, and {best} without constraints. {advice}"
        starts = Suggestion(f"{MORE_STARTS} starts", {"limits.restarts": MORE_STARTS})
        return Ending((sentence,), (starts,) if finish.starts < MORE_STARTS and not finish.bound_in_size else ())
    if rank < most and finish.residual <= NEAR * finish.rank_residual and finish.rank_residual > WIDE * finish.norm:
        sentence = f"No factors of rank {rank} come nearer, relative error {own}: for a closer fit raise the rank."
        return Ending((sentence,), (Suggestion(f"rank {min(2 * rank, most)}", {"rank": min(2 * rank, most)}),))
    return Ending(())


def _of_components(finish: Finish) -> Ending:
    """Components that are all zero."""
    dead, rank = _dead(finish), finish.U.shape[1]
    if not dead or not finish.norm:
        return Ending(())
    if len(dead) == rank:
        return Ending(
            (
                "Every component is zero: nothing that the constraints allow is nearer to M than zero. "
                "Check the signs of the data, or loosen a constraint.",
            )
        )
    which = f"Component {dead[0]}" if len(dead) == 1 else "Components " + ", ".join(map(str, dead))
    sentence = f"{which} died (all zero): lower the rank by {len(dead)}, or start from another seed."
    return Ending((sentence,), (Suggestion(f"rank {rank - len(dead)}", {"rank": rank - len(dead)}),))


def _dead(finish: Finish) -> list[int]:
    """The components that add nothing to UV, counted from 1."""
    return [j + 1 for j in range(finish.U.shape[1]) if not (finish.U[:, j].any() and finish.V[j].any())]


def _of_penalty(penalty: PenaltyAtBound) -> Ending:
    """Another start of Algorithm 2 takes another way: one nearer to where it wanted to go, with room to move."""
    c = 10 * LEAST if penalty.low else MOST / 10
    bound = "lower" if penalty.low else "upper"
    sentence = f"{penalty.symbol} ended at its {bound} bound, where it adapts no more: try the starting c = {c:g} (scale)."
    return Ending((sentence,), (Suggestion(f"c = {c:g}", {"solver.scale": c}),))


def words_for(stop_reason: str) -> str:
    """A sentence for the reason alone."""
    return REASONS.get(stop_reason, f"Ended: {stop_reason}.")


def _stuck(finish: Finish) -> bool:
    room = finish.residual - finish.rank_residual  # False for NaN
    return finish.stop_reason != "diverged" and room > WIDE * finish.norm and finish.residual > FAR * finish.rank_residual


def _recent_progress(finish: Finish) -> float | None:
    """By what fraction the smallest ‖M−UV‖ fell over the last iterations that the limit counts; None if there is but one."""
    values = finish.history[finish.numbers > finish.first, COLUMNS.index("residual_uv")]
    recent = min(RECENT, len(values) // 2)
    if not recent:
        return None
    if not np.isfinite(values).all():
        return 0.0
    before = float(values[:-recent].min())
    return max(0.0, 1 - float(values.min()) / before) if before > 0 else 0.0


def _percent(fraction: float) -> str:
    return f"{number(100 * fraction, 2)} %"


def finish_of(run: Run, U: Array, V: Array) -> Finish:
    """What the ending of a run is told from, its best factors being U and V."""
    return Finish(
        stop_reason=run.stop_reason or "running",
        history=run.history.table(),
        numbers=run.history.iteration,
        U=U,
        V=V,
        residual=float(run.best_uv),
        norm=run.problem.matrix.norm,
        rank_residual=rank_residual(run.problem.matrix, run.problem.rank),
        max_iter=run.limits.max_iter,
        first=run.start_iteration,
        starts=run.start + 1,
        bound_in_size="free" not in {s.size for s in run.problem.whole_sets},
        penalties=penalties_at_bounds(run),
        remarks=run.solver.remarks(run.problem, run.state, float(run.best_uv), (U, V)),
    )


def penalties_at_bounds(run: Run) -> tuple[PenaltyAtBound, ...]:
    """The relative penalties that Algorithm 2 could not move further."""
    if not isinstance(run.solver, RelativeADMM):
        return ()
    numbers, found = run.state.numbers, []
    for symbol, penalty, size in (("α", "alpha", "size_y"), ("β", "beta", "size_x")):
        c = numbers[penalty] / numbers[size] if numbers.get(size) else 1.0
        if c <= LEAST or c >= MOST:
            found.append(PenaltyAtBound(symbol, c <= LEAST))
    return tuple(found)


def rank_residual(M: DataMatrix, rank: int) -> float:
    """‖M − M_p‖ of the best matrix of rank p, from above by a sketch; NaN where M is incomplete or on other computers."""
    if not isinstance(M, DenseMatrix | SparseMatrix):
        return np.nan
    wanted = min(rank + OVERSAMPLED, *M.shape)
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((M.shape[1], wanted)).astype(M.dtype))[0].T
    none = np.zeros((wanted, 0), M.dtype)
    for _ in range(POWERS):
        images = np.linalg.qr(M.right(np.ascontiguousarray(basis), none).T)[0].T
        projected = M.left(np.ascontiguousarray(images), none, none)
        basis = np.linalg.qr(projected.T)[0].T
    kept = float(np.square(np.linalg.svd(projected, compute_uv=False)[:rank].astype(np.float64)).sum())
    return float(np.sqrt(max(M.norm**2 - kept, 0.0)))
