"""Descent on the factors themselves: U and V in turn, extrapolated, never increasing ‖M−UV‖.

ADMM explores well and converges slowly at the end, because U and V are only projections of what it minimises over.
From where it stagnates, alternating minimisation over U ∈ 𝒳 and V ∈ 𝒴 goes down to a local minimum, with the
extrapolation of Ang and Gillis (2019): a step along the last change, shortened and taken back where ‖M−UV‖ grew.
Where both sets are convex, the extrapolated U is made feasible and is the answer itself, which saves a product with M.

A factor without constraint is solved for, a nonnegative one is swept by HALS, one whose samples have few nonzeros is
coded anew (`recoding.py`), components that are bound one by one become the best member each, and any other factor takes
projected gradient steps of length 1/L (accelerated where its set is convex) and, where the set leaves entries free on
a fixed support, one sweep on it. Unit norm of the components of one factor is no constraint where the other may take
any scale: it is left out of the update and restored by moving the scale across. All of it scales with M exactly.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from semf_core.mathematics.cholesky import solve_shifted
from semf_core.mathematics.matrix import DataMatrix
from semf_core.sets import Nonnegative, StructureSet, UnitNorm, VectorSet, combine, members_of
from semf_core.solvers.alternating import QUIET, inner_steps, misfits
from semf_core.solvers.base import Array, HalfStep, Problem, State
from semf_core.solvers.half_steps import moved, relative_change
from semf_core.solvers.polish import descend
from semf_core.solvers.recoding import counts_of, recoded
from semf_core.solvers.starts import takes_negative

FIRST_MOMENTUM, LONGEST = 0.5, 1.0
GROWTH, LIMIT_GROWTH, DECAY, SHORTEST = 1.05, 1.01, 1.5, 0.01
"""The extrapolation: where it starts, its limit, the factors by which both grow and by which it shrinks, its least length."""
SWEEPS, STEPS, CONVEX_STEPS = 10, 5, 15
"""Updates of one factor at most before it is the other's turn: of a swept one between convex sets, of any other, and of
one in a convex set that takes gradient steps: with few of those the descent comes to rest well above the minimum."""

LOOSE_TURNS = (2, 8)
"""Turns between looser sets, from so many to fewer than so many."""
LEAST_SIZE = 1e-3
"""Components smaller than this share of the largest one are as likely to begin anew as one of this share."""

HALF_STEPS = (
    HalfStep("U", r"U_+ \approx \arg\min_{U\in\mathcal X}\|M-U\hat V\|_F",
             "a turn of the descent on the feasible factors themselves; V̂ is V, extrapolated along its last step"),
    HalfStep("V", r"V_+ \approx \arg\min_{V\in\mathcal Y}\|M-\hat U_+V\|_F",
             "the same for V; where ‖M−UV‖ would grow, both stay and the next step is shorter"),
)  # fmt: skip
"""What a turn does, for those who look at it."""
LOOSE_STEPS = (
    HalfStep("X", r"X_+ \approx \arg\min_{X\in\mathcal X'}\|M-XY\|_F",
             "for a few turns X may have more nonzeros than 𝒳 allows: in 𝒳', which is looser, other supports are within reach"),
    HalfStep("Y", r"Y_+ \approx \arg\min_{Y\in\mathcal Y'}\|M-X_+Y\|_F", "the same for Y"),
    HalfStep("U", r"U_+ = \mathcal{P}_{\mathcal{X}}(X_+)", "the nearest point of 𝒳"),
    HalfStep("V", r"V_+ \approx \arg\min_{V\in\mathcal Y}\|M-U_+V\|_F", "begun from the nearest point of 𝒴"),
)  # fmt: skip
"""And between looser sets."""


def begin_descent(problem: Problem, state: State, W: Array, Z: Array) -> State:
    """Descend from the feasible factors of W and Z; X is U and Y is V from here on.

    The multipliers are not needed any more: their memory holds the extrapolated factors, or where U is the
    extrapolated one itself, what it was extrapolated from.
    """
    p = state.rank
    state.W, state.Z = W.copy(), Z.copy()
    state.W[p:], state.Z[p:] = revived(problem, W[p:], Z[p:])
    for factor, name in ((state.W, "Lam"), (state.Z, "Pi")):
        factor[:p] = factor[p:]
        state.arrays[name][:] = factor[p:]
    state.scratch.clear()
    residual = problem.matrix.residual(state.W[p:], state.Z[p:])
    state.numbers.update(descending=1, momentum=FIRST_MOMENTUM, momentum_limit=LONGEST, case=0, residual_uv=residual)
    state.numbers.update(loose=0, looseness=0.0)
    return state


def descent_step(problem: Problem, state: State) -> State:
    """One turn of U and of V, or of X and of Y between looser sets."""
    if state.numbers.get("loose"):
        return _loose_turn(problem, state)
    if state.numbers.get("looseness"):
        begin_descent(problem, state, state.W, state.Z)
    M, p, numbers = problem.matrix, state.rank, state.numbers
    momentum = M.dtype.type(numbers["momentum"])
    views = _views(problem, state)
    direct = views[0].convex and views[1].convex and not (views[0].unit or views[1].unit)
    inner = inner_steps(M, p, SWEEPS if direct else STEPS)
    kept_x, ahead_y = state.arrays["Lam"], state.arrays["Pi"]
    W, Z = state.free_buffers(lambda: (np.empty_like(state.W), np.empty_like(state.Z)))
    before_u, before_v = state.W[p:], state.Z[p:]
    ahead_x = before_u if direct else kept_x

    found = updated(ahead_x, M.right(ahead_y, ahead_x), ahead_y @ ahead_y.T, views[0], inner[0])
    np.subtract(found, kept_x if direct else before_u, out=W[:p])
    W[:p] *= momentum
    W[:p] += found
    if direct:
        W[:p] = views[0].project(W[:p])
    W[p:] = W[:p] if direct else found
    left, gram = M.left(W[:p] if direct else W, W[:p], ahead_y), W[:p] @ W[:p].T
    Z[p:] = updated(ahead_y, left[:p], gram, views[1], inner[1])
    residual = M.residual_from(W[p:], Z[p:], left[-p:], gram if direct else W[p:] @ W[p:].T, Z[p:] @ Z[p:].T)

    if residual <= numbers["residual_uv"]:
        np.subtract(Z[p:], before_v, out=Z[:p])
        Z[:p] *= momentum
        Z[:p] += Z[p:]
        kept_x[:], ahead_y[:] = found if direct else W[:p], Z[:p]
        if views[0].unit:
            _restore_unit_norm((W[p:], kept_x), (Z[p:], ahead_y), before_u)
        elif views[1].unit:
            _restore_unit_norm((Z[p:], ahead_y), (W[p:], kept_x), before_v)
        change = max(relative_change(*moved(W[p:], before_u, W[:p])), relative_change(*moved(Z[p:], before_v, Z[:p])))
        W[:p], Z[:p] = W[p:], Z[p:]
        state.W, state.Z = W, Z
        limit = numbers["momentum_limit"]
        numbers.update(
            momentum=min(limit, GROWTH * numbers["momentum"]),
            momentum_limit=min(LONGEST, LIMIT_GROWTH * limit),
            residual_uv=residual,
            change=change,
        )
    else:
        kept_x[:], ahead_y[:] = before_u, before_v
        numbers.update(momentum_limit=numbers["momentum"], momentum=max(numbers["momentum"] / DECAY, SHORTEST), change=0.0)
    numbers.update(residual_xy=numbers["residual_uv"], gap_x=0.0, gap_y=0.0, case=0)
    return state


def _loose_turn(problem: Problem, state: State) -> State:
    """X and Y are improved in turn between looser sets; U and V are near them, in the sets themselves."""
    M, p, numbers = problem.matrix, state.rank, state.numbers
    views, loose = _views(problem, state), _loose_views(problem, state)
    inner = inner_steps(M, p, STEPS)
    W, Z = state.free_buffers(lambda: (np.empty_like(state.W), np.empty_like(state.Z)))
    X, Y = state.W[:p], state.Z[:p]

    W[:p] = updated(X, M.right(Y, X), Y @ Y.T, loose[0], inner[0])
    W[p:] = problem.x_set.project(W[:p].T).T
    left, gram_x, gram_u = M.left(W, W[:p], Y), W[:p] @ W[:p].T, W[p:] @ W[p:].T
    Z[:p] = updated(Y, left[:p], gram_x, loose[1], inner[1])
    Z[p:] = problem.y_set.project(updated(problem.y_set.project(Z[:p]), left[p:], gram_u, views[1], inner[1]))

    change = max(relative_change(*moved(new, old, np.empty_like(old))) for new, old in ((W[:p], X), (Z[:p], Y)))
    state.W, state.Z = W, Z
    numbers.update(
        residual_xy=M.residual_from(W[:p], Z[:p], left[:p], gram_x, Z[:p] @ Z[:p].T),
        residual_uv=M.residual_from(W[p:], Z[p:], left[p:], gram_u, Z[p:] @ Z[p:].T),
        gap_x=float(np.linalg.norm(W[:p] - W[p:])),
        gap_y=float(np.linalg.norm(Z[:p] - Z[p:])),
        change=change,
        case=0,
        loose=numbers["loose"] - 1,
    )
    return state


def _views(problem: Problem, state: State) -> tuple[FactorView, FactorView]:
    if "views" not in state.scratch:
        state.scratch["views"] = factor_views(problem.x_set, problem.y_set, state.rank)
    return state.scratch["views"]


def _loose_views(problem: Problem, state: State) -> tuple[FactorView, FactorView]:
    if "loose_views" not in state.scratch:
        (m, n), p, share = problem.matrix.shape, state.rank, state.numbers["looseness"]
        sets = problem.x_set.looser((m, p), share), problem.y_set.looser((p, n), share)
        state.scratch["loose_views"] = factor_views(*sets, p)
    return state.scratch["loose_views"]


def may_loosen(problem: Problem) -> bool:
    """Looser sets lead to better supports: of components, and of samples whose entries may be negative."""
    (m, n), p = problem.matrix.shape, problem.rank
    sets = (problem.x_set, (m, p)), (problem.y_set, (p, n))
    views = factor_views(problem.x_set, problem.y_set, p)
    return any(
        (view.counts is None or not view.counts.nonnegative) and whole.looser(shape, 1.0) != whole
        for view, (whole, shape) in zip(views, sets, strict=True)
    )


def begin_loosely(problem: Problem, state: State, W: Array, Z: Array, rng: np.random.Generator) -> State:
    """Descend from these factors, for the first turns between sets that are looser by a random share."""
    state = begin_descent(problem, state, W, Z)
    state.numbers.update(loose=int(rng.integers(*LOOSE_TURNS)), looseness=1 - rng.random())
    return state


def revived(problem: Problem, Ut: Array, V: Array) -> tuple[Array, Array]:
    """U and V with components that had died begun anew where the fit is worst, if ‖M−UV‖ is the smaller for it.

    Where a component is zero in one factor, no update of the other wakes it.
    """
    M, live = problem.matrix, Ut.any(axis=1) & V.any(axis=1)
    if live.all() or not live.any() or not M.identity:
        return Ut, V
    worst = np.argsort(-_misfits(M, Ut, V), kind="stable")[: np.count_nonzero(~live)]
    new_U, new_V = _begun_anew(problem, Ut, V, np.flatnonzero(~live)[: len(worst)], worst)
    return (new_U, new_V) if M.residual(new_U, new_V) < M.residual(Ut, V) else (Ut, V)


def may_exchange(problem: Problem) -> bool:
    """Components are parts that samples are made of, or choose among: where one begins anew, others take over what it did."""
    views = factor_views(problem.x_set, problem.y_set, problem.rank)
    parts = not takes_negative(problem.y_set, (problem.rank, problem.matrix.shape[1]))
    supports = any(view.binds_support for view in views)
    chosen = any(view.counts is not None for view in views) or (parts and (supports or problem.convex))
    return problem.rank > 1 and problem.matrix.identity and chosen


def exchanged(problem: Problem, Ut: Array, V: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """U and V with one component begun anew from a sample, the likelier the worse it is fitted and the smaller the component."""
    missing = np.maximum(_misfits(problem.matrix, Ut, V), 0).astype(np.float64)
    total = missing.sum()
    sample = rng.choice(len(missing), size=1, p=missing / total if 0 < total < np.inf else None)
    sizes = (np.linalg.norm(Ut, axis=1) * np.linalg.norm(V, axis=1)).astype(np.float64)
    chances = 1 / np.maximum(sizes, LEAST_SIZE * sizes.max()) if sizes.any() and problem.convex else np.ones(len(V))
    return _begun_anew(problem, Ut, V, rng.choice(len(V), size=1, p=chances / chances.sum()), sample)


def _misfits(M: DataMatrix, Ut: Array, V: Array) -> Array:
    return misfits(M.squares()[1], V, M.left(Ut, Ut, V), Ut @ Ut.T)


def _begun_anew(problem: Problem, Ut: Array, V: Array, which: Array, samples: Array) -> tuple[Array, Array]:
    """As in K-SVD these components become these samples, as long as the other parts are on average, and V is found anew."""
    M = problem.matrix
    chosen = np.zeros((len(samples), V.shape[1]), V.dtype)
    chosen[np.arange(len(samples)), samples] = 1
    parts = M.right(chosen, Ut)
    lengths = np.linalg.norm(parts, axis=1, keepdims=True)
    others = np.delete(np.linalg.norm(Ut, axis=1), which)
    usual = others[others > 0].mean() if others.any() else lengths
    new_U, new_V = Ut.copy(), V.copy()
    new_U[which] = parts * (usual / np.where(lengths > 0, lengths, np.inf))
    new_V[which] = 0
    new_U = np.ascontiguousarray(problem.x_set.project(new_U.T).T)
    view = factor_views(problem.x_set, problem.y_set, len(V))[1]
    return new_U, problem.y_set.project(updated(new_V, M.left(new_U, new_U, V), new_U @ new_U.T, view, SWEEPS))


def _restore_unit_norm(own: tuple[Array, Array], other: tuple[Array, Array], before: Array) -> None:
    """Components of unit norm again, their lengths given to those of the other factor, in place; the product stays.

    A component that has died, because the other factor does not use it, stays as it was before.
    """
    rows = own[0]
    dead = ~rows.any(axis=1)
    rows[dead] = before[dead]
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    for shrunk, grown in zip(own, other, strict=True):
        shrunk /= length
        grown *= length


class FactorView:
    """What the descent asks of the set of a factor, on its components as rows."""

    def __init__(self, whole: StructureSet, transposed: bool, unit: bool, rank: int) -> None:
        self._set = combine(tuple(s for s in members_of(whole) if not _fixes_length(s, transposed))) if unit else whole
        self._transposed = transposed
        self.unit = unit
        """Unit norm of the components is restored afterwards."""
        self.counts = counts_of(self._set, transposed, rank)
        self.by_component = _binds_components(self._set, transposed)
        self.convex, self.sign, self.binds_support = self._set.convex, self._set.polish_sign, self._set.binds_support

    def project(self, A: Array) -> Array:
        return self._set.project(A.T).T if self._transposed else self._set.project(A)

    def project_component(self, row: Array) -> Array:
        """The same for one component alone, where the set binds each by itself."""
        return self.project(row[None])[0]


def factor_views(x_set: StructureSet, y_set: StructureSet, rank: int) -> tuple[FactorView, FactorView]:
    """The sets of U and V for the descent."""
    unit_x, unit_y = _unit_is_free(x_set, y_set, True), _unit_is_free(y_set, x_set, False)
    return FactorView(x_set, True, unit_x, rank), FactorView(y_set, False, unit_y and not unit_x, rank)


def _fixes_length(s: StructureSet, transposed: bool) -> bool:
    return isinstance(s, UnitNorm) and s.binds_all_entries and s.axis == ("column" if transposed else "row")


def _binds_components(whole: StructureSet, transposed: bool) -> bool:
    """The set asks the same of each component, and nothing of several together; its projection is exact."""
    along = "column" if transposed else "row"
    return whole.exact and all(
        isinstance(s, VectorSet) and s.columns is None and (s.axis == along or isinstance(s, Nonnegative)) and s.entries is None
        for s in members_of(whole)
    )


def _unit_is_free(own: StructureSet, other: StructureSet, transposed: bool) -> bool:
    """Unit norm of every component is among the own constraints, and the others allow any positive scale of a component."""
    members = members_of(own)
    rest = combine(tuple(s for s in members if not _fixes_length(s, transposed)))
    return any(_fixes_length(s, transposed) for s in members) and None not in (rest.polish_sign, other.polish_sign)


def is_swept(x_set: StructureSet, y_set: StructureSet) -> bool:
    """Both factors are free or nonnegative, no more: sweeps minimise over them so well that a search has nothing to add."""
    return all(s.polish_sign is not None and not s.binds_support and s.convex for s in (x_set, y_set))


def updated(factor: Array, target: Array, gram: Array, view: FactorView, inner: int) -> Array:
    """A new factor F (p×N) in its set with a smaller ½⟨F, gram·F⟩ − ⟨target, F⟩."""
    sign, p = view.sign, len(gram)
    trace = float(gram.trace())
    if trace <= 0:
        return np.ascontiguousarray(view.project(factor))
    if sign == "free" and not view.binds_support:
        out = np.array(target, order="C")
        solve_shifted(gram, p * np.finfo(gram.dtype).eps * trace, out)
        return out
    if sign == "nonnegative" and not view.binds_support:
        out = np.maximum(factor, 0)
        descend(out, None, target, gram, sign, inner, QUIET)
        return out
    if view.counts is not None:
        return recoded(np.ascontiguousarray(view.project(factor)), target, gram, view.counts)
    if view.by_component:
        return _by_component(factor, target, gram, view, min(inner, STEPS))
    steps = CONVEX_STEPS if view.convex else min(inner, STEPS)
    out = np.ascontiguousarray(_projected_gradient(factor, target, gram, view, steps))
    if sign is not None:
        descend(out, out != 0, target, gram, sign)
    return out


def _by_component(factor: Array, target: Array, gram: Array, view: FactorView, sweeps: int) -> Array:
    """Each component in turn becomes the best one for the others as they are: its curvature is the same in all directions."""
    out = np.array(factor, order="C")
    for _ in range(sweeps):
        for j in np.flatnonzero(gram.diagonal() > 0):
            out[j] = view.project_component(out[j] + (target[j] - gram[j] @ out) / gram[j, j])
    return out


def _projected_gradient(factor: Array, target: Array, gram: Array, view: FactorView, steps: int) -> Array:
    """Steps of length 1/L, L the largest eigenvalue of gram.

    Where the set is convex, with Nesterov's extrapolation, and until a step is a small share of the longest one.
    """
    p = len(gram)
    length = gram.dtype.type(1 / eigh(gram, eigvals_only=True, subset_by_index=[p - 1, p - 1])[0])
    here, ahead, t, longest = factor, factor, 1.0, 0.0
    for _ in range(steps):
        new = view.project(ahead - length * (gram @ ahead - target))
        if view.convex:
            following = (1 + np.sqrt(1 + 4 * t * t)) / 2
            step = new - here
            ahead = new + gram.dtype.type((t - 1) / following) * step
            t, length_now = following, float(np.linalg.norm(step))
            longest = max(longest, length_now)
            if length_now <= QUIET * longest:
                return new
        else:
            ahead = new
        here = new
    return here
