"""Pictures as matrices: one file is a matrix of its pixels, several of one size are a column each."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from PIL import Image, ImageChops

from semf_core.common.errors import InvalidInput
from semf_core.common.extras import optional
from semf_core.datasets.axes import Axes, Axis
from semf_core.datasets.base import Array, check_real
from semf_core.datasets.reading import Limits, Raw, is_readable, shown
from semf_core.datasets.stacks import matrix_or_stack, stacked

IMAGE_ENDINGS = (".png", ".jpg", ".jpeg", ".pgm", ".pbm", ".ppm", ".pnm", ".tif", ".tiff", ".bmp")
FORMATS = ("PNG", "JPEG", "PPM", "TIFF", "BMP")
TIFF = (b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+")
"""How TIFF files begin, those beyond 4 GB among them."""
BANDS = "SC"
"""What tifffile calls the samples of a pixel and the channels of a microscope."""
DEEP_MODES = ("I", "F", "I;16", "I;16B", "I;16L")
"""Grey values beyond 8 bits, which a conversion to 8 bits would destroy."""
GREY_MODES = ("1", "L", "LA", "La", *DEEP_MODES)
CHANNELS = ("red", "green", "blue")
COLOURED = "{}: red, green and blue are kept apart; choose grey for one value a pixel."
NamedContent = tuple[str, Callable[[], bytes]]
"""A picture's name and how to get its bytes, so that only one is in memory at a time."""


def is_image(filename: str) -> bool:
    return filename.lower().endswith(IMAGE_ENDINGS)


def read_image(name: str, content: bytes, colour: str, stack: str, limits: Limits) -> Raw:
    """Grey values as stored (0..255 for ordinary files, no scaling); channels or pages are a 3-D array."""
    tiff = content[:4] in TIFF
    try:
        picture = _opened(name, content, limits)
        several = tiff and _has_second_page(picture)
    except InvalidInput:
        if not tiff:
            raise
        several = True  # one page in many bands, which Pillow does not know
    if several:
        pages, told = _pages(name, content, limits)
        return matrix_or_stack(pages, {}, stack, told=told)
    limits.check_entries(name, *picture.size)
    judged = colour == "auto" and _is_coloured(name, picture, limits)
    if picture.mode in DEEP_MODES or not (judged or colour == "channels"):
        return Raw(_decoded(name, picture))
    limits.check_entries(name, len(CHANNELS), math.prod(picture.size))
    raw = stacked(_decoded(name, picture, "RGB"), "bands-last", {"row_names": np.array(CHANNELS)})
    return replace(raw, colour="channels", remarks=(COLOURED.format("The picture has colours"),) if judged else raw.remarks)


def _pages(name: str, content: bytes, limits: Limits) -> tuple[Array, str]:
    """All pages of a TIFF file, or its only one if it has bands, as a 3-D array, and what its axes say that they are."""
    with optional():
        import tifffile
    try:
        with tifffile.TiffFile(io.BytesIO(content)) as file:
            series = file.series[0]
            shape = tuple(side for side in series.shape if side > 1)
            axes = "".join(axis for axis, side in zip(series.axes, series.shape, strict=True) if side > 1)
            limits.check_entries(name, math.prod(shape[:1]), math.prod(shape[1:]))
            limits.check_members(name, len(file.pages))
            if len(shape) < 2 or not is_readable(shape):
                raise InvalidInput(name, f"has pages of {len(shape)} dimensions", "save a stack of grey pictures")
            check_real(name, series.dtype)
            pages = series.asarray(maxworkers=1).reshape(shape)
    except (InvalidInput, MemoryError):
        raise
    except Exception:
        raise InvalidInput(name, "is a TIFF file whose pages cannot be read", "save it again without compression") from None
    told = "bands-last" if axes[-1] in BANDS else "bands-first" if axes[0] in BANDS else "pictures-first"
    return (pages, told) if pages.ndim > 2 else (pages[None], "pictures-first")


def _opened(name: str, content: bytes, limits: Limits) -> Image.Image:
    """A picture whose header was read and judged; its pixels are not decoded yet."""
    try:
        picture = Image.open(io.BytesIO(content), formats=FORMATS)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise InvalidInput(name, f"has more than {limits.max_pixels:,} pixels", "scale the picture down") from None
    except Exception:
        raise InvalidInput(name, "is not a readable PNG, JPEG, PGM, TIFF or BMP picture", "save it again as PNG") from None
    limits.check_pixels(name, *picture.size)
    return picture


def _decoded(name: str, picture: Image.Image, mode: str = "L") -> Array:
    with picture:
        try:
            return np.array(picture if picture.mode in DEEP_MODES else picture.convert(mode), dtype=float)
        except MemoryError:
            raise
        except Exception:  # decoders fail on damaged files in many ways
            raise InvalidInput(name, "is a damaged picture", "save it again as PNG") from None


def _is_coloured(name: str, picture: Image.Image, limits: Limits, count: int = 1) -> bool:
    """Whether it has any pixel that is not grey, and there is room for the channels of so many."""
    if picture.mode in GREY_MODES or len(CHANNELS) * math.prod(picture.size) * count > limits.max_entries:
        return False
    try:
        red, green, blue = picture.convert("RGB").split()
        return any(ImageChops.difference(red, other).getbbox() is not None for other in (green, blue))
    except MemoryError:
        raise
    except Exception:  # decoders fail on damaged files in many ways
        raise InvalidInput(name, "is a damaged picture", "save it again as PNG") from None


def _has_second_page(picture: Image.Image) -> bool:
    try:
        picture.seek(1)
        return True
    except EOFError:
        return False
    except MemoryError:
        raise
    except Exception:  # a damaged list of pages
        raise InvalidInput("picture", "is damaged", "save it again as PNG") from None
    finally:
        picture.seek(0)


def stack_images(name: str, pictures: Sequence[NamedContent], colour: str, limits: Limits) -> Raw:
    """One column for each picture in natural order of names; folders, if there are several, are labels.

    With `colour` "channels" red, green and blue of a picture stand one above the other, with "auto" if any has colours.
    """
    ordered = sorted(pictures, key=lambda item: natural_key(item[0]))
    if not ordered:
        raise InvalidInput(name, "holds no PNG, JPEG, PGM, TIFF or BMP picture", "add some, or choose a table file itself")
    limits.check_members(name, len(ordered))
    judged = colour == "auto" and any(
        _is_coloured(shown(f), _opened(shown(f), content(), limits), limits, len(ordered)) for f, content in ordered
    )
    colour = "channels" if judged or colour == "channels" else "grey"
    size, columns = (0, 0), np.empty((0, 0))
    mode, planes = ("RGB", len(CHANNELS)) if colour == "channels" else ("L", 1)
    for j, (filename, content) in enumerate(ordered):
        place = f"{name}, {shown(filename)}" if filename != name else name
        picture = _opened(place, content(), limits)
        if j == 0:
            size = picture.size
            limits.check_entries(name, planes * math.prod(size), len(ordered))
            # Written a picture at a time, so a row of this array is a sample; it is handed out transposed.
            columns = np.empty((len(ordered), planes * math.prod(size)))
        if picture.size != size:
            found = f"{shown(filename)} has {_size_text(picture.size)} pixels and {shown(ordered[0][0])} has {_size_text(size)}"
            raise InvalidInput(name, found, "bring all pictures to one size", whole=True)
        values = _decoded(place, picture, mode)
        columns[j] = (values.transpose(2, 0, 1) if values.ndim == 3 else np.stack([values] * planes)).ravel()
    names = [filename for filename, _ in ordered]
    axes = Axes(columns=Axis("picture", names=tuple(names)))
    remarks = (COLOURED.format("The pictures have colours"),) if judged else ()
    shape = (planes * size[1], size[0])
    return Raw(columns.T, shape, _folder_labels(names), samples_fixed=True, axes=axes, colour=colour, remarks=remarks)


def natural_key(text: str) -> list[tuple[int, int, str]]:
    """Sort key under which 2.png comes before 10.png."""
    pieces = re.findall(r"\d+|\D+", text)
    return [(0, int(p), "") if p.isdecimal() and len(p) < 20 else (1, 0, p) for p in pieces]


def _size_text(size: tuple[int, int]) -> str:
    return f"{size[0]} × {size[1]}"


def _folder_labels(filenames: Sequence[str]) -> Array | None:
    folders = [f.rpartition("/")[0].rpartition("/")[2] for f in filenames]
    return np.array(folders) if len(set(folders)) > 1 else None
