"""The small picture in a file from a stranger."""

from __future__ import annotations

import io

from PIL import Image

from semf_core.common.errors import InvalidInput

LARGEST = 1600
MOST_BYTES = 1 << 20


def checked_thumbnail(data: bytes) -> bytes:
    """A small PNG and nothing else."""
    try:
        if len(data) > MOST_BYTES:
            raise ValueError("too large")
        with Image.open(io.BytesIO(data), formats=("PNG",)) as image:
            size = image.size
            image.verify()
        if max(size) > LARGEST:
            raise ValueError("too large")
    except Exception:  # any failure of the decoder on foreign bytes is the same error
        raise InvalidInput("thumbnail", "is not a small PNG picture", "save the run again") from None
    return data
