"""An orthonormal dictionary with sparse codes: threshold, then Procrustes."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from semf_core.common.parameters import InvalidInput, param
from semf_core.sets import Orthonormal, Sparse
from semf_core.sets.kernels import keep_largest, polar
from semf_core.solvers.base import SOLVERS, Array, HalfStep, Problem, Sets, State
from semf_core.solvers.direct import Direct, Factors
from semf_core.solvers.ksvd import NONZEROS, nonzeros_for


@SOLVERS.register
class OrthonormalDictionary(Direct):
    """min ‖M − UV‖² over UᵀU = I and k-sparse columns of V; each half is solved exactly, so the error never grows.

    Given V, the best U is the polar factor of MVᵀ (orthogonal Procrustes). Given U, ‖M−UV‖² differs from
    ‖UᵀM−V‖² by a constant, so the best V keeps the k largest entries of each column of UᵀM.
    """

    name: ClassVar[str] = "orthonormal-dictionary"
    title: ClassVar[str] = "Orthonormal dictionary"
    summary: ClassVar[str] = "a sparsifying transform: keep the k largest coefficients, then turn the basis (Procrustes)"
    family: ClassVar[str] = "Dictionary learning"
    enforces: ClassVar[str] = "orthonormal atoms; at most k nonzeros in each code"
    reference: ClassVar[str] = "orthonormal-dictionary"
    needs: ClassVar[tuple[str, ...]] = ("complete",)

    k: int | None = param("integer", None, **NONZEROS)

    def objective(self) -> str:
        k = "k" if self.k is None else str(self.k)
        return rf"\min_{{U,V}}\ \|M-UV\|_F^2 \quad\text{{s.t.}}\quad U^TU=I,\; \|V_i\|_0\le {k}"

    def structure(self, shape: tuple[int, int], rank: int) -> tuple[Sets, Sets]:
        if rank > shape[0]:
            raise InvalidInput(
                "rank", f"is {rank}, but only {shape[0]} atoms of length {shape[0]} can be orthonormal", "lower it"
            )
        return (Orthonormal(),), (Sparse(nonzeros_for(self.k, rank)),)

    def half_steps(self) -> tuple[HalfStep, ...]:
        k = "k" if self.k is None else str(self.k)
        return (
            HalfStep("U", r"U_+ = PQ^\top,\quad MV^\top = P\Sigma Q^\top", "the best rotation, by one SVD (Procrustes)"),
            HalfStep("V", rf"V_+ = H_{{{k}}}(U_+^\top M)", "the k largest coefficients of each sample are kept"),
        )

    def begin(self, problem: Problem, rng: np.random.Generator, state: State) -> Factors:
        X0 = problem.start[0]
        start = rng.standard_normal((problem.matrix.shape[0], problem.rank)) if X0 is None else X0
        return self._coded(problem, polar(start))

    def update(self, problem: Problem, state: State) -> Factors:
        p = state.rank
        Xt, Y = state.W[:p], state.Z[:p]
        return self._coded(problem, polar(problem.matrix.right(Y, Xt).T.astype(float)))

    def _coded(self, problem: Problem, U: Array) -> Factors:
        """U with its best codes; then ‖M−UV‖² = ‖M‖² − ‖V‖²."""
        M = problem.matrix
        Ut = U.T.astype(M.dtype)
        UtM = M.left(Ut, Ut, np.zeros((problem.rank, M.shape[1]), M.dtype))
        V = keep_largest(UtM, nonzeros_for(self.k, problem.rank))
        return Factors(Ut, V, M.residual_from(Ut, V, UtM, Ut @ Ut.T, V @ V.T))
