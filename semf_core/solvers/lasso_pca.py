"""Sparse principal components by a lasso penalty, as in scikit-learn (Zou, Hastie and Tibshirani; Mairal et al.)."""

from __future__ import annotations

import warnings
from typing import ClassVar

import numpy as np

from semf_core.common.extras import optional
from semf_core.common.parameters import param
from semf_core.sets import Box, NormBall
from semf_core.solvers.base import SOLVERS, Array, HalfStep, Problem, Sets, State
from semf_core.solvers.direct import Direct, Factors, generator
from semf_core.solvers.spectral import components_exist, leading_svd, plain_array


@SOLVERS.register
class LassoPCA(Direct):
    """scikit-learn's SparsePCA a turn at a time: beside the mean, min ½‖M̄ − UV‖² + λΣ|U| over rows of V of length at most 1.

    U is coded by the lasso, then the rows of V are refitted one after the other. λ is a share of the size of M̄'s rows,
    above which all of U is zero; it starts from the singular vectors, as scikit-learn does.
    """

    own_start: ClassVar[str] = "the singular vectors"
    name: ClassVar[str] = "lasso-pca"
    title: ClassVar[str] = "Sparse PCA (lasso)"
    summary: ClassVar[str] = "principal components around the mean with a lasso penalty on their entries (scikit-learn)"
    family: ClassVar[str] = "Sparse principal components"
    enforces: ClassVar[str] = (
        "the first component is the mean, with weight 1 in every sample; other rows of V are at most one long"
    )
    encourages: ClassVar[str] = "sparse components (λ), which need not be orthogonal"
    reference: ClassVar[tuple[str, ...]] = ("lasso-pca", "online-dictionary")
    needs: ClassVar[tuple[str, ...]] = ("dense",)
    data_buffers: ClassVar[float] = 7

    lam: float = param(
        "number",
        0.05,
        low=0,
        high=1,
        open_low=True,
        symbol=r"\lambda",
        help="weight of Σ|U|, as a share of the longest row of M̄; 1: all zero",
    )

    def objective(self) -> str:
        return (
            r"\min_{U,V}\ \tfrac12\|M-UV\|_F^2+\lambda\sum_{k>1}\|u_k\|_1"
            r" \quad\text{s.t.}\quad U_1=\tfrac1n M\mathbf 1,\; V_{1\cdot}=\mathbf 1^T,\; \|v_k\|_2\le 1"
        )

    def structure(self, shape: tuple[int, int], rank: int) -> tuple[Sets, Sets]:
        components_exist(shape, rank)
        others = (NormBall(1.0, axis="row", columns=tuple(range(1, rank))),) if rank > 1 else ()
        return (), (Box(1, 1, axis="row", columns=(0,)), *others)

    def half_steps(self) -> tuple[HalfStep, ...]:
        on_u = r"U_+ = \arg\min_U \tfrac12\|\bar M-UV\|_F^2+\lambda\|U\|_1"
        on_v = r"v_{k:} \leftarrow \frac{r}{\max(1,\|r\|_2)},\quad r = v_{k:} + u_k^\top(\bar M-U_+V)/\|u_k\|^2"
        return (
            HalfStep("U", on_u, "the lasso, beside the mean; M̄ is M without it"),
            HalfStep("V", on_v, "one row after the other, with the new U"),
        )

    def begin(self, problem: Problem, rng: np.random.Generator, state: State) -> Factors:
        M, q = plain_array(problem.matrix), problem.rank - 1
        state.arrays["mean"] = mean = M.mean(axis=1, keepdims=True)
        U, scores = leading_svd(problem.matrix, M - mean, q, rng) if q else (M[:, :0], M[:0])
        sizes = np.linalg.norm(scores, axis=1, keepdims=True)
        return self._with_mean(state, U * sizes.T, np.divide(scores, sizes, out=np.zeros_like(scores), where=sizes > 0))

    def update(self, problem: Problem, state: State) -> Factors:
        p = problem.rank
        if p == 1:
            return Factors(state.W[:p], state.Z[:p])
        # scikit-learn takes a second or two to import; only those who want it should wait.
        with optional():
            from sklearn.decomposition import dict_learning
            from sklearn.exceptions import ConvergenceWarning

        centred, weight = self._centred(problem, state)
        with warnings.catch_warnings():  # a code that is not quite settled is coded again in the next turn
            warnings.simplefilter("ignore", ConvergenceWarning)
            U, V, _ = dict_learning(
                centred, p - 1, alpha=weight, max_iter=1, tol=0, method="cd", random_state=int(generator(state).integers(2**31)),
                code_init=state.X[:, 1:].astype(float), dict_init=state.Y[1:].astype(float),
            )  # fmt: skip
        return self._with_mean(state, U, V)

    @staticmethod
    def _with_mean(state: State, U: Array, V: Array) -> Factors:
        mean = state.arrays["mean"]
        return Factors(np.column_stack((mean, U)).T, np.vstack((np.ones((1, V.shape[1]), V.dtype), V)))

    def _centred(self, problem: Problem, state: State) -> tuple[Array, float]:
        """M̄, and λ in the units of M."""
        if "centred" not in state.scratch:
            M = plain_array(problem.matrix).astype(float)
            state.scratch["centred"] = M - M.mean(axis=1, keepdims=True)
        centred: Array = state.scratch["centred"]
        return centred, self.lam * (float(np.linalg.norm(centred, axis=1).max()) or 1.0)

    @property
    def penalised(self) -> bool:
        return True

    def cost(self, problem: Problem, state: State) -> float:
        """½‖M−UV‖² + λΣ|U|, the mean apart."""
        weight = self._centred(problem, state)[1]
        return self.frame(problem, state).residual_uv ** 2 / 2 + weight * float(np.abs(state.U[:, 1:]).sum())
