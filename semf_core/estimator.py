"""SeMF as a scikit-learn estimator: samples in rows, components in `components_`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from semf_core.api import factorize
from semf_core.encode import encode
from semf_core.sets import StructureSet, combine

Array = np.ndarray
DTYPES = (np.float64, np.float32)


class SeMF(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A ≈ W·components_ with structure enforced on both factors.

    The engine factorizes M = Aᵀ ≈ XY, so `x_sets` bind the components (each a column of X) and `y_sets`
    the codes (each sample a column of Y). `options` are further options of `factorize`.
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
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Fit, and the codes of the fitted samples (those of the run, refined for the final components)."""
        samples, codes = self._fit(X)
        return self._encode(samples, codes)

    def transform(self, X: Any) -> Array:
        """Codes of new samples: min ‖A − W·components_‖ with each code in the set on Y."""
        check_is_fitted(self)
        samples = validate_data(self, X, reset=False, accept_sparse="csr", dtype=DTYPES)
        return self._encode(_columns(samples), None)

    def inverse_transform(self, X: Any) -> Array:
        check_is_fitted(self)
        return np.asarray(X) @ self.components_

    def _fit(self, X: Any) -> tuple[Any, Array]:
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
            warnings.warn("SeMF reached max_iter before (9) held; raise max_iter or tol", ConvergenceWarning, stacklevel=3)
        self.result_ = result
        self.components_ = np.ascontiguousarray(result.U.T)
        self.n_iter_ = result.iterations
        self.reconstruction_err_ = result.residual_uv
        self._n_features_out = len(self.components_)
        return samples, result.V

    def _encode(self, samples: Any, start: Array | None) -> Array:
        U = np.ascontiguousarray(self.components_.T, dtype=samples.dtype)
        return encode(samples, U, combine(tuple(self.y_sets)), start=start).T

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _columns(samples: Any) -> Any:
    return samples.T.tocsr() if sp.issparse(samples) else np.ascontiguousarray(samples.T)


def _is_seed(random_state: Any) -> bool:
    return isinstance(random_state, int | np.integer) and bool(random_state >= 0)
