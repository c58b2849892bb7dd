"""SeMF as a scikit-learn estimator: samples in rows, components in `components_`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, estimator_html_repr
from sklearn.utils.validation import check_is_fitted, validate_data

from semf_core.datasets import Axes
from semf_core.datasets.frames import from_frame
from semf_core.factorization.api import factorize
from semf_core.factorization.encode import encode
from semf_core.sets import StructureSet, combine

Array = np.ndarray
DTYPES = (np.float64, np.float32)


class SeMF(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A ≈ W·components_ with structure enforced on both factors, as a scikit-learn estimator: samples are rows.

    The engine factorizes M = Aᵀ ≈ XY, so `x_sets` bind the components (each a column of X) and `y_sets`
    the codes (each sample a column of Y).

    Parameters
    ----------
    n_components : int
        Number of components.
    x_sets, y_sets : list of structure sets
        What the components and the codes must satisfy; empty: anything.
    max_iter, tol, restarts : int, float, int
        As in `Limits`: iterations of a start at most, the change at which it ends, and how many starts.
    random_state : int, RandomState or None
        Where randomness comes from.
    options : dict, optional
        Further options of `factorize`, such as {"solver": "semf"}.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The components, in their sets.
    result_ : Result
        What `factorize` returns: history, certificate, how it ended.
    n_iter_, reconstruction_err_ : int, float
        Iterations, and ‖A − W·components_‖.

    Examples
    --------
    >>> import numpy as np
    >>> from semf_core import SeMF
    >>> from semf_core.sets import Nonnegative, Sparse
    >>> A = np.random.default_rng(0).random((30, 8))
    >>> model = SeMF(3, x_sets=[Nonnegative(), Sparse(4)], y_sets=[Nonnegative()], tol=1e-3, random_state=0)
    >>> codes = model.fit_transform(A)
    >>> codes.shape, model.components_.shape, int((model.components_ != 0).sum(axis=1).max())
    ((30, 3), (3, 8), 4)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        x_sets: Sequence[StructureSet] = (),
        y_sets: Sequence[StructureSet] = (),
        max_iter: int = 1000,
        tol: float = 1e-6,
        restarts: int = 1,
        random_state: Any = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.n_components = n_components
        self.x_sets = x_sets
        self.y_sets = y_sets
        self.max_iter = max_iter
        self.tol = tol
        self.restarts = restarts
        self.random_state = random_state
        self.options = options

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the components.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The samples, one in each row.
        y : ignored

        Returns
        -------
        SeMF
            The estimator itself.
        """
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Find the components and the codes of the samples (those of the run, refined for the final components).

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The samples, one in each row.
        y : ignored

        Returns
        -------
        array of shape (n_samples, n_components)
            The codes, each in the sets on Y.
        """
        samples, codes = self._fit(X)
        return self._encode(samples, codes)

    def transform(self, X: Any) -> Array:
        """Codes of new samples: min ‖A − W·components_‖ with each code in the set on Y.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The samples, one in each row.

        Returns
        -------
        array of shape (n_samples, n_components)
            One code in each row.
        """
        check_is_fitted(self)
        samples = validate_data(self, X, reset=False, accept_sparse="csr", dtype=DTYPES)
        return self._encode(_columns(samples), None)

    def inverse_transform(self, X: Any) -> Array:
        """Samples made of codes.

        Parameters
        ----------
        X : array of shape (n_samples, n_components)
            The codes, as `transform` gives them.

        Returns
        -------
        array of shape (n_samples, n_features)
            codes · components_
        """
        check_is_fitted(self)
        return np.asarray(X) @ self.components_

    def _fit(self, X: Any) -> tuple[Any, Array]:
        found = from_frame(X)
        samples = _columns(validate_data(self, X, accept_sparse="csr", dtype=DTYPES))
        seed = self.random_state
        if not _is_seed(seed):
            seed = int(check_random_state(seed).randint(2**31 - 1))
        result = factorize(
            samples,
            self.n_components,
            self.x_sets,
            self.y_sets,
            seed=seed,
            max_iter=self.max_iter,
            tol=self.tol,
            restarts=self.restarts,
            **(self.options or {}),
        )
        if result.stop_reason == "iteration limit":
            warnings.warn(f"SeMF reached max_iter. {result.ending.text}", ConvergenceWarning, stacklevel=3)
        self.result_ = replace(result, axes=Axes() if found is None else _named(found[1]))
        self.components_ = np.ascontiguousarray(result.U.T)
        self.n_iter_ = result.iterations
        self.reconstruction_err_ = result.residual_uv
        self._n_features_out = len(self.components_)
        return samples, result.V

    def _html_repr(self) -> str:
        """The estimator as scikit-learn draws it and, once it is fitted, its components; notebooks show it."""
        drawn = str(estimator_html_repr(self))
        return drawn + self.result_._repr_html_() if hasattr(self, "result_") else drawn

    def _encode(self, samples: Any, start: Array | None) -> Array:
        U = np.ascontiguousarray(self.components_.T, dtype=samples.dtype)
        return encode(samples, U, combine(tuple(self.y_sets)), start=start).T

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _named(frame: Axes) -> Axes:
    """Features are the rows of M, samples its columns."""
    features, samples = (
        replace(axis, title=axis.title or word) if axis.names is not None else axis
        for axis, word in ((frame.columns, "feature"), (frame.rows, "sample"))
    )
    return Axes(features, samples)


def _columns(samples: Any) -> Any:
    return samples.T.tocsr() if sp.issparse(samples) else np.ascontiguousarray(samples.T)


def _is_seed(random_state: Any) -> bool:
    return isinstance(random_state, int | np.integer) and bool(random_state >= 0)
