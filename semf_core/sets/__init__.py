"""Structure sets: what can be enforced on a factor."""

from semf_core.common.registry import discover
from semf_core.sets.base import SETS, StructureSet, VectorSet
from semf_core.sets.counting import EqualNonzeros, GroupSparse, Sparse
from semf_core.sets.coupled import DisjointSupports, OrthogonalTo, Orthonormal
from semf_core.sets.custom import Custom
from semf_core.sets.entrywise import Box, FixedColumns, Nonnegative, Support
from semf_core.sets.intersection import ROUNDS, Intersection, combine, in_rounds, members_of, set_from_dict, without_rounds
from semf_core.sets.norms import L1Ball, NormBall, Simplex, UnitNorm
from semf_core.sets.shapes import Monotone, Smooth, Unimodal
from semf_core.sets.sparseness import GroupSparseness, Sparseness

__all__ = [
    "ROUNDS",
    "SETS",
    "Box",
    "Custom",
    "DisjointSupports",
    "EqualNonzeros",
    "FixedColumns",
    "GroupSparse",
    "GroupSparseness",
    "Intersection",
    "L1Ball",
    "Monotone",
    "Nonnegative",
    "NormBall",
    "OrthogonalTo",
    "Orthonormal",
    "Simplex",
    "Smooth",
    "Sparse",
    "Sparseness",
    "StructureSet",
    "Support",
    "Unimodal",
    "UnitNorm",
    "VectorSet",
    "combine",
    "in_rounds",
    "members_of",
    "set_from_dict",
    "without_rounds",
]

discover(__name__, __path__, "semf.sets")
