"""Writes assets/icon.png and a picture of its result for every preset: python assets/make_pictures.py"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image, ImageDraw

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from semf_core.model import preset, preset_names  # noqa: E402
from semf_core.pictures import basis  # noqa: E402
from semf_core.scores import model_groups  # noqa: E402

SIZE = (480, 300)
MARGIN = 16
GROUND = (205, 214, 225)


def picture(name: str) -> Image.Image:
    """The basis that the preset's run ends with, as large as fits."""
    spec = preset(name)
    dataset = spec.dataset.load()
    U, *_ = spec.run(dataset).finish().factors()
    montage = basis(U, dataset.image_shape, model_groups(spec.y_set))
    drawn = montage.fitted(SIZE[0] - MARGIN, SIZE[1] - MARGIN)
    canvas = Image.new("RGBA", SIZE, (*GROUND, 255))
    canvas.alpha_composite(drawn, ((SIZE[0] - drawn.width) // 2, (SIZE[1] - drawn.height) // 2))
    return canvas.convert("RGB").quantize(64)


def icon() -> Image.Image:
    """icon.svg drawn by hand, for browsers' tabs."""
    big = Image.new("RGBA", (256, 256))
    pen = ImageDraw.Draw(big)
    pen.rounded_rectangle((0, 0, 255, 255), 56, fill="#00629B")
    for ends, colour in (
        ((128, 80, 128, 168), "#FFFFFF"), ((128, 88, 72, 48), "#9AD3F5"), ((128, 88, 188, 68), "#F0B040"),
        ((128, 168, 80, 216), "#3CC79B"), ((128, 168, 184, 204), "#F5B8D8"),
    ):  # fmt: skip
        pen.line(ends, fill=colour, width=20)
        for x, y in (ends[:2], ends[2:]):
            pen.ellipse((x - 10, y - 10, x + 10, y + 10), fill=colour)
    return big.resize((64, 64), Image.Resampling.LANCZOS)


def main() -> None:
    icon().save(ROOT / "assets" / "icon.png")
    folder = ROOT / "assets" / "presets"
    folder.mkdir(exist_ok=True)
    for name in preset_names():
        picture(name).save(folder / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
