"""Algorithms behind one protocol, and the run loop they share."""

from semf_core.common.registry import discover
from semf_core.solvers.admm import ADMM
from semf_core.solvers.anls import AlternatingNNLS
from semf_core.solvers.base import SOLVERS, Case, Frame, Problem, Solver, State
from semf_core.solvers.csmf import CSMF, CSMFnc, CSMFncc
from semf_core.solvers.divergence import LNMF, DivergenceFitNMF, NsNMF
from semf_core.solvers.ehals import ExtrapolatedNMF
from semf_core.solvers.fixed_dictionary import SparseCoding
from semf_core.solvers.history import COLUMNS, Event, History
from semf_core.solvers.independent import FastICA, NonnegativeICA
from semf_core.solvers.ksvd import KSVD, OptimalDirections
from semf_core.solvers.lasso_pca import LassoPCA
from semf_core.solvers.limits import Limits
from semf_core.solvers.local_features import LocalFeatures
from semf_core.solvers.mixed_norm import MixedNormNMF
from semf_core.solvers.nmf import CoordinateNMF, FixedPenaltyNMF, MultiplicativeNMF, ProjectedGradientNMF
from semf_core.solvers.nmf_l0 import CountedCodesNMF, CountedPartsNMF
from semf_core.solvers.nmfsc import SparsenessNMF
from semf_core.solvers.nnsc import NNSC
from semf_core.solvers.nonnegative_pca import NonnegativePCA
from semf_core.solvers.online import OnlineDictionary
from semf_core.solvers.orthonormal import OrthonormalDictionary
from semf_core.solvers.prototypes import KMeans, LikelihoodDictionary
from semf_core.solvers.relative import RelativeADMM
from semf_core.solvers.reverse_convex import RelaxedSparsity, SparsePCA, SparsityMax, TangentPlane
from semf_core.solvers.run import Run
from semf_core.solvers.spatial import SpatialNCA, SpatialNMF
from semf_core.solvers.spectral import LatentSemanticIndexing, PrincipalComponents, TruncatedSVD
from semf_core.solvers.structured_pca import StructuredSparsePCA
from semf_core.solvers.titan import InertialNMF

DEFAULT = RelativeADMM
"""The algorithm of a model that names none."""

__all__ = [
    "ADMM",
    "COLUMNS",
    "CSMF",
    "DEFAULT",
    "KSVD",
    "LNMF",
    "NNSC",
    "SOLVERS",
    "AlternatingNNLS",
    "CSMFnc",
    "CSMFncc",
    "Case",
    "CoordinateNMF",
    "CountedCodesNMF",
    "CountedPartsNMF",
    "DivergenceFitNMF",
    "Event",
    "ExtrapolatedNMF",
    "FastICA",
    "FixedPenaltyNMF",
    "Frame",
    "History",
    "InertialNMF",
    "KMeans",
    "LassoPCA",
    "LatentSemanticIndexing",
    "LikelihoodDictionary",
    "Limits",
    "LocalFeatures",
    "MixedNormNMF",
    "MultiplicativeNMF",
    "NonnegativeICA",
    "NonnegativePCA",
    "NsNMF",
    "OnlineDictionary",
    "OptimalDirections",
    "OrthonormalDictionary",
    "PrincipalComponents",
    "Problem",
    "ProjectedGradientNMF",
    "RelativeADMM",
    "RelaxedSparsity",
    "Run",
    "Solver",
    "SparseCoding",
    "SparsePCA",
    "SparsenessNMF",
    "SparsityMax",
    "SpatialNCA",
    "SpatialNMF",
    "State",
    "StructuredSparsePCA",
    "TangentPlane",
    "TruncatedSVD",
]

discover(__name__, __path__, "semf.solvers")
