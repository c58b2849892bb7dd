"""Starting points: random, from the singular vectors of M, or given by the user."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse.linalg import LinearOperator, svds

from semf_core.mathematics.matrix import DataMatrix
from semf_core.sets import StructureSet
from semf_core.solvers.base import Array, Problem

COMMON = 1
"""Tells the generator of the common start from an algorithm's own."""
LARGE = 10**7
"""Entries of X beyond which none is drawn to find its size."""


@dataclass(frozen=True)
class Start:
    """How Y starts: random of some kind or from the SVD, in the units of M or not."""

    kind: str
    scaled: bool
    """The size of Y fits M where X cannot take any size, and is that of 𝒴 where Y cannot."""


def starting_factors(problem: Problem, start: Start, rng: np.random.Generator) -> tuple[Array | None, Array]:
    """(X, Y) to start from; X is None unless it was given."""
    X0, Y0 = problem.start
    (m, n), p = problem.matrix.shape, problem.rank
    if Y0 is not None:
        return X0, Y0
    Y, scaled = signed_noise(problem, start.kind, (p, n), rng), start.scaled
    if start.kind == "svd":
        leading = singular_rows(problem.matrix, min(p, m - 1, n - 1), rng, scaled)
        Y[: len(leading)] = leading
    if scaled and problem.y_set.size != "free":
        Y = problem.y_set.project(Y)
    elif scaled and problem.x_set.size != "free":
        # A random member of 𝒳 tells the size of X; where it would fill the memory, columns of unit length stand for it.
        X = problem.x_set.project(rng.random((m, p))) if m * p <= LARGE else np.eye(p)
        product = float(np.sqrt(np.vdot(X.T @ X, Y @ Y.T)))
        Y *= problem.matrix.norm / product if product > 0 else 1.0
    return X0, Y


def started(problem: Problem, seed: tuple[int, int]) -> Problem:
    """The problem with the start that all algorithms have in common, unless one is given."""
    given = any(factor is not None for factor in problem.start)
    return problem if given else replace(problem, start=common_factors(problem, seed))


def common_factors(problem: Problem, seed: tuple[int, int]) -> tuple[Array, Array]:
    """The X and Y that all algorithms begin with: uniform in [0, 1], or normal where M has negative entries, ‖XY‖ = ‖M‖.

    They are drawn for the whole M, so that they are the same with and without its rows and columns of zeros. The size of
    M is shared by both, powers of two undivided: in other units of M that are such powers they differ by them alone.
    """
    (m, n), p, rng = problem.shape, problem.rank, np.random.default_rng((*seed, COMMON))
    draw = rng.standard_normal if problem.matrix.minimum() < 0 else rng.random
    X, Y = draw((m, p)), draw((p, n))
    product = float(np.sqrt(np.vdot(X.T @ X, Y @ Y.T)))
    mantissa, exponent = np.frexp(problem.matrix.norm / product if product > 0 and problem.matrix.norm > 0 else 1.0)
    scale, half = np.sqrt(2 * mantissa), (exponent - 1) // 2
    rows = slice(None) if problem.rows is None else problem.rows
    columns = slice(None) if problem.columns is None else problem.columns
    return np.ldexp(scale * X[rows], exponent - 1 - half), np.ldexp(scale * Y[:, columns], half)


def signed_noise(problem: Problem, kind: str, shape: tuple[int, int], rng: np.random.Generator) -> Array:
    """Random entries: normal, uniform in [0, 1], or ("auto") uniform in [−r, 1] with as much below zero as M has."""
    if kind == "normal":
        return rng.standard_normal(shape)
    noise = rng.random(shape)
    if kind == "auto" and takes_negative(problem.y_set, shape):
        share = problem.matrix.negative_share
        below = min(1.0, float(np.sqrt(share / (1 - share)))) if share < 1 else 1.0
        noise = (1 + below) * noise - below
    return noise


def takes_negative(s: StructureSet, shape: tuple[int, int]) -> bool:
    """Whether negative entries stay negative in the set."""
    return bool((s.project(np.full(shape, -1.0)) < 0).any())


def singular_rows(M: DataMatrix, count: int, rng: np.random.Generator, scaled: bool) -> Array:
    """√σ_i v_iᵀ for the leading singular triplets, each with the sign that makes its larger half positive.

    `scaled`: σ is measured in a power of two near ‖M‖, so that the units of M do not matter.
    """
    unit = M.dtype.type(2.0 ** np.frexp(M.norm)[1])
    if count < 1:
        return np.empty((0, M.shape[1]))
    empty_x, empty_y = np.zeros((1, M.shape[0]), M.dtype), np.zeros((1, M.shape[1]), M.dtype)
    operator = LinearOperator(
        M.shape,
        matvec=lambda v: M.right(v.reshape(1, -1).astype(M.dtype), empty_x)[0] / unit,
        rmatvec=lambda u: M.left(u.reshape(1, -1).astype(M.dtype), empty_x, empty_y)[0] / unit,
        dtype=M.dtype,
    )
    _, values, right = svds(operator, k=count, v0=rng.random(min(M.shape)))
    order = np.argsort(-values)
    values = values if scaled else values * unit
    rows = right[order]
    positive = np.linalg.norm(np.maximum(rows, 0), axis=1) >= np.linalg.norm(np.minimum(rows, 0), axis=1)
    return np.sqrt(np.maximum(values[order], 0))[:, None] * np.where(positive[:, None], rows, -rows)
