"""Algorithms behind one protocol, and the run loop they share."""

from semf_core.solvers.admm import ADMM
from semf_core.solvers.base import SOLVERS, Case, Frame, Problem, Solver, State
from semf_core.solvers.ksvd import KSVD, OptimalDirections
from semf_core.solvers.nmf import MultiplicativeNMF
from semf_core.solvers.online import OnlineDictionary
from semf_core.solvers.orthonormal import OrthonormalDictionary
from semf_core.solvers.run import COLUMNS, Event, History, Limits, Run
from semf_core.solvers.spectral import LatentSemanticIndexing, PrincipalComponents, TruncatedSVD

__all__ = [
    "ADMM",
    "COLUMNS",
    "KSVD",
    "SOLVERS",
    "Case",
    "Event",
    "Frame",
    "History",
    "LatentSemanticIndexing",
    "Limits",
    "MultiplicativeNMF",
    "OnlineDictionary",
    "OptimalDirections",
    "OrthonormalDictionary",
    "PrincipalComponents",
    "Problem",
    "Run",
    "Solver",
    "State",
    "TruncatedSVD",
]
