"""The scikit-learn estimator against scikit-learn's own checks."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from semf_core.estimator import SeMF
from semf_core.sets import Nonnegative, Sparse


@parametrize_with_checks([SeMF(), SeMF(3, x_sets=(Nonnegative(),), y_sets=(Nonnegative(),), max_iter=200)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_samples_in_rows_and_structure_in_both_factors():
    rng = np.random.default_rng(0)
    A = rng.random((40, 3)) @ rng.random((3, 20))
    model = SeMF(3, x_sets=[Nonnegative(), Sparse(12)], y_sets=[Nonnegative()], random_state=0)
    codes = model.fit_transform(A)
    assert codes.shape == (40, 3) and model.components_.shape == (3, 20)
    assert (codes >= 0).all() and (np.count_nonzero(model.components_, axis=1) <= 12).all()
    assert np.linalg.norm(A - model.inverse_transform(codes)) <= model.reconstruction_err_ * (1 + 1e-9)


def test_transform_is_least_squares_within_the_set():
    from scipy.optimize import nnls

    rng = np.random.default_rng(1)
    A = rng.random((30, 8))
    model = SeMF(3, x_sets=[Nonnegative()], y_sets=[Nonnegative()], random_state=0).fit(A)
    new = rng.random((5, 8))
    expected = np.array([nnls(model.components_.T, sample)[0] for sample in new])
    np.testing.assert_allclose(model.transform(new), expected, atol=1e-6)


def test_iteration_limit_warns():
    from sklearn.exceptions import ConvergenceWarning

    with pytest.warns(ConvergenceWarning, match="max_iter"):
        SeMF(2, max_iter=2, random_state=0).fit(np.random.default_rng(0).random((9, 5)))
