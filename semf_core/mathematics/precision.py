"""Single precision for what is only looked at, where it has numbers for the values."""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def fits_single(A: Array) -> bool:
    """Whether the largest entry stays a number in float32: not beyond 3·10³⁸, and not below 10⁻³⁸ unless all are zero."""
    sizes = np.abs(A[np.isfinite(A)])
    peak, known = float(sizes.max(initial=0.0)), np.finfo(np.float32)
    return peak == 0 or float(known.tiny) <= peak <= float(known.max)


def single(A: Array) -> Array:
    """A in float32, or as it is where it would become infinite or vanish."""
    return A.astype(np.float32) if fits_single(A) else A
