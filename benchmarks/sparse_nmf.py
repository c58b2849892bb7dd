"""Sparse nonnegative factors: SeMF beside NMFℓ⁰ and TITAN, and sparseness fixed exactly by mixed-norm NMF."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.common import ORL_RANK, Array, Row, at_least, at_most, is_real, orl, parser, print_table
from semf_core.common.threads import blas_threads
from semf_core.datasets import Digits, Faces
from semf_core.factorization.problem import make_problem
from semf_core.mathematics.metrics import hoyer_sparseness, snr_db
from semf_core.sets import Nonnegative, Sparse
from semf_core.sets.hoyer import ratio_of, sparse_opt
from semf_core.solvers import ADMM, DEFAULT, CountedPartsNMF, InertialNMF, Limits, MixedNormNMF, Run, Solver, SparsenessNMF
from semf_core.solvers.nnls import nnls

SEMF_ITERATIONS, SEMF_SWEEPS = 250, 25
SEEDS = (0, 1, 2)
NEARLY = 0.01
COUNTED_ITERATIONS = 300
"""Thirty choices of the support, ten rounds on each: the settings of its authors."""
DIGITS_RANK, DIGITS_SHARE, DIGITS_STARTS = 15, 0.25, 8
INERTIAL = (0.25, 0.2662)
"""Seconds and error of TITAN on the digits that were measured elsewhere."""
MIXED_ITERATIONS = 40
RIVAL = (3.5, 0.1894)
"""Seconds and error of the best other program seen: block coordinate descent by the authors of Sparse-opt."""
THREE = (tuple(range(5)), tuple(range(5, 20)), tuple(range(20, 25)))


@dataclass(frozen=True)
class Level:
    """A share of nonzeros, the paper's SNR of NMFℓ⁰, and how much longer NMFℓ⁰ took than SeMF there."""

    share: float
    decibels: float
    ratio: float


LEVELS = (Level(0.33, 14.945, 5.2), Level(0.25, 14.832, 4.0), Level(0.10, 14.237, 1.7))


@dataclass(frozen=True)
class Timed:
    """A finished run: CPU seconds in all and after each iteration, and the SNR of its best feasible factors."""

    run: Run
    seconds: float
    after: Array
    decibels: float

    def seconds_until(self, decibels: float) -> float:
        """When the SNR was first reached; infinite if it never was."""
        reached = self.run.history.residual_uv <= self.run.problem.matrix.norm * 10 ** (-decibels / 20)
        return float(self.after[reached.argmax()]) if reached.any() else np.inf


def timed(
    M: Array,
    solver: Solver,
    limits: Limits,
    X: Sequence[object] = (),
    Y: Sequence[object] = (),
    seed: int = 0,
    rank: int = ORL_RANK,
) -> Timed:
    """One run, timed with everything that a user waits for."""
    began = time.process_time()
    run = Run(make_problem(M, rank, X, Y, solver=solver), solver, limits, seed)  # type: ignore[arg-type]
    after = []
    while run.stop_reason is None:
        run.advance()
        after.append(time.process_time() - began)
    run.complete()
    seconds = time.process_time() - began
    return Timed(run, seconds, np.array(after), snr_db(run.problem.matrix.norm, run.best_uv))


def counted(M: Array, level: Level, scored: bool, quick: bool) -> list[Row]:
    """SeMF and NMFℓ⁰ under the same count of nonzeros, the mean of a few seeds."""
    sets = ((Nonnegative(), Sparse(round(level.share * len(M)))), (Nonnegative(),))
    limits = Limits(max_iter=20 if quick else SEMF_ITERATIONS, tol=0, polish=SEMF_SWEEPS)
    longer = Limits(max_iter=20 if quick else COUNTED_ITERATIONS, tol=0)
    seeds = SEEDS[:1] if quick else SEEDS
    own = [timed(M, ADMM(), limits, *sets, seed=seed) for seed in seeds]
    others = [timed(M, CountedPartsNMF(share=level.share), longer, seed=seed) for seed in seeds]
    (ours, our_seconds), (theirs, their_seconds) = (
        np.mean([(found.decibels, found.seconds) for found in runs], axis=0) for runs in (own, others)
    )
    nearly = np.mean([found.seconds_until(found.decibels - NEARLY) for found in others])
    whats = (f"{level.share:.0%} nonzeros: SNR of NMFℓ⁰ in dB", "   SNR of SeMF in dB", "   seconds, NMFℓ⁰ / SeMF")
    values, goals = (theirs, ours, their_seconds / our_seconds), (level.decibels, theirs, LEVELS[-1].ratio)
    notes = (
        f"{their_seconds:.1f} s; the paper's {level.decibels:.3f}",
        f"{our_seconds:.1f} s",
        f"the paper's {level.ratio:.1f}; NMFℓ⁰ is within {NEARLY} dB of its end after {nearly:.1f} s",
    )
    forms = ("{:.3f}", "{:.3f}", "{:.1f}")
    lines = zip(whats, values, goals, forms, notes, strict=True)
    if scored:
        rows = [at_least(what, float(value), float(goal), form=form, note=note) for what, value, goal, form, note in lines]
    else:
        rows = [Row(what, form.format(value), note=note) for what, value, _, form, note in lines]
    inertial = [timed(M, InertialNMF(share=level.share), Limits(max_iter=limits.max_iter), seed=seed) for seed in seeds]
    decibels, seconds = np.mean([(found.decibels, found.seconds) for found in inertial], axis=0)
    return [*rows, Row("   SNR of TITAN in dB", f"{decibels:.3f}", note=f"{seconds:.1f} s")]


def digits(quick: bool) -> list[Row]:
    """A quarter of the pixels per part, on the built-in digits: TITAN, NMFℓ⁰ and SeMF from the same seeds."""
    M = Digits().load().data
    sets = ((Nonnegative(), Sparse(round(DIGITS_SHARE * len(M)))), (Nonnegative(),))
    ways = {
        "TITAN": (InertialNMF(share=DIGITS_SHARE), Limits(max_iter=300), ((), ())),
        "NMFℓ⁰": (CountedPartsNMF(share=DIGITS_SHARE), Limits(max_iter=COUNTED_ITERATIONS), ((), ())),
        "SeMF, default settings": (DEFAULT(), Limits(max_iter=SEMF_ITERATIONS), sets),
    }
    rows = []
    for name, (solver, limits, (X, Y)) in ways.items():
        starts = range(2 if quick else DIGITS_STARTS)
        runs = [timed(M, solver, limits, X, Y, seed=seed, rank=DIGITS_RANK) for seed in starts]
        errors, seconds = np.array([error_of(found) for found in runs]), np.array([found.seconds for found in runs])
        note = f"median {np.median(errors):.4f}, worst {errors.max():.4f}; a start takes {np.median(seconds):.2f} s"
        within = np.cumsum(seconds) <= INERTIAL[0]
        if name == "TITAN":
            what, least = f"{name}: least error of the starts that fit into {INERTIAL[0]:g} s", errors[within].min(initial=np.inf)
            rows.append(at_most(what, float(least), INERTIAL[1], form="{:.4f}", note=f"{within.sum()} starts"))
        rows.append(Row(f"{name}: least error of {len(runs)} starts", f"{errors.min():.4f}", note=note))
    return rows


def error_of(found: Timed) -> float:
    return found.run.best_uv / found.run.problem.matrix.norm


def fixed(M: Array, scored: bool, quick: bool) -> list[Row]:
    """Every column of U with a sparseness of exactly 0.6."""
    limits = Limits(max_iter=5 if quick else MIXED_ITERATIONS, tol=0)
    runs = [timed(M, MixedNormNMF(0.6, shared=False), limits) for _ in range(1 if quick else 3)]
    found = min(runs, key=lambda one: one.seconds)
    off = float(np.abs(hoyer_sparseness(found.run.factors()[0]) - 0.6).max())
    seconds, error = RIVAL
    rows = [Row("mixed-norm: relative error", f"{error_of(found):.4f}"), Row("   seconds of one core", f"{found.seconds:.2f}")]
    if scored:
        note = "target: block coordinate descent by its authors"
        rows = [
            at_most(rows[0].what, error_of(found), error, form="{:.4f}", note=note),
            at_most(rows[1].what, found.seconds, seconds, form="{:.2f}"),
        ]
    rows.append(at_most("   largest deviation of a column from 0.6", off, 1e-3, form="{:.1e}"))
    gradient = timed(M, SparsenessNMF(0.6), Limits(max_iter=10 if quick else 100, tol=0))
    rows.append(
        Row(
            "NMFsc: relative error",
            f"{error_of(gradient):.4f}",
            note=f"{gradient.run.iterations} iterations, {gradient.seconds:.2f} s",
        )
    )
    return rows


def figure_1(M: Array, quick: bool) -> list[Row]:
    """The three settings of Figure 1: how far the mean sparseness of a group is from what was asked."""
    settings = {"0.4": MixedNormNMF(0.4), "0.6": MixedNormNMF(0.6), "{0.2, 0.5, 0.8}": MixedNormNMF((0.2, 0.5, 0.8), THREE)}
    rows = []
    for name, solver in settings.items():
        found = timed(M, solver, Limits(max_iter=5 if quick else MIXED_ITERATIONS, tol=0))
        measure, groups = hoyer_sparseness(found.run.factors()[0]), solver.partition(ORL_RANK)
        off = max(abs(float(measure[list(g)].mean()) - s) for g, s in zip(groups, solver.targets(groups), strict=True))
        note = f"columns from {measure.min():.2f} to {measure.max():.2f}; error {error_of(found):.4f}, {found.seconds:.1f} s"
        rows.append(at_most(f"mean sparseness {name}: largest deviation of a group", off, 1e-3, form="{:.1e}", note=note))
    return rows


def frank_wolfe(M: Array, sparseness: float, seconds: float) -> tuple[float, float, int]:
    """The way that the paper names and does not try, for so many seconds: relative errors, feasible and not, and iterations.

    Steps towards the best vertex (Sparse-opt of the gradient) with an exact length, so that U stays in the convex hull of
    what is allowed; V by nonnegative least squares. What counts in the end is the nearest allowed U with its own V.
    """
    rng, k, norm = np.random.default_rng(0), ratio_of(sparseness, len(M)), float(np.linalg.norm(M))
    U = sparse_opt(rng.random((len(M), ORL_RANK)), k)
    V = nnls(U.T @ U, U.T @ M)
    began, steps = time.process_time(), 0
    while time.process_time() - began < seconds:
        gradient = U @ (V @ V.T) - M @ V.T
        way = sparse_opt(-gradient, k) - U
        bend = float(np.vdot(way.T @ way, V @ V.T))
        U = U + min(1.0, -float(np.vdot(gradient, way)) / bend) * way if bend > 0 else U
        V = nnls(U.T @ U, U.T @ M, start=V)
        steps += 1
    within = float(np.linalg.norm(M - U @ V)) / norm
    U = sparse_opt(U, k)
    return float(np.linalg.norm(M - U @ nnls(U.T @ U, U.T @ M))) / norm, within, steps


def mixed_ways(quick: bool) -> list[Row]:
    """Algorithm 2 with matched and with all pairs, and Frank-Wolfe steps in the time that matched pairs take."""
    M, limits = Faces().load().data, Limits(max_iter=3 if quick else 100, tol=0)
    matched, every, alone = (
        timed(M, solver, limits)
        for solver in (MixedNormNMF(0.6), MixedNormNMF(0.6, pairs="all"), MixedNormNMF(0.6, shared=False))
    )
    feasible, within, steps = frank_wolfe(M, 0.6, alone.seconds)
    note = f"{steps} steps in the same time; {within:.4f} before the sparseness is enforced"
    return [
        Row("mean 0.6, matched pairs: relative error", f"{error_of(matched):.4f}", note=f"{matched.seconds:.1f} s"),
        Row("mean 0.6, all pairs (Algorithm 2 as printed)", f"{error_of(every):.4f}", note=f"{every.seconds:.1f} s"),
        Row("every column 0.6, coordinate descent", f"{error_of(alone):.4f}", note=f"{alone.seconds:.1f} s"),
        Row("every column 0.6, Frank-Wolfe", f"{feasible:.4f}", note=note),
    ]


def main(argv: list[str] | None = None) -> None:
    quick = parser(__doc__).parse_args(argv).quick
    M, remark = orl()
    scored = is_real(remark) and not quick
    with blas_threads(1):
        rows = [row for level in LEVELS for row in counted(M, level, scored, quick)]
        how = f" SeMF: {SEMF_ITERATIONS} iterations and {SEMF_SWEEPS} sweeps; NMFℓ⁰: {COUNTED_ITERATIONS} iterations."
        how += f" Mean of {len(SEEDS)} seeds."
        how = (" 20 iterations each." if quick else how) + " Seconds of one core, 1 BLAS thread."
        print_table("ORL, rank 25: SeMF beside NMFℓ⁰ and TITAN", rows, remark + how)
        pixels = f"Built-in digits, 64×1797, {DIGITS_SHARE:.0%} nonzeros in each column of U. Seconds of one core, 1 BLAS thread."
        print_table(f"Digits, rank {DIGITS_RANK}: counted nonzeros", digits(quick), pixels)
        print_table("ORL, rank 25: sparseness exactly 0.6", fixed(M, scored, quick), remark + " Seed 0, 1 BLAS thread.")
        print_table("Mixed-norm NMF, Figure 1: 25 features of ORL", figure_1(M, quick), remark)
        ways = f"Built-in faces, rank {ORL_RANK}, {3 if quick else 100} iterations. Seconds of one core, 1 BLAS thread."
        print_table("Mixed-norm NMF: which pairs, and Frank-Wolfe instead", mixed_ways(quick), ways)


if __name__ == "__main__":
    main(sys.argv[1:])
