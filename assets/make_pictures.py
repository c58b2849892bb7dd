"""Runs presets (all, or those named) and writes what the dashboard and the documentation show of them.

A picture of its result and, in docs/presets.json, its numbers for each preset; the animation of the README; assets/icon.png.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from semf_core.common.threads import blas_threads  # noqa: E402
from semf_core.datasets import Dataset  # noqa: E402
from semf_core.drawing.pictures import basis  # noqa: E402
from semf_core.exports import EXPORTS  # noqa: E402
from semf_core.factorization.result import Result, make_result  # noqa: E402
from semf_core.factorization.scores import model_groups, truth_scores, truth_words  # noqa: E402
from semf_core.model import ModelSpec, preset, preset_names  # noqa: E402
from semf_core.runs.folder import RunFolder  # noqa: E402
from semf_core.snapshots.recording import record  # noqa: E402

SIZE = (480, 300)
MARGIN = 16
MOST_BYTES = 40_000
GROUND = (205, 214, 225)
ANIMATED = "swimmer-groups"


def picture(spec: ModelSpec, dataset: Dataset, result: Result) -> Image.Image:
    """The basis that the preset's run ends with, as large as fits."""
    montage = basis(result.U, dataset.image_shape, model_groups(spec.y_set))
    drawn = montage.fitted(SIZE[0] - MARGIN, SIZE[1] - MARGIN)
    canvas = Image.new("RGBA", SIZE, (*GROUND, 255))
    canvas.alpha_composite(drawn, ((SIZE[0] - drawn.width) // 2, (SIZE[1] - drawn.height) // 2))
    return canvas.convert("RGB")


def write_small(image: Image.Image, path: Path) -> None:
    """With as many colours as its size allows."""
    for colours in (64, 32, 16, 8):
        image.quantize(colours).save(path, optimize=True)
        if path.stat().st_size < MOST_BYTES:
            return


def numbers(spec: ModelSpec, dataset: Dataset, result: Result) -> dict[str, Any]:
    """What the gallery says of the run; no times, which are those of one computer."""
    return {
        "shape": list(dataset.shape),
        "iterations": result.iterations,
        "stop_reason": result.stop_reason,
        "relative_error": float(f"{result.relative_error:.3g}"),
        "snr_db": round(result.snr_db, 2) if math.isfinite(result.snr_db) else None,
        "feasible": result.certificate.feasible,
        "truth": [badge["text"] for badge in truth_words(truth_scores(dataset, result.U, result.V, spec.y_set))],
    }


def animation(name: str) -> bytes:
    """The basis of a preset as it evolves, by the exporter of the product."""
    with tempfile.TemporaryDirectory() as place:
        folder = RunFolder(Path(place))
        spec = preset(name)
        record(spec, folder)
        return EXPORTS["webp"].make(folder, spec.dataset.load())


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
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("names", nargs="*", metavar="PRESET", help="only these")
    names = options.parse_args().names or preset_names()
    icon().save(ROOT / "assets" / "icon.png")
    folder, kept = ROOT / "assets" / "presets", ROOT / "docs" / "presets.json"
    known = json.loads(kept.read_text(encoding="utf-8"))
    for name in names:
        spec = preset(name)
        dataset = spec.dataset.load()
        with blas_threads(1):
            result = make_result(spec.run(dataset).finish())
        write_small(picture(spec, dataset, result), folder / f"{name}.png")
        known[name] = numbers(spec, dataset, result)
        lines = ",\n".join(f"  {json.dumps(n)}: {json.dumps(known[n], ensure_ascii=False)}" for n in preset_names() if n in known)
        kept.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
        print(name, flush=True)
    if ANIMATED in names:
        (ROOT / "docs" / "pictures" / "swimmer.webp").write_bytes(animation(ANIMATED))


if __name__ == "__main__":
    main()
