"""Where runs and uploads live, and how much of them there may be."""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from semf_core.common.errors import InvalidInput
from semf_core.common.server_limits import flag_from_env, number_from_env, server_limits
from semf_core.common.visitors import current_visitor
from semf_core.runs.files import FolderSizes, locked, try_lock
from semf_core.runs.shares import Shares

__all__ = ["MB", "Quota", "default_home", "flag_from_env", "number_from_env"]

MB = 1 << 20


def default_home() -> Path:
    """SEMF_HOME, or ~/.semf-studio."""
    return Path(os.environ.get("SEMF_HOME") or Path.home() / ".semf-studio")


class Quota:
    """The limit on everything stored below a home folder."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._sizes = FolderSizes()
        self.shares = Shares(home, self._sizes)

    def used(self) -> int:
        """Bytes of all files, those that grow and those that are being written included."""
        return self._sizes.total(self.home)

    def check(self, coming: int = 0, visitor: str | None = None) -> None:
        """Reject what would not fit, into the store or into the visitor's share; nothing is ever deleted to make room.

        Without `visitor` it is whoever asks now.
        """
        self.check_share(coming, visitor)
        limit = server_limits().store_mb
        used = self.used() + coming
        if used > limit * MB:
            sizes = f"{used / MB:.0f} MB with this, and the limit is {limit:.0f} MB"
            raise InvalidInput("store", f"is full: {sizes}", "delete runs or snapshots that are no longer needed")

    def is_full(self) -> bool:
        """Whether what is there now, without room that is only reserved, is more than it may be."""
        return self.used() - self._sizes.total(self._reserved) > server_limits().store_mb * MB

    def check_share(self, coming: int = 0, visitor: str | None = None) -> None:
        """Deny a visitor what would not fit into his share."""
        share = server_limits().store_per_visitor_mb
        used = self.shares.used(current_visitor() if visitor is None else visitor) if share < math.inf else 0
        if used + coming > share * MB:
            sizes = f"your share of the server's store is {share:.0f} MB, with this you would have {(used + coming) / MB:.1f} MB"
            raise InvalidInput("store", sizes, "delete runs or snapshots that you no longer need", whole=True)

    def is_full_for(self, visitor: str) -> bool:
        """Whether a visitor has more than his share."""
        share = server_limits().store_per_visitor_mb
        return share < math.inf and self.shares.used(visitor) > share * MB

    def check_growth(self, visitor: str) -> None:
        """Stop what writes for a visitor once the store, or his share of it, is full."""
        if self.is_full():
            raise InvalidInput("store", "is full", "delete what is no longer needed")
        if self.is_full_for(visitor):
            raise InvalidInput("store", "your share of the server's store is full", "delete what you no longer need", whole=True)

    @property
    def _reserved(self) -> Path:
        return self.home / "reserved"

    @contextmanager
    def reserved(self, size: int, visitor: str | None = None) -> Iterator[None]:
        """Room for what is written in the block, which counts for everybody from now on; rejected if there is none."""
        self._reserved.mkdir(parents=True, exist_ok=True, mode=0o700)
        with locked(self.home / "quota.lock"):
            for path in self._reserved.iterdir():
                dead = try_lock(path)  # its process has ended
                if dead is not None:
                    path.unlink()
                    dead.close()
            self.check(size, visitor)
            place = self._reserved / secrets.token_hex(8)
            mine = try_lock(place)
            assert mine is not None, "a fresh name is nobody else's"
            mine.truncate(size)  # a hole in the file: it has this size and takes no room
        try:
            yield
        finally:
            place.unlink()
            mine.close()
