"""A small disk of one's own, to be filled to the last byte."""

from __future__ import annotations

import subprocess
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class NoMounting(Exception):
    """This computer does not let us mount a small disk."""


@contextmanager
def small_disk(place: Path, megabytes: int) -> Iterator[Path]:
    """A tmpfs of this size."""
    place.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(place)]
    try:
        made = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise NoMounting(str(error)) from None
    if made.returncode:
        told = f"NOT TESTED: what happens on a full disk, because no small disk can be mounted here ({made.stderr.strip()})"
        warnings.warn(told, stacklevel=3)
        raise NoMounting(told)
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(disk: Path) -> None:
    """Leave no byte free."""
    with open(disk / "filler", "ab", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue


def empty(disk: Path) -> None:
    """Give the room back."""
    (disk / "filler").unlink(missing_ok=True)
