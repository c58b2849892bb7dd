"""Reverse-convex programming for sparse factorizations: sequences of second-order cone programs."""

from semf_core.solvers.reverse_convex.maximise import SparsityMax
from semf_core.solvers.reverse_convex.pca import SparsePCA
from semf_core.solvers.reverse_convex.relaxed import RelaxedSparsity
from semf_core.solvers.reverse_convex.tangent import TangentPlane

__all__ = ["RelaxedSparsity", "SparsePCA", "SparsityMax", "TangentPlane"]
