"""The scikit-learn estimator against scikit-learn's own checks."""

import warnings

import numpy as np
import pandas
import polars
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from semf_core import factorize
from semf_core.datasets import Axes, Axis
from semf_core.factorization.estimator import SeMF
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


def test_the_package_itself_has_it_and_frames_keep_their_names():
    from semf_core import SeMF as from_package

    assert from_package is SeMF
    A = np.random.default_rng(0).random((12, 3))
    frame = pandas.DataFrame(A, columns=["a", "b", "c"], index=[f"s{i}" for i in range(12)])
    model = SeMF(2, x_sets=[Nonnegative()], max_iter=20, tol=1e-2, random_state=0).set_output(transform="pandas")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        codes = model.fit_transform(frame)
    assert list(codes.columns) == list(model.get_feature_names_out()) == ["semf0", "semf1"]
    assert list(codes.index) == list(frame.index)
    assert model.result_.axes.rows.names == ("a", "b", "c")
    assert model.result_.axes.columns == Axis("sample", names=tuple(frame.index))
    drawn = model._repr_html_()
    assert "top features" in drawn and "<li>" in drawn


def test_polars_frames_in_and_out():
    A = np.random.default_rng(0).random((12, 3))
    frame = polars.DataFrame(A, schema=["a", "b", "c"])
    model = SeMF(2, x_sets=[Nonnegative()], max_iter=20, tol=1e-2, random_state=0).set_output(transform="polars")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        codes = model.fit_transform(frame)
        plain = SeMF(2, x_sets=[Nonnegative()], max_iter=20, tol=1e-2, random_state=0).fit_transform(A)
    assert isinstance(codes, polars.DataFrame) and codes.columns == list(model.get_feature_names_out())
    np.testing.assert_array_equal(codes.to_numpy(), plain)
    assert isinstance(model.transform(frame), polars.DataFrame) and model.result_.axes.rows.names == ("a", "b", "c")
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame.rename({"a": "z"}))


def test_a_frame_of_spectra_has_an_axis_and_one_that_merely_counts_has_no_names():
    places = pandas.Index(np.linspace(400, 700, 9), name="wavelength (nm)")
    frame = pandas.DataFrame(np.random.default_rng(0).random((4, 9)), columns=places)
    model = SeMF(2, random_state=0, max_iter=20).fit(frame)
    assert model.result_.axes == Axes(Axis("wavelength", "nm", values=places)) and "semf-curve" in model._repr_html_()
    days = frame.set_index(pandas.date_range("2024-01-01", periods=4))
    assert factorize(days, 2).axes.rows.calendar and not factorize(frame.T.reset_index(drop=True), 2).axes.rows
    assert repr(model.result_.axes.rows) == "Axis(wavelength (nm): 400, 437.5, …, 700; 9 in all)"


def test_factorize_takes_the_names_of_a_polars_frame():
    frame = polars.DataFrame({"gene": ["G1", "G2", "G3"], "p": [1.0, 2.0, 3.0], "q": [2.0, 1.0, 0.5]})
    result = factorize(frame, 1, max_iter=20)
    assert result.axes.rows.heading == "gene" and result.axes.rows.names == ("G1", "G2", "G3")
    assert result.axes.columns.names == ("p", "q") and result.U.shape == (3, 1)
