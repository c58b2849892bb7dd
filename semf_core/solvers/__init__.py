"""Algorithms behind one protocol, and the run loop they share."""

from semf_core.solvers.admm import ADMM
from semf_core.solvers.base import SOLVERS, Case, Frame, Problem, Solver, State
from semf_core.solvers.csmf import CSMF, CSMFnc, CSMFncc
from semf_core.solvers.divergence import LNMF, NsNMF
from semf_core.solvers.nmf import CoordinateNMF, FixedPenaltyNMF, MultiplicativeNMF, ProjectedGradientNMF
from semf_core.solvers.nnsc import NNSC
from semf_core.solvers.run import COLUMNS, Event, History, Limits, Run

__all__ = [
    "ADMM",
    "COLUMNS",
    "CSMF",
    "LNMF",
    "NNSC",
    "SOLVERS",
    "CSMFnc",
    "CSMFncc",
    "Case",
    "CoordinateNMF",
    "Event",
    "FixedPenaltyNMF",
    "Frame",
    "History",
    "Limits",
    "MultiplicativeNMF",
    "NsNMF",
    "Problem",
    "ProjectedGradientNMF",
    "Run",
    "Solver",
    "State",
]
