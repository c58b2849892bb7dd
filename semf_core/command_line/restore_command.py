"""The command line of restoration: semf restore denoise|compress, what the panel of a run on patches does."""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from semf_core.common.parameters import InvalidInput, Param
from semf_core.common.threads import blas_threads
from semf_core.datasets import Patches
from semf_core.datasets.images import read_image
from semf_core.datasets.reading import Limits as ReadingLimits
from semf_core.factorization.restoration import PICTURE_SIDE, Restored, compress, denoise, middle
from semf_core.factorization.result import make_result
from semf_core.model import ModelSpec, preset
from semf_core.runs.files import write_whole

Array = np.ndarray
PRESET = "patch-dictionary"
SIGMA = Param("number", 0.1, low=0, high=1, open_low=True, name="sigma", help="standard deviation of the noise; white is 1")
NONZEROS = Param("integer", 4, low=1, high=4096, name="k", help="atoms kept in each patch")
SIDE = Param("integer", PICTURE_SIDE, low=0, high=100_000, name="side", help="side of the square in its middle; 0: all of it")
SEED = Param("integer", 0, low=0, high=2**32 - 1, name="seed", help="seed of the noise that is added")


def add_command(commands: Any) -> None:
    """Add `restore` to the parser of the command line."""
    parser = commands.add_parser("restore", help="remove noise from a picture, or compress it, by a learned dictionary")
    parser.set_defaults(command=_restore)
    parser.add_argument("task", choices=("denoise", "compress"), help="noise is added and removed; or few atoms are kept")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--preset", default=PRESET, help=f"a preset on patches that is run first (default {PRESET})")
    source.add_argument("--factors", metavar="FILE.npz", help="a dictionary that semf run --out FILE.npz has stored")
    parser.add_argument("--picture", metavar="FILE", help="another picture than the one that the patches come from")
    for p in (SIGMA, NONZEROS, SIDE, SEED):
        parser.add_argument(f"--{p.name}", default=str(p.default), help=f"{p.help} (default {p.default})")
    parser.add_argument("--out", metavar="FILE.png", help="store what came out; FILE-before.png beside it")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _restore(options: argparse.Namespace) -> int:
    if options.out and Path(options.out).suffix != ".png":
        raise InvalidInput("out", f"{Path(options.out).name} must end in .png", whole=True)
    with blas_threads(1):
        source, atoms = _dictionary(options)
        picture = source.picture() if options.picture is None else _grey(Path(options.picture))
        side = SIDE.parse(options.side)
        picture = middle(picture, side) if side else picture
        sides = (source.size, source.size)
        if options.task == "denoise":
            found = denoise(picture, atoms, sides, SIGMA.parse(options.sigma), SEED.parse(options.seed))
        else:
            found = compress(picture, atoms, sides, NONZEROS.parse(options.k))
    if options.out:
        _store(Path(options.out), found)
    told = {"task": options.task, "psnr_after": found.psnr_after, "numbers_per_pixel": found.numbers}
    if options.task == "denoise":
        told["psnr_before"] = found.psnr_before
    print(json.dumps(told) if options.json else "\n".join(f"{key:>18}  {_shown(value)}" for key, value in told.items()))
    return 0


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _dictionary(options: argparse.Namespace) -> tuple[Patches, Array]:
    """Where the patches come from, and the atoms as columns."""
    if options.factors is None:
        spec = preset(options.preset)
        return _patches(spec), make_result(spec.run().finish()).U
    path = Path(options.factors)
    try:
        with np.load(path) as stored:
            return _patches(ModelSpec.from_json(str(stored["spec"]))), stored["U"]
    except (ValueError, KeyError, OSError):
        raise InvalidInput(
            "factors", f"{path.name} does not hold factors", "store them with semf run --out FILE.npz", whole=True
        ) from None


def _patches(spec: ModelSpec) -> Patches:
    if not isinstance(spec.dataset, Patches):
        raise InvalidInput("dataset", "is not made of patches of a picture", "choose Image patches")
    return spec.dataset


def _grey(path: Path) -> Array:
    """A picture file as grey values in [0, 1]."""
    if not path.is_file():
        raise InvalidInput("picture", f"there is no file {path}", whole=True)
    values = np.asarray(read_image(path.name, path.read_bytes(), "grey", "auto", ReadingLimits()).data, dtype=float)
    return values / (255 if values.max() <= 255 else 65535)


def _store(path: Path, found: Restored) -> None:
    for target, values in ((path, found.after), (path.with_name(f"{path.stem}-before.png"), found.before)):
        image = Image.fromarray(np.round(255 * values.clip(0, 1)).astype(np.uint8))
        write_whole(target, partial(image.save, format="PNG"))
