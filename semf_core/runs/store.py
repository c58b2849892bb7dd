"""The store of runs on disk: creating, finding, describing and deleting them, for several servers at once."""

from __future__ import annotations

import secrets
import time
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, BinaryIO

from semf_core.common.errors import InvalidInput
from semf_core.model import ModelSpec
from semf_core.runs.files import (
    DamagedFile,
    is_locked,
    locked,
    read_json,
    reading,
    remove_folder,
    try_lock,
    whole_or_nothing,
    write_json,
)
from semf_core.runs.folder import RunFolder
from semf_core.runs.home import Quota
from semf_core.runs.ids import checked_id, key_hash, new_id
from semf_core.runs.outcome import outcome_state

LIVE_STATES = frozenset({"queued", "running", "paused"})
"""States that only hold while the server that wrote them is there."""


@dataclass(frozen=True)
class Meta:
    """What the server says about a run; the worker's files say the rest."""

    key: str
    """SHA-256 of the control key."""
    title: str
    created: float
    state: str = "queued"
    message: str = ""
    note: str = ""
    owner: str = ""
    """Token of the server that works on it."""
    generation: int = 0
    """Counts the resets."""
    revision: int = 0
    """Counts the edits since the last reset."""
    visitor: str = ""
    """Who started it, as the server tells visitors apart; empty for the owner of the computer."""


class Store:
    """Runs below a home folder, and this server's sign of life among those that share it."""

    def __init__(self, home: Path, read_only: bool = False) -> None:
        self.home = home
        self.quota = Quota(home)
        self.token = secrets.token_hex(16)
        self._presence: BinaryIO | None = None
        if not read_only:
            for name in ("runs", "data", "servers", "demos"):
                (home / name).mkdir(parents=True, exist_ok=True, mode=0o700)
            self._presence = self._announce()

    def _announce(self) -> BinaryIO:
        """A lock that the system releases when this process ends, however it ends; dead servers' are swept up."""
        with locked(self.home / "servers.lock"):
            for path in (self.home / "servers").glob("*.lock"):
                dead = try_lock(path)
                if dead is not None:
                    path.unlink()
                    dead.close()
            mine = try_lock(self._lock_of(self.token))
        assert mine is not None, "a fresh token is nobody else's"
        return mine

    def _lock_of(self, token: str) -> Path:
        return self.home / "servers" / f"{token}.lock"

    def owner_alive(self, token: str) -> bool:
        """Whether the server that wrote this token still runs."""
        return token == self.token or (bool(token) and is_locked(self._lock_of(token)))

    def close(self) -> None:
        if self._presence is not None:
            self._presence.close()
            self._lock_of(self.token).unlink(missing_ok=True)

    # -- runs --------------------------------------------------------------------------------

    def create(
        self, spec: ModelSpec, state: str, visitor: str = "", demo: bool = False, key: str | None = None
    ) -> tuple[str, str, RunFolder]:
        """A new folder with its model; the id to look, the key to control (a given one, where several runs share it).

        The demo needs no room in the quota.
        """
        run_id, key = new_id(), key or new_id()
        if not demo:
            self.quota.check(visitor=visitor)
            self.quota.shares.add(visitor, "runs", run_id)
        folder = RunFolder(self.home / "runs" / run_id)
        meta = Meta(key_hash(key), spec.title, time.time(), state, owner=self.token, visitor=visitor)
        with whole_or_nothing(folder.path) as path:  # nobody finds a run that is only half there
            path.mkdir(mode=0o700)
            aside = RunFolder(path)
            aside.write_spec(spec)
            aside.claim.touch()  # now, because a full disk may have no room for it later
            write_json(aside.meta, asdict(meta), durable=True)
        return run_id, key, folder

    def folder(self, run_id: object) -> RunFolder:
        """The folder of a run, or an error."""
        folder = RunFolder(self.home / "runs" / checked_id("run", run_id))
        if not folder.meta.exists():
            raise unknown_run()
        return folder

    def meta(self, folder: RunFolder) -> Meta:
        try:
            return read_meta(folder)
        except FileNotFoundError:
            raise unknown_run() from None

    def write_meta(self, folder: RunFolder, meta: Meta) -> None:
        write_json(folder.meta, asdict(meta), durable=True)

    def settled(self, folder: RunFolder, meta: Meta) -> Meta:
        """The description as it stands now, if the server that wrote it has gone."""
        if meta.state not in LIVE_STATES or self.owner_alive(meta.owner):
            return meta
        try:
            done = outcome_state(folder)
        except DamagedFile:  # then it goes on from its checkpoint
            done = None
        if done is not None:
            return replace(meta, state=done, message="")
        return replace(meta, state="interrupted", message=f"the server ended while it was {meta.state}; {folder.what_is_left()}")

    def claim(self, folder: RunFolder) -> BinaryIO:
        """Make this server the one that works on a run, as long as the file stays open; rejected if another one does."""
        mine = try_lock(folder.claim)
        if mine is None:
            raise InvalidInput("run", "another server works on it", "use that one to control it", whole=True)
        return mine

    def delete(self, folder: RunFolder) -> None:
        remove_folder(folder.path, self.home / "trash")


def read_meta(folder: RunFolder) -> Meta:
    """The server's word on a run; FileNotFoundError if there is none, DamagedFile if it cannot be read."""
    stored = read_json(folder.meta)
    with reading(folder.meta):
        stored.setdefault("revision", stored.get("edition", 0))  # as files were written before they were called so
        return Meta(**{f.name: _typed(f.type, stored[f.name]) for f in fields(Meta) if f.name in stored})


def _typed(kind: Any, value: Any) -> Any:
    """A stored value of the type it was written with: str, float or int."""
    return {"str": str, "float": float, "int": int}[kind](value)


def unknown_run() -> InvalidInput:
    return InvalidInput("run", "there is no run with this id; it may have been deleted", whole=True)
