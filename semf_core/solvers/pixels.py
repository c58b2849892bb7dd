"""Where the rows of M lie in the images that its samples are."""

from __future__ import annotations

import numpy as np

from semf_core.solvers.base import Array, Problem


def image_sides(problem: Problem) -> tuple[int, int]:
    """Height and width of a sample; data without an image shape is a line."""
    return problem.image_shape or (problem.shape[0], 1)


def pixel_places(problem: Problem) -> tuple[Array, Array]:
    """Row and column in the image for each row of the problem's M, from which zero rows may have been left out."""
    kept = np.arange(problem.shape[0]) if problem.rows is None else problem.rows
    down, across = np.divmod(kept, image_sides(problem)[1])
    return down, across
