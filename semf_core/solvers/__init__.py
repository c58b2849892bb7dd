"""Algorithms behind one protocol, and the run loop they share."""

from semf_core.solvers.admm import ADMM
from semf_core.solvers.base import SOLVERS, Case, Frame, Problem, Solver, State
from semf_core.solvers.nmf import MultiplicativeNMF
from semf_core.solvers.run import COLUMNS, Event, History, Limits, Run

__all__ = [
    "ADMM",
    "COLUMNS",
    "SOLVERS",
    "Case",
    "Event",
    "Frame",
    "History",
    "Limits",
    "MultiplicativeNMF",
    "Problem",
    "Run",
    "Solver",
    "State",
]
