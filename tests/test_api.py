"""factorize as a user calls it: what it returns, what it rejects, what it warns about."""

import warnings

import numpy as np
import pytest

from semf_core import InvalidInput, ScaleAmbiguityWarning, factorize
from semf_core.datasets import Axes, Axis, Dataset
from semf_core.sets import Box, EqualNonzeros, GroupSparse, L1Ball, Nonnegative, NormBall, Sparse, UnitNorm

M = np.random.default_rng(0).random((12, 15))


def test_result_carries_factors_history_and_certificate():
    result = factorize(M, 3, X=[Nonnegative(), Sparse(5)], Y=[Nonnegative()], seed=1, max_iter=50, restarts=2, target=0)
    assert result.U.shape == (12, 3) and result.V.shape == (3, 15)
    assert result.X.shape == result.U.shape and result.Y.shape == result.V.shape
    h = result.history
    for name in ("residual_xy", "residual_uv", "alpha", "beta", "gap_x", "gap_y", "case", "seconds"):
        assert len(getattr(h, name)) == result.iterations
    assert (np.diff(h.seconds) >= 0).all()
    assert result.residual_uv == pytest.approx(np.linalg.norm(M - result.U @ result.V))
    assert result.snr_db == pytest.approx(20 * np.log10(np.linalg.norm(M) / result.residual_uv))
    assert result.starts == 2 and result.stop_reason in {"converged", "iteration limit"}
    certificate = result.certificate
    assert certificate.feasible
    assert [(v.factor, v.constraint) for v in certificate.violations] == [
        ("U", "nonnegative"),
        ("U", "sparse"),
        ("V", "nonnegative"),
    ]
    assert (certificate.nonzeros_u <= 5).all() and certificate.nonzeros_u.tolist() == np.count_nonzero(result.U, axis=0).tolist()
    assert certificate.gap_x == pytest.approx(np.linalg.norm(result.X - result.U))
    assert certificate.gap_y == pytest.approx(np.linalg.norm(result.Y - result.V))


def test_certificate_tells_when_a_constraint_does_not_hold():
    from semf_core.factorization.result import certify
    from semf_core.sets import combine

    U, V = -np.ones((4, 2)), np.ones((2, 3))
    certificate = certify({"U": combine([Nonnegative()]), "V": combine([])}, {"U": U, "V": V}, (0.0, 0.0))
    assert not certificate.feasible
    assert certificate.violations[0].value == pytest.approx(np.sqrt(8))


def test_callback_sees_every_iteration_and_can_stop():
    seen = []

    def watch(run):
        seen.append((run.iterations, run.history.last("residual_uv")))
        return run.iterations == 7

    result = factorize(M, 3, callback=watch, tol=0)
    assert [i for i, _ in seen] == list(range(1, 8))
    assert result.stop_reason == "cancelled" and result.iterations == 7


def test_one_set_may_be_passed_alone():
    assert (factorize(M, 2, Nonnegative(), Nonnegative() & Sparse(1), max_iter=5).V >= 0).all()


BAD_MATRICES = [
    (np.full((3, 3), np.inf), "infinite"),
    (np.empty((0, 3)), "empty"),
    (np.arange(4.0), "two dimensions"),
    (np.ones((2, 2, 2)), "two dimensions"),
    (np.ones((2, 2), complex), "complex"),
    (np.array([["a", "b"]]), "numbers"),
    (np.array([[object()]]), "numbers"),
    (np.full((2, 2), np.nan), "no observed"),
]


@pytest.mark.parametrize(("bad", "word"), BAD_MATRICES)
def test_bad_data_is_rejected_in_a_sentence(bad, word):
    with pytest.raises(InvalidInput, match=word) as refusal:
        factorize(bad, 1)
    assert refusal.value.field == "M"


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"rank": 0}, "rank"),
        ({"rank": 10**6}, "rank"),
        ({"rank": 2.5}, "rank"),
        ({"rank": True}, "rank"),
        ({"rank": 2, "X": [Sparse(13)]}, "X k"),
        ({"rank": 2, "Y": [GroupSparse([[0]])]}, "Y groups"),
        ({"rank": 2, "X": ["nonnegative"]}, "X"),
        ({"rank": 2, "seed": -1}, "seed"),
        ({"rank": 2, "max_iter": 0}, "max_iter"),
        ({"rank": 2, "tol": float("nan")}, "tol"),
        ({"rank": 2, "gamma": 1.7}, "gamma"),
        ({"rank": 2, "penalty": "none"}, "penalty"),
        ({"rank": 2, "alpah0": 1}, "alpah0"),
        ({"rank": 2, "dtype": "int8"}, "dtype"),
        ({"rank": 2, "mask": np.ones((2, 2))}, "mask"),
        ({"rank": 2, "start_factors": (np.ones((3, 3)), None)}, "start"),
        ({"rank": 2, "solver": "nothing"}, "solver"),
        ({"rank": 2, "threads": 0}, "threads"),
    ],
)
def test_bad_arguments_name_their_field(arguments, field):
    with pytest.raises(InvalidInput) as refusal:
        factorize(M, **arguments)
    assert refusal.value.field == field
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("X", "Y", "warned"),
    [
        ([L1Ball(1)], [Nonnegative()], True),
        ([Nonnegative()], [NormBall(2)], True),
        ([Box(0, 1)], [Sparse(1)], True),
        ([NormBall(1)], [NormBall(1)], False),
        ([L1Ball(2), UnitNorm()], [Sparse(1)], False),
        ([UnitNorm()], [Sparse(1)], False),
        ([Nonnegative()], [EqualNonzeros(1)], False),
    ],
)
def test_a_bound_on_one_factor_alone_is_warned_about(X, Y, warned):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        factorize(M, 2, X, Y, max_iter=2)
    sentences = [str(w.message) for w in caught if w.category is ScaleAmbiguityWarning]
    assert bool(sentences) == warned
    if warned:
        assert "unit norm" in sentences[0]


def test_all_zero_data_factorizes_to_zero():
    result = factorize(np.zeros((4, 5)), 2, [Nonnegative()], [Nonnegative()], max_iter=20)
    assert result.residual_uv == 0 and not (result.U @ result.V).any()


def test_a_result_prints_a_summary_and_draws_its_components():
    axes = Axes(Axis("λ", "nm", values=np.arange(4.0)), Axis(names=tuple("<bc")))
    data = Dataset(np.abs(np.sin(np.arange(12.0))).reshape(4, 3), axes=axes)
    result = factorize(data, 2, X=[Nonnegative()], Y=[Nonnegative()], max_iter=10)
    text = repr(result)
    assert "M (4 × 3) ≈ U (4 × 2) · V (2 × 3)" in text and "feasible        yes" in text and "array" not in text
    page = result._repr_html_()
    assert "strongest at" in page and "&lt;" in page and page.count("data:image/svg+xml") == page.count("<article") == 2
