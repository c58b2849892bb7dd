"""Pictures as matrices: one file is a matrix of its pixels, several of one size are a column each."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence

import numpy as np
from PIL import Image

from semf_core.datasets.base import Array
from semf_core.datasets.reading import Limits, Raw, shown
from semf_core.parameters import InvalidInput

IMAGE_ENDINGS = (".png", ".jpg", ".jpeg", ".pgm", ".pbm", ".ppm", ".pnm", ".tif", ".tiff", ".bmp")
FORMATS = ("PNG", "JPEG", "PPM", "TIFF", "BMP")
DEEP_MODES = ("I", "F", "I;16", "I;16B", "I;16L")
"""Grey values beyond 8 bits, which a conversion to 8 bits would destroy."""

NamedContent = tuple[str, Callable[[], bytes]]
"""A picture's name and how to get its bytes, so that only one is in memory at a time."""


def is_image(filename: str) -> bool:
    return filename.lower().endswith(IMAGE_ENDINGS)


def read_image(name: str, content: bytes, limits: Limits) -> tuple[Array, str]:
    """Grey values as stored (0..255 for ordinary files, no scaling), and a note if pages were left out."""
    try:
        picture = Image.open(io.BytesIO(content), formats=FORMATS)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise InvalidInput(name, f"has more than {limits.max_pixels:,} pixels; scale the picture down") from None
    except Exception:
        raise InvalidInput(name, "is not a readable PNG, JPEG, PGM, TIFF or BMP picture; save it again as PNG") from None
    with picture:
        limits.check_pixels(name, *picture.size)
        try:
            grey = picture if picture.mode in DEEP_MODES else picture.convert("L")
            values = np.array(grey, dtype=float)
            note = "Only the first page of the picture was read." if _has_second_page(picture) else ""
        except Exception:  # decoders fail on damaged files in many ways
            raise InvalidInput(name, "is a damaged picture; save it again as PNG") from None
    return values, note


def _has_second_page(picture: Image.Image) -> bool:
    try:
        picture.seek(1)
    except EOFError:
        return False
    return True


def stack_images(name: str, pictures: Sequence[NamedContent], limits: Limits) -> Raw:
    """One column for each picture in natural order of names; folders, if there are several, are labels."""
    ordered = sorted(pictures, key=lambda item: natural_key(item[0]))
    limits.check_members(name, len(ordered))
    columns: Array | None = None
    size: tuple[int, ...] = ()
    notes = set()
    for j, (filename, content) in enumerate(ordered):
        values, note = read_image(f"{name}, {shown(filename)}" if filename != name else name, content(), limits)
        notes.add(note)
        if columns is None:
            size = values.shape
            limits.check_entries(name, values.size, len(ordered))
            # Written a picture at a time, so a row of this array is a sample; it is handed out transposed.
            columns = np.empty((len(ordered), values.size))
        if values.shape != size:
            found = f"{shown(filename)} has {_size_text(values.shape)} pixels and {shown(ordered[0][0])} has {_size_text(size)}"
            raise InvalidInput(name, f"{found}; bring all pictures to one size")
        columns[j] = values.ravel()
    if columns is None:
        raise InvalidInput(name, "holds no PNG, JPEG, PGM, TIFF or BMP picture; add some, or choose a table file itself")
    labels = _folder_labels([filename for filename, _ in ordered])
    return Raw(columns.T, (size[0], size[1]), labels, note=" ".join(notes - {""}), samples_fixed=True)


def natural_key(text: str) -> list[tuple[int, int, str]]:
    """Sort key under which 2.png comes before 10.png."""
    pieces = re.findall(r"\d+|\D+", text)
    return [(0, int(p), "") if p.isdecimal() and len(p) < 20 else (1, 0, p) for p in pieces]


def _size_text(shape: tuple[int, ...]) -> str:
    return f"{shape[1]} × {shape[0]}"


def _folder_labels(filenames: Sequence[str]) -> Array | None:
    folders = [f.rpartition("/")[0].rpartition("/")[2] for f in filenames]
    return np.array(folders) if len(set(folders)) > 1 else None
