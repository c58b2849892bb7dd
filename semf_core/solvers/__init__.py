"""Algorithms behind one protocol, and the run loop they share."""

from semf_core.solvers.admm import ADMM
from semf_core.solvers.base import SOLVERS, Case, Frame, Problem, Solver, State
from semf_core.solvers.csmf import CSMF, CSMFnc, CSMFncc
from semf_core.solvers.divergence import LNMF, NsNMF
from semf_core.solvers.ksvd import KSVD, OptimalDirections
from semf_core.solvers.mixed_norm import MixedNormNMF
from semf_core.solvers.nmf import CoordinateNMF, FixedPenaltyNMF, MultiplicativeNMF, ProjectedGradientNMF
from semf_core.solvers.nmf_l0 import CountedCodesNMF, CountedPartsNMF
from semf_core.solvers.nmfsc import SparsenessNMF
from semf_core.solvers.nnsc import NNSC
from semf_core.solvers.online import OnlineDictionary
from semf_core.solvers.orthonormal import OrthonormalDictionary
from semf_core.solvers.reverse_convex import RelaxedSparsity, SparsePCA, SparsityMax, TangentPlane
from semf_core.solvers.run import COLUMNS, Event, History, Limits, Run
from semf_core.solvers.spectral import LatentSemanticIndexing, PrincipalComponents, TruncatedSVD

__all__ = [
    "ADMM",
    "COLUMNS",
    "CSMF",
    "KSVD",
    "LNMF",
    "NNSC",
    "SOLVERS",
    "CSMFnc",
    "CSMFncc",
    "Case",
    "CoordinateNMF",
    "CountedCodesNMF",
    "CountedPartsNMF",
    "Event",
    "FixedPenaltyNMF",
    "Frame",
    "History",
    "LatentSemanticIndexing",
    "Limits",
    "MixedNormNMF",
    "MultiplicativeNMF",
    "NsNMF",
    "OnlineDictionary",
    "OptimalDirections",
    "OrthonormalDictionary",
    "PrincipalComponents",
    "Problem",
    "ProjectedGradientNMF",
    "RelaxedSparsity",
    "Run",
    "Solver",
    "SparsePCA",
    "SparsenessNMF",
    "SparsityMax",
    "State",
    "TangentPlane",
    "TruncatedSVD",
]
