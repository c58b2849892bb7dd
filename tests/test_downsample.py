"""Long histories in few points."""

import numpy as np

from semf_core.drawing.downsample import decisions, stretch_ends
from semf_core.solvers.base import Case
from semf_core.solvers.penalties import CASE_WORDS


def test_a_case_that_changes_penalties_outlives_thinning():
    column = np.array([0, 1, 0, 3, 1, 0, 0, 1, 0, 0, 0, 0], dtype=float)
    assert decisions(column, stretch_ends(np.arange(1, 13), 4)).tolist() == [3, 1, 0]
    assert set(CASE_WORDS) == {c for c in Case if c is not Case.NONE}
