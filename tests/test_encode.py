"""Codes in a given basis: those of the factorization itself, in any units."""

import numpy as np
import pytest

from semf_core import factorize
from semf_core.datasets import DATASETS
from semf_core.factorization.encode import encode
from semf_core.sets import Box


@pytest.mark.parametrize("unit", [1e-3, 1.0, 255.0, 1e6])
def test_pca_has_its_own_codes_for_its_samples_in_any_units(unit):
    """The mean has a code of 1 whatever its length is, and the other components are as long as 1."""
    M = unit * DATASETS.parse("digits").load().data[:, :200]
    found = factorize(M, 5, solver="pca")
    V = encode(M, found.U, Box(1, 1, axis="row", columns=[0]))
    assert (V[0] == 1).all()
    assert np.linalg.norm(M - found.U @ V) <= (1 + 1e-9) * found.relative_error * np.linalg.norm(M)
