"""A small picture of the parts that a run has found."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from semf_core.parameters import InvalidInput
from semf_core.pictures import GAP, basis
from semf_core.scores import model_groups
from semf_core.sets import StructureSet

MOST_PARTS = 25
LARGEST = 400
MOST_BYTES = 1 << 20


def thumbnail(U: np.ndarray, image_shape: tuple[int, int] | None, y_set: StructureSet) -> bytes:
    """The first columns of U as a PNG file of at most LARGEST pixels a side, with transparent gaps."""
    groups = model_groups(y_set) if U.shape[1] <= MOST_PARTS else None
    picture = basis(np.nan_to_num(U[:, :MOST_PARTS]), image_shape, groups)
    if max(picture.width, picture.height) <= LARGEST:
        return picture.png
    image = picture.image()
    image.info["transparency"] = GAP
    small = image.convert("RGBA")
    small.thumbnail((LARGEST, LARGEST), Image.Resampling.BOX)
    file = io.BytesIO()
    small.save(file, "PNG", compress_level=6)
    return file.getvalue()


def checked_thumbnail(data: bytes) -> bytes:
    """The picture of a file from a stranger: a small PNG and nothing else."""
    try:
        if len(data) > MOST_BYTES:
            raise ValueError("too large")
        with Image.open(io.BytesIO(data), formats=("PNG",)) as image:
            size = image.size
            image.verify()
        if max(size) > 4 * LARGEST:
            raise ValueError("too large")
    except Exception:  # any failure of the decoder on foreign bytes is the same refusal
        raise InvalidInput("thumbnail", "is not a small PNG picture; save the run again") from None
    return data
