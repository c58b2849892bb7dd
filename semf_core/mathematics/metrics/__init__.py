"""How good a factorization is: fit, sparseness, overlap, and agreement with a known truth.

Nothing here divides by zero: an empty column has cosine 0 with everything and overlaps nothing.
"""

from semf_core.mathematics.metrics.fit import frobenius_norm, relative_error, residual, rmse, snr_db
from semf_core.mathematics.metrics.sparsity import (
    cosines,
    empty_columns,
    hoyer_sparseness,
    nonzero_fraction,
    nonzeros,
    overlap,
    unit_peak,
)
from semf_core.mathematics.metrics.truth import (
    CLEAN,
    FOUND,
    Matching,
    agreement,
    atom_distances,
    beside,
    dictionary_distance,
    ghosts,
    groups_correct,
    match_parts,
    parts_found,
    recovered_atoms,
    without_vanished,
)

__all__ = [
    "CLEAN",
    "FOUND",
    "Matching",
    "agreement",
    "atom_distances",
    "beside",
    "cosines",
    "dictionary_distance",
    "empty_columns",
    "frobenius_norm",
    "ghosts",
    "groups_correct",
    "hoyer_sparseness",
    "match_parts",
    "nonzero_fraction",
    "nonzeros",
    "overlap",
    "parts_found",
    "recovered_atoms",
    "relative_error",
    "residual",
    "rmse",
    "snr_db",
    "unit_peak",
    "without_vanished",
]
