"""A final polish: coordinate descent on the supports that a run has found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from semf_core.solvers.base import Array, Problem, State

QUIET = 1e-7
"""Relative progress of a sweep below which polishing ends."""


@dataclass(frozen=True)
class Polished:
    state: State
    residual_uv: float
    sweeps: int
    why: str = ""


def polish(problem: Problem, found: State, sweeps: int, splits: bool) -> Polished:
    """Minimise ‖M−UV‖² over U and V with their zeros held at zero (HALS, one component after another).

    A factor whose set is more than a support and signs stays as it is, so the result is feasible. Where
    nothing is split, X and Y stay what they are, the same as U and V.
    """
    M, p = problem.matrix, found.rank
    signs = (problem.x_set.polish_sign, problem.y_set.polish_sign)
    if signs == (None, None):
        return Polished(found, np.inf, 0, "neither factor can be polished: their sets fix more than supports and signs")
    Ut, V = found.W[p:].copy(), found.Z[p:].copy()
    mask_u = Ut != 0 if problem.x_set.binds_support else np.ones(len(Ut), bool)
    mask_v = V != 0 if problem.y_set.binds_support else np.ones(len(V), bool)
    residual, done = np.inf, 0
    while done < sweeps:
        done += 1
        if signs[0] is not None:
            _sweep(Ut, mask_u, M.right(V, Ut), V @ V.T, signs[0])
        left = M.left(Ut, Ut, V)
        if signs[1] is not None:
            _sweep(V, mask_v, left, Ut @ Ut.T, signs[1])
        before, residual = residual, M.residual_from(Ut, V, left, Ut @ Ut.T, V @ V.T)
        if before - residual <= QUIET * residual:
            break
    W, Z = found.W.copy(), found.Z.copy()
    W[p:], Z[p:] = Ut, V
    if not splits:
        W[:p], Z[:p] = Ut, V
    return Polished(State(W, Z), residual, done)


def _sweep(rows: Array, mask: Array, target: Array, gram: Array, sign: str) -> None:
    """One sweep as `descend` makes it, in the arithmetic of the first release: polished snapshots are reproduced bit for bit."""
    for j in range(len(rows)):
        curvature = gram[j, j]
        if curvature <= 0:
            continue
        new = rows[j] + (target[j] - gram[j] @ rows) / curvature
        if sign == "nonnegative":
            np.maximum(new, 0, out=new)
        rows[j] = new * mask[j]


def descend(rows: Array, mask: Array | None, target: Array, gram: Array, sign: str, most: int = 1, quiet: float = 0.0) -> int:
    """Sweeps of exact minimisation of ½⟨gram, RRᵀ⟩ − ⟨target, R⟩ over each row of R in turn, in place and on its support.

    They end after `most`, or with one that changes R by at most `quiet` times what the first changed; returns how
    many there were.
    """
    live = np.flatnonzero(gram.diagonal() > 0)
    curvature = gram[live, live][:, None]
    coupling, wanted = gram[live] / curvature, target[live] / curvature
    coupling[np.arange(live.size), live] = 0
    line, before, first = np.empty_like(rows[0]), np.empty_like(rows) if most > 1 else None, 0.0
    for sweep in range(1, most + 1):
        if before is not None:
            before[:] = rows
        for j, weights, value in zip(live, coupling, wanted, strict=True):
            np.dot(weights, rows, out=line)
            np.subtract(value, line, out=line)
            if sign == "nonnegative":
                np.maximum(line, 0, out=line)
            rows[j] = line if mask is None else line * mask[j]
        if before is not None:
            before -= rows
            change = float(np.vdot(before, before))
            first = change if sweep == 1 else first
            if change <= quiet**2 * first:
                return sweep
    return most
