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
            descend(Ut, mask_u, M.right(V, Ut), V @ V.T, signs[0])
        left = M.left(Ut, Ut, V)
        if signs[1] is not None:
            descend(V, mask_v, left, Ut @ Ut.T, signs[1])
        before, residual = residual, M.residual_from(Ut, V, left, Ut @ Ut.T, V @ V.T)
        if before - residual <= QUIET * residual:
            break
    W, Z = found.W.copy(), found.Z.copy()
    W[p:], Z[p:] = Ut, V
    if not splits:
        W[:p], Z[:p] = Ut, V
    return Polished(State(W, Z), residual, done)


def descend(rows: Array, mask: Array, target: Array, gram: Array, sign: str) -> None:
    """One sweep of exact minimisation over each row of a factor, in place and on its support."""
    for j in range(len(rows)):
        curvature = gram[j, j]
        if curvature <= 0:
            continue
        new = rows[j] + (target[j] - gram[j] @ rows) / curvature
        if sign == "nonnegative":
            np.maximum(new, 0, out=new)
        rows[j] = new * mask[j]
