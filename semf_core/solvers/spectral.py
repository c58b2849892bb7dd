"""Factorizations in closed form: truncated SVD, principal components, latent semantic indexing."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import svds

from semf_core.common.extras import optional
from semf_core.common.parameters import InvalidInput, param
from semf_core.mathematics.matrix import DataMatrix, DenseMatrix, SparseMatrix
from semf_core.sets import Box, Orthonormal, UnitNorm
from semf_core.solvers.base import SOLVERS, Array, HalfStep, Problem, Sets, State
from semf_core.solvers.direct import CLOSED, Direct, Factors

FULL_COST = 4e9
"""m·n·min(m, n) up to which the whole decomposition of a dense matrix is computed (a few seconds on one core)."""


def plain_array(matrix: DataMatrix) -> Any:
    """M itself, as an array or a scipy.sparse matrix."""
    assert isinstance(matrix, DenseMatrix | SparseMatrix)  # "complete" has seen to it
    return matrix.array if isinstance(matrix, SparseMatrix) else np.asarray(matrix.array, dtype=matrix.dtype)


def decomposed_whole(matrix: DataMatrix, components: int) -> bool:
    """Whether all singular values are computed, or only the leading ones by a Lanczos method (which needs one to spare)."""
    m, n = matrix.shape
    affordable = isinstance(matrix, DenseMatrix) and m * n * min(m, n) <= FULL_COST
    return affordable or components >= min(m, n)


def leading_svd(matrix: DataMatrix, A: Any, p: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """(U, ΣVᵀ) with the p largest singular values of A, in falling order."""
    if decomposed_whole(matrix, p):
        dense = A if isinstance(A, np.ndarray) else A.toarray()
        U, values, Vt = scipy.linalg.svd(dense, full_matrices=False)
        return U[:, :p], values[:p, None] * Vt[:p]
    U, values, Vt = svds(A, p, rng=rng)
    order = np.argsort(-values)
    return U[:, order], values[order, None] * Vt[order]


def signed(U: Array, V: Array) -> tuple[Array, Array]:
    """The same product with the largest entry of each column of U positive: a decomposition leaves signs open."""
    peaks = U[np.abs(U).argmax(axis=0), np.arange(U.shape[1])]
    signs = np.where(peaks < 0, -1, 1).astype(U.dtype)
    return U * signs, V * signs[:, None]


def components_exist(shape: tuple[int, int], rank: int) -> None:
    """Reject a rank above the number of singular values."""
    most = min(shape)
    if rank > most:
        raise InvalidInput("rank", f"is {rank}, but a {shape[0]}×{shape[1]} matrix has only {most} components", "lower it")


def closed_form(U: str, V: str) -> tuple[HalfStep, ...]:
    """What the factors are, in LaTeX: there are no steps."""
    return HalfStep("U", U, CLOSED), HalfStep("V", V, CLOSED)


class Spectral(Direct):
    """Solved when it begins; an iteration changes nothing, so a run has converged as soon as that is seen."""

    own_start: ClassVar[str] = "the singular vectors, which are the answer"
    family: ClassVar[str] = "Spectral"
    needs: ClassVar[tuple[str, ...]] = ("complete",)
    data_buffers: ClassVar[float] = 7

    def structure(self, shape: tuple[int, int], rank: int) -> tuple[Sets, Sets]:
        components_exist(shape, rank)
        return self.claims(rank)

    def claims(self, rank: int) -> tuple[Sets, Sets]:
        """The sets that U and V are in."""
        return (Orthonormal(),), ()

    def solve(self, problem: Problem, rng: np.random.Generator) -> tuple[Array, Array]:
        """U and V."""
        raise NotImplementedError

    def begin(self, problem: Problem, rng: np.random.Generator, state: State) -> Factors:
        U, V = self.solve(problem, rng)
        return Factors(np.ascontiguousarray(U.T), np.ascontiguousarray(V))

    def update(self, problem: Problem, state: State) -> Factors:
        p = state.rank
        return Factors(state.W[:p], state.Z[:p], state.numbers["residual"])


@SOLVERS.register
class TruncatedSVD(Spectral):
    """The p leading singular triples: no factorization of rank p is nearer to M (Eckart and Young)."""

    name: ClassVar[str] = "svd"
    title: ClassVar[str] = "Truncated SVD"
    summary: ClassVar[str] = "the best fit of all at this rank, without any structure but orthogonality"
    enforces: ClassVar[str] = "orthonormal columns of U, orthogonal rows of V"
    reference: ClassVar[str] = "eckart-young"

    def objective(self) -> str:
        return r"\min_{U,V}\ \|M-UV\|_F^2 \quad\text{s.t.}\quad U^TU=I"

    def half_steps(self) -> tuple[HalfStep, ...]:
        return closed_form(r"U = (q_1,\dots,q_p),\quad M = Q\Sigma W^\top", r"V = U^\top M")

    def solve(self, problem: Problem, rng: np.random.Generator) -> tuple[Array, Array]:
        return signed(*leading_svd(problem.matrix, plain_array(problem.matrix), problem.rank, rng))


@SOLVERS.register
class PrincipalComponents(Spectral):
    """The mean sample and the p − 1 leading directions around it: M ≈ u₁1ᵀ + U′V′."""

    name: ClassVar[str] = "pca"
    title: ClassVar[str] = "PCA"
    summary: ClassVar[str] = "the mean sample, and the orthonormal directions in which the samples vary most around it"
    enforces: ClassVar[str] = "the first component is the mean, with weight 1 in every sample; the others are orthonormal"
    reference: ClassVar[str] = "eckart-young"

    def objective(self) -> str:
        mean = r"U_1=\tfrac1n M\mathbf 1,\; V_{1\cdot}=\mathbf 1^T"
        return rf"\min_{{U,V}}\ \|M-UV\|_F^2 \quad\text{{s.t.}}\quad {mean},\; U_{{2:p}}^TU_{{2:p}}=I"

    def half_steps(self) -> tuple[HalfStep, ...]:
        mean = r"u_1 = \tfrac1n M\mathbf 1,\quad U_{2:p} = (q_1,\dots,q_{p-1}),\ M-u_1\mathbf 1^\top = Q\Sigma W^\top"
        return closed_form(mean, r"v_{1:} = \mathbf 1^\top,\quad V_{2:p} = U_{2:p}^\top(M-u_1\mathbf 1^\top)")

    def claims(self, rank: int) -> tuple[Sets, Sets]:
        others = (UnitNorm(columns=tuple(range(1, rank))),) if rank > 1 else ()
        return others, (Box(1, 1, axis="row", columns=(0,)),)

    def solve(self, problem: Problem, rng: np.random.Generator) -> tuple[Array, Array]:
        M, p = problem.matrix, problem.rank
        samples = plain_array(M).T
        if p == 1:
            return np.asarray(samples.mean(axis=0)).reshape(-1, 1), np.ones((1, M.shape[1]))
        # scikit-learn takes a second or two to import; only those who want it should wait.
        with optional():
            from sklearn.decomposition import PCA

        whole = isinstance(samples, np.ndarray) and decomposed_whole(M, p - 1)
        found = PCA(p - 1, svd_solver="full" if whole else "arpack", random_state=int(rng.integers(2**31)))
        scores = found.fit_transform(samples)
        U, V = signed(found.components_.T, scores.T)
        return np.column_stack((found.mean_, U)), np.vstack((np.ones(M.shape[1]), V))


@SOLVERS.register
class LatentSemanticIndexing(Spectral):
    """Terms and documents in one space of p concepts: the truncated SVD of a term-document matrix.

    With weights w the fit is min ‖diag(w)(M − UV)‖², solved by the SVD of diag(w)M; idf weights
    w_i = 1 + log((1+n)/(1+d_i)), d_i the documents that hold term i, count rare terms more.
    """

    name: ClassVar[str] = "lsi"
    title: ClassVar[str] = "LSI"
    summary: ClassVar[str] = "latent semantic indexing: concepts of a term-document matrix, whose rows are terms"
    enforces: ClassVar[str] = "orthogonal rows of V; without weights, orthonormal columns of U"
    reference: ClassVar[str] = "lsi"
    needs: ClassVar[tuple[str, ...]] = ("nonnegative", "complete")

    weights: str = param("choice", "none", choices=("none", "idf"), help="idf: a term that few documents hold counts more")

    def objective(self) -> str:
        if self.weights == "none":
            return r"\min_{U,V}\ \|M-UV\|_F^2 \quad\text{s.t.}\quad U^TU=I"
        return r"\min_{U,V}\ \|\operatorname{diag}(w)(M-UV)\|_F^2 \quad\text{s.t.}\quad U^T\operatorname{diag}(w)^2U=I"

    def half_steps(self) -> tuple[HalfStep, ...]:
        weighted = r"\operatorname{diag}(w)" if self.weights == "idf" else ""
        inverse = r"\operatorname{diag}(w)^{-1}" if weighted else ""
        leading = r"(q_1,\dots,q_p)"
        return closed_form(rf"U = {inverse}{leading},\quad {weighted}M = Q\Sigma W^\top", rf"V = {leading}^\top {weighted}M")

    def claims(self, rank: int) -> tuple[Sets, Sets]:
        return super().claims(rank) if self.weights == "none" else ((), ())

    def solve(self, problem: Problem, rng: np.random.Generator) -> tuple[Array, Array]:
        w, weighted = self.weighted(problem.matrix)
        U, V = signed(*leading_svd(problem.matrix, weighted, problem.rank, rng))
        return U / w, V

    def weighted(self, M: DataMatrix) -> tuple[Array, Any]:
        """w as a column, and diag(w)M."""
        A = plain_array(M)
        if self.weights == "none":
            return np.ones((A.shape[0], 1)), A
        documents = np.asarray((A != 0).sum(axis=1)).reshape(-1, 1)
        w = (1 + np.log((1 + A.shape[1]) / (1 + documents))).astype(M.dtype)
        return w, A * w if isinstance(A, np.ndarray) else A.multiply(w).tocsr()

    def cost(self, problem: Problem, state: State) -> float:
        """The weighted square: what V leaves of ‖diag(w)M‖²."""
        weighted = self.weighted(problem.matrix)[1]
        entries = weighted if isinstance(weighted, np.ndarray) else weighted.data
        return float(np.square(entries).sum() - np.square(state.V).sum())
