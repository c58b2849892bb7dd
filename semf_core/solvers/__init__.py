"""Algorithms behind one protocol, and the run loop they share."""

from semf_core.solvers.admm import ADMM
from semf_core.solvers.base import SOLVERS, Case, Frame, Problem, Solver, State
from semf_core.solvers.mixed_norm import MixedNormNMF
from semf_core.solvers.nmf import MultiplicativeNMF
from semf_core.solvers.nmf_l0 import CountedCodesNMF, CountedPartsNMF
from semf_core.solvers.nmfsc import SparsenessNMF
from semf_core.solvers.reverse_convex import RelaxedSparsity, SparsePCA, SparsityMax, TangentPlane
from semf_core.solvers.run import COLUMNS, Event, History, Limits, Run

__all__ = [
    "ADMM",
    "COLUMNS",
    "SOLVERS",
    "Case",
    "CountedCodesNMF",
    "CountedPartsNMF",
    "Event",
    "Frame",
    "History",
    "Limits",
    "MixedNormNMF",
    "MultiplicativeNMF",
    "Problem",
    "RelaxedSparsity",
    "Run",
    "Solver",
    "SparsePCA",
    "SparsenessNMF",
    "SparsityMax",
    "State",
    "TangentPlane",
]
