"""A small picture of a run: its basis, and below it how the residual fell."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image, ImageDraw

from semf_core.datasets import Dataset
from semf_core.exports.curves import COLOURS
from semf_core.exports.story import RESIDUAL, from_run
from semf_core.runs.folder import RunFolder

SIZE = (320, 200)
MARGIN = 8
STRIP = 40
"""Height of the curve."""
GROUND = (205, 214, 225)
FINE = 4
"""The curve is drawn this much larger and then reduced, which smooths it."""


def thumbnail(folder: RunFolder, dataset: Dataset | None) -> bytes:
    """A small picture of a run, for lists.

    Parameters
    ----------
    folder : RunFolder
        The run.
    dataset : Dataset, optional
        Its data, if it is there.

    Returns
    -------
    bytes
        A PNG of 320×200 pixels.
    """
    story = from_run(folder, dataset)
    width, height = SIZE
    canvas = Image.new("RGBA", SIZE, (*GROUND, 255))
    curve = story.rows[:, RESIDUAL]
    curve = curve[np.isfinite(curve) & (curve > 0)]
    room = height - MARGIN - (STRIP + MARGIN if len(curve) > 1 else MARGIN)
    montage = story.basis(story.final.U).fitted(width - 2 * MARGIN, room)
    canvas.alpha_composite(montage, ((width - montage.width) // 2, MARGIN + (room - montage.height) // 2))
    if len(curve) > 1:
        canvas.alpha_composite(_sparkline(curve), (0, height - STRIP))
    file = io.BytesIO()
    canvas.convert("RGB").quantize(64).save(file, "PNG", optimize=True)
    return file.getvalue()


def _sparkline(values: np.ndarray) -> Image.Image:
    """A falling line on a logarithmic scale."""
    width, height = SIZE[0] * FINE, STRIP * FINE
    strip = Image.new("RGBA", (width, height), (255, 255, 255, 255))
    logs = np.log10(values[np.linspace(0, len(values) - 1, min(len(values), SIZE[0])).round().astype(int)])
    span = float(np.ptp(logs)) or 1.0
    edge = MARGIN * FINE
    x = np.linspace(edge, width - edge, len(logs))
    y = edge + (height - 2 * edge) * (logs.max() - logs) / span
    pen = ImageDraw.Draw(strip)
    pen.line(list(zip(x.tolist(), y.tolist(), strict=True)), fill=COLOURS["light"]["blue"], width=2 * FINE, joint="curve")
    return strip.resize((SIZE[0], STRIP), Image.Resampling.BOX)
