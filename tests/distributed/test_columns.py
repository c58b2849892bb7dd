"""Thresholds and lengths of columns whose rows are in parts: the projection of the whole, ties included."""

from itertools import pairwise

import numpy as np
import pytest

from semf_core.distributed.columns import Candidates, Cut, Measured, cut_blocks, find_cuts, largest, scale_blocks, scale_for
from semf_core.distributed.plans import ByColumns, plan_for
from semf_core.sets import Nonnegative, NormBall, Sparse, UnitNorm, combine, kernels

EDGES = [0, 7, 13, 30, 40]
RNG = np.random.default_rng(0)
MATRICES = {
    "normal": RNG.standard_normal((40, 4)),
    "ties": RNG.integers(-2, 3, (40, 4)).astype(float),
    "negative": -RNG.random((40, 4)),
    "zero": np.zeros((40, 4)),
    "huge and tiny": 10.0 ** RNG.integers(-300, 300, (40, 4)) * RNG.choice([-1, 1], (40, 4)),
    "float32": RNG.standard_normal((40, 4)).astype(np.float32),
}
SETS = [
    (Sparse(7),),
    (Sparse(40),),
    (Nonnegative(), Sparse(7)),
    (UnitNorm(),),
    (Nonnegative(), UnitNorm()),
    (Sparse(1), UnitNorm()),
    (Nonnegative(), Sparse(5), UnitNorm(columns=[1, 2])),
    (Nonnegative(), Sparse(3, columns=[2])),
    (Sparse(5), NormBall(radius=1.5)),
]


def projected(x_set, A):
    """The projection by two parts of two blocks each, and how often they were asked to count."""
    plan = plan_for(x_set, A.shape)
    assert isinstance(plan, ByColumns)
    blocks = [A[a:b].T.copy() for a, b in pairwise(EDGES)]
    parts, firsts, asked = [blocks[:2], blocks[2:]], [EDGES[:2], EDGES[2:4]], []
    tops = [largest(part, first) for part, first in zip(parts, firsts, strict=True)]
    cuts: list[Cut | None] = [None, None]
    if plan.counted.size:
        candidates = [Candidates(part, plan) for part in parts]

        def count(*bins):
            asked.append(bins)
            return [c.count(*bins) for c in candidates]

        cuts[:] = find_cuts(plan.count[plan.counted], [c.extremes() for c in candidates], count)
    for part, cut in zip(parts, cuts, strict=True):
        cut_blocks(part, plan, cut)
    lengths = [kernels.norms(np.concatenate(part, axis=1).T) for part in parts]
    scaled = scale_for(plan, [Measured(length, *top) for length, top in zip(lengths, tops, strict=True)])
    for part, first in zip(parts, firsts, strict=True):
        scale_blocks(part, first, scaled)
    return np.concatenate(blocks, axis=1).T, len(asked)


@pytest.mark.parametrize("sets", SETS, ids=lambda sets: "+".join(s.name for s in sets))
@pytest.mark.parametrize("kind", MATRICES)
def test_parts_project_as_the_whole_does(sets, kind):
    A = MATRICES[kind]
    found, asked = projected(combine(sets), A)
    np.testing.assert_allclose(found, combine(sets).project(A), rtol=1e-6 if A.dtype == np.float32 else 1e-14, atol=0)
    assert asked <= 8 and found.dtype == A.dtype
