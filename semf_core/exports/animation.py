"""The basis as it evolves: one picture for each recorded frame, as GIF or WebP."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from semf_core.datasets import Dataset
from semf_core.drawing.pictures import GAP, HALF, palette
from semf_core.exports.story import Story, from_run
from semf_core.runs.folder import RunFolder
from semf_core.runs.frames import FactorFrame

Array = np.ndarray
WIDTH = 480
"""Small montages are enlarged to about this width."""
NARROWEST = 240
"""Room for the words."""
HEAD = 30
TEXT = 16
BAR = 3
MOST_FRAMES = 100
MOST_PIXELS = 40_000_000
"""Of all frames together."""
STEP_MS, HOLD_MS = 100, 2500
BAR_ENTRY = 80
COLOURS = palette("light")[:-3] + b"\xff\xff\xff"
"""The last entry, for the gaps, is white."""


def gif(folder: RunFolder, dataset: Dataset | None) -> bytes:
    """An endless animated GIF; the result is held for a while."""
    frames, durations = _animation(from_run(folder, dataset))
    file = io.BytesIO()
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:], duration=durations, loop=0, optimize=False, disposal=1)
    return file.getvalue()


def webp(folder: RunFolder, dataset: Dataset | None) -> bytes:
    """The same as lossless WebP."""
    frames, durations = _animation(from_run(folder, dataset))
    coloured = [frame.convert("RGB") for frame in frames]
    file = io.BytesIO()
    options = {"lossless": True, "quality": 20, "method": 1}
    coloured[0].save(file, "WEBP", save_all=True, append_images=coloured[1:], duration=durations, loop=0, **options)
    return file.getvalue()


def _animation(story: Story) -> tuple[list[Image.Image], list[int]]:
    last = _drawn(story, story.final, "result" if story.result is not None else "now")
    most = max(2, min(MOST_FRAMES, MOST_PIXELS // last.size))
    arrays = [_drawn(story, frame, "iteration") for frame in story.frames(most)]
    images = [Image.fromarray(a) for a in [*arrays, last]]
    for image in images:
        image.putpalette(COLOURS)
    return images, [STEP_MS] * len(arrays) + [HOLD_MS]


def _drawn(story: Story, frame: FactorFrame, word: str) -> Array:
    """Palette entries of one frame: words, a bar that says how far the run has come, the montage."""
    montage = story.basis(frame.U).pixels
    scale = max(1, round(WIDTH / montage.shape[1]))
    montage = montage.repeat(scale, axis=0).repeat(scale, axis=1)
    width = max(montage.shape[1], NARROWEST)
    canvas = np.full((HEAD + montage.shape[0], width), GAP, np.uint8)
    left = (width - montage.shape[1]) // 2
    canvas[HEAD:, left : left + montage.shape[1]] = montage
    words = f"iteration {frame.iteration:,}" if word == "iteration" else f"{word}, iteration {frame.iteration:,}"
    error = story.error_at(frame.iteration) if word == "iteration" else story.final_error
    canvas[:HEAD] = _head(words, "" if error is None else f"error {100 * error:.3g} %", width)
    done = frame.iteration / max(1, story.iterations)
    canvas[HEAD - BAR : HEAD, : round(width * min(1.0, done))] = BAR_ENTRY
    return canvas


def _head(left: str, right: str, width: int) -> Array:
    """Words in the colours of the plain ramp, which keeps their edges smooth."""
    strip = Image.new("L", (width, HEAD))
    pen, font = ImageDraw.Draw(strip), ImageFont.load_default(TEXT)
    pen.text((6, 4), left, fill=255, font=font)
    pen.text((width - 6, 4), right, fill=255, font=font, anchor="ra")
    return np.rint(np.asarray(strip) / 255 * (HALF - 1)).astype(np.uint8)
