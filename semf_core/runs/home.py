"""Where runs and uploads live, and how much of them there may be."""

from __future__ import annotations

import math
import os
from pathlib import Path

from semf_core.parameters import InvalidInput
from semf_core.runs.files import FolderSizes

MB = 1 << 20


def default_home() -> Path:
    """SEMF_HOME, or ~/.semf-studio."""
    return Path(os.environ.get("SEMF_HOME") or Path.home() / ".semf-studio")


def number_from_env(name: str, default: float, low: float = 0) -> float:
    """A limit that the operator may set; a wrong value is refused rather than ignored."""
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not value >= low:
        raise InvalidInput(name, f"must be a number of at least {low:g}, not {text!r}")
    return value


def flag_from_env(name: str) -> bool:
    """A switch that the operator may set: 1, true, yes or on, and 0, false, no, off or nothing."""
    text = os.environ.get(name, "").strip().lower()
    if text not in {"", "0", "false", "no", "off", "1", "true", "yes", "on"}:
        raise InvalidInput(name, f"must be 1 or 0, not {text!r}")
    return text in {"1", "true", "yes", "on"}


class Quota:
    """The limit on everything stored below a home folder."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._sizes = FolderSizes()

    def used(self) -> int:
        return sum(self._sizes.total(self.home / name) for name in ("runs", "data", "snapshots", "studies"))

    def check(self, coming: int = 0) -> None:
        """Refuse what would not fit; nothing is ever deleted to make room."""
        limit = number_from_env("SEMF_MAX_STORE_MB", 5000)
        used = self.used() + coming
        if used > limit * MB:
            sizes = f"{used / MB:.0f} MB with this, and the limit is {limit:.0f} MB"
            raise InvalidInput("store", f"is full: {sizes}; delete runs or snapshots that are no longer needed")
