"""Files that visitors send: on disk from the first moment on, read in the limited child, gone if nobody uses them."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from semf_core import sandbox
from semf_core.common.errors import InvalidInput
from semf_core.common.visitors import current_visitor
from semf_core.datasets.axes import clean
from semf_core.datasets.joined import shared_title
from semf_core.datasets.reading import Reading, shown
from semf_core.runs import sandboxed
from semf_core.runs.caches import Cache
from semf_core.runs.files import needing_room, read_json, sync, whole_or_nothing, write_json
from semf_core.runs.home import Quota
from semf_core.runs.ids import new_id
from semf_core.runs.uploads import Upload, remove_unused

Array = np.ndarray
FOLDER = "incoming"
STALE_SECONDS = 86400.0
"""A folder of files that is older was left by a server that died."""


class Arrivals:
    """The door for files; `may_write` rejects where nothing may be changed."""

    def __init__(self, home: Path, quota: Quota, may_write: Callable[[], None]) -> None:
        self.home, self.quota, self.may_write = home, quota, may_write
        self._matrices: Cache[tuple[str, str], Array] = Cache()

    def basket(self) -> Basket:
        """A place for the files of one visitor."""
        self.may_write()
        return Basket(self)

    def matrix(self, name: str, content: bytes) -> Array:
        """The plain matrix in a small file, read once for each content."""
        key = (os.path.splitext(name)[1].lower(), hashlib.sha256(content).hexdigest())
        return self._matrices.get(key, lambda: _matrix(name, content))

    def sweep(self) -> None:
        """Remove what a server that died has left."""
        for folder in (self.home / FOLDER).glob("*"):
            with suppress(FileNotFoundError):
                if time.time() - folder.stat().st_mtime > STALE_SECONDS:
                    shutil.rmtree(folder, ignore_errors=True)


def _matrix(name: str, content: bytes) -> Array:
    if len(content) > sandboxed.MATRIX_BYTES:
        raise InvalidInput(shown(name), f"has more than {sandboxed.MATRIX_BYTES >> 20} MB", "choose a smaller file")
    with tempfile.TemporaryDirectory(prefix="semf-") as place:
        path, out = Path(place) / "file", Path(place) / "matrix.npy"
        path.write_bytes(content)
        sandbox.call(sandboxed.store_matrix, shown(name), name=name, path=str(path), out=str(out))
        return np.load(out, allow_pickle=False)


@dataclass
class _Held:
    """What has to go when its basket goes."""

    home: Path
    folder: Path
    upload: Upload | None = None
    files: dict[str, tuple[str, Path]] = field(default_factory=dict)

    def drop_upload(self) -> None:
        if self.upload is not None:
            remove_unused(self.home, [self.upload.id])
            self.upload = None

    def drop(self) -> None:
        with suppress(OSError):  # the home folder itself may be gone
            self.drop_upload()
        shutil.rmtree(self.folder, ignore_errors=True)


class Basket:
    """Files that a visitor has sent and not used yet, and what was read from them; they go with this object."""

    def __init__(self, door: Arrivals) -> None:
        self._door = door
        root = door.home / FOLDER
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._held = _Held(door.home, Path(tempfile.mkdtemp(dir=root)))
        door.quota.shares.add(current_visitor(), FOLDER, self._held.folder.name)
        weakref.finalize(self, self._held.drop)

    def __contains__(self, file_id: str) -> bool:
        return file_id in self._held.files

    def holds(self, upload_id: str) -> bool:
        """Whether this is what was read from the files last."""
        return self._held.upload is not None and self._held.upload.id == upload_id

    @needing_room()
    def put(self, file_id: str, name: str, content: bytes) -> None:
        """Keep a file under the id that the browser gave it; its name is never taken as a path."""
        path = self._held.folder / new_id()
        with self._door.quota.reserved(len(content)):
            path.write_bytes(content)
        self._held.files[file_id] = (name, path)

    def keep_only(self, file_ids: Collection[str]) -> None:
        """Forget the files that the visitor has taken back."""
        for file_id in set(self._held.files) - set(file_ids):
            self._held.files.pop(file_id)[1].unlink(missing_ok=True)

    def read(self, file_ids: Sequence[str], reading: Reading) -> tuple[Upload, dict[str, Any]]:
        """Store the data that these files hold, instead of what was read before; and how they were read (`store_files`)."""
        held, upload = self._held, Upload(new_id())
        held.drop_upload()
        files = [(name, str(path)) for name, path in (held.files[file_id] for file_id in file_ids)]
        subject = shown(files[0][0]) if len(files) == 1 else "files"
        with whole_or_nothing(upload.folder(held.home)) as folder:
            folder.mkdir(parents=True, mode=0o700)
            order = {"files": files, "reading": reading.to_dict(), "folder": str(folder), "home": str(held.home)}
            self._door.quota.shares.add(current_visitor(), "data", upload.id)
            told = sandbox.call(sandboxed.store_files, subject, visitor=current_visitor(), **order)
        how = {key: value for key, value in told["reading"].items() if key != "name"}
        title = shared_title(name for name, _ in files)
        several = f"{title} ({len(files)} files)" if title else f"{len(files)} files"
        held.upload = replace(upload, file=clean(files[0][0] if len(files) == 1 else several), **how)
        return held.upload, told

    def take(self, image_shape: tuple[int, int] | None, prepare: str = "") -> Upload:
        """What was read last, for good: samples are pictures of this height and width, or not; and how it is prepared."""
        held = self._held
        if held.upload is None:
            raise InvalidInput("files", "are no longer there", "upload them again")
        there = held.upload.folder(held.home)
        kept = replace(held.upload, id=new_id(), image_shape=image_shape, prepare=prepare)  # nothing that was cached knows the id
        self._door.quota.shares.add(current_visitor(), "data", kept.id)
        info = read_json(there / "info.json")
        write_json(there / "info.json", info | {"image_shape": image_shape}, durable=True)
        os.rename(there, kept.folder(held.home))
        sync(there.parent)
        held.upload = None
        return kept

    def put_back(self, upload: Upload) -> None:
        """What was taken is not used after all."""
        self._held.upload = upload
