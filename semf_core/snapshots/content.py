"""What a snapshot holds, and the members of its file."""

from __future__ import annotations

import io
import math
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import scipy
from threadpoolctl import threadpool_info

import semf_core
from semf_core.datasets import Axes, Dataset
from semf_core.mathematics import metrics
from semf_core.model import ModelSpec
from semf_core.snapshots.archive import VARIANTS, canonical_json, packed
from semf_core.snapshots.bundle import bundled
from semf_core.snapshots.keyframes import Keyframes
from semf_core.snapshots.label import Label
from semf_core.solvers import COLUMNS, Event
from semf_core.solvers.history import iterations_of

Array = np.ndarray
RESULT_FACTORS = ("U", "V", "X", "Y")
ABOUT, MODEL, EVENTS, RESULT, CHECKPOINT, BUNDLE, AXES = (
    "about.json", "model.json", "events.json", "result.json", "checkpoint.json", "data.json", "axes.json",
)  # fmt: skip
THUMBNAIL = "thumbnail.png"
REST = "snapshot"
"""State of a run that had neither finished nor been stopped."""


@dataclass(frozen=True)
class Revision:
    """The model as started, or after an edit; `numbers` are the values that the edit gave to α and β, None if not known."""

    spec: ModelSpec
    numbers: Mapping[str, float] | None


@dataclass(frozen=True)
class DataFacts:
    """Which data it was."""

    title: str
    shape: tuple[int, int]
    fingerprint: str
    image_shape: tuple[int, int] | None = None


@dataclass(frozen=True)
class Outcome:
    """What a run came to: the state, a few numbers, and the exact factors."""

    state: str
    numbers: Mapping[str, Any]
    factors: Mapping[str, Array]


@dataclass(frozen=True)
class Checkpoint:
    """What a run needs to go on bit for bit, beside the first `iterations` of its history and `events` of its events."""

    iterations: int
    events: int
    meta: Mapping[str, Any]
    arrays: Mapping[str, Array]


@dataclass(frozen=True)
class Variants:
    """The strip that a run was saved with: names in order, and the runs of all but the one on show, which is the file's own."""

    names: tuple[str, ...]
    current: int
    before: int | None
    """The one that was on show before."""
    others: Mapping[int, Content]

    def members(self, own: Content) -> dict[str, bytes]:
        """Each is a whole file inside the file; data that is the own run's is in it once."""
        told = {"names": list(self.names), "current": self.current, "before": self.before}
        shared = own.data.fingerprint if own.dataset is not None else ""
        parts = {k: replace(c, dataset=None) if c.data.fingerprint == shared else c for k, c in self.others.items()}
        return {VARIANTS: canonical_json(told)} | {f"variants/{k}.semf": packed(c.members()) for k, c in parts.items()}


@dataclass(frozen=True)
class Content:
    """A run at rest."""

    label: Label
    created: float
    message: str
    remark: str
    """What the run did not record, and why."""
    data: DataFacts
    versions: Mapping[str, str]
    truth: Mapping[str, int | None]
    """Parts found and groups right, as counted when it was saved."""
    revisions: tuple[Revision, ...]
    history: Array
    iterations: int
    """The history is that of so many iterations; a long one is thinned out (`History`)."""
    events: tuple[Event, ...]
    keyframes: Keyframes | None = None
    result: Outcome | None = None
    start: tuple[Array, Array] | None = None
    checkpoint: Checkpoint | None = None
    dataset: Dataset | None = None
    axes: Axes = field(default_factory=Axes)
    """Names of the rows and columns of the data, which are known where the data itself is not in the file."""
    components: tuple[str, ...] = ()
    """Names that somebody has given to the components."""
    thumbnail: bytes = b""
    variants: Variants | None = None

    @property
    def spec(self) -> ModelSpec:
        """The model after all edits."""
        return self.revisions[-1].spec

    @property
    def state(self) -> str:
        return REST if self.result is None else self.result.state

    @property
    def numbers(self) -> Array:
        """The iterations that the rows of the history are of."""
        if len(self.history) == self.iterations:
            return np.arange(1, self.iterations + 1)
        return np.minimum(iterations_of(np.arange(len(self.history))), self.iterations)

    def about(self) -> dict[str, Any]:
        """The small things, as JSON types."""
        return {
            **({"iterations": self.iterations} if self.iterations != len(self.history) else {}),
            **({"components": list(self.components)} if self.components else {}),
            "label": {name: getattr(self.label, name) for name in ("title", "tags", "note")},
            "created": self.created,
            "message": self.message,
            "remark": self.remark,
            "data": asdict(self.data),
            "versions": dict(self.versions),
            "truth": dict(self.truth),
        }

    def members(self) -> dict[str, bytes]:
        """The members of the file; of equal contents they are equal."""
        model = [{"spec": e.spec.to_dict(), "numbers": None if e.numbers is None else dict(e.numbers)} for e in self.revisions]
        texts: dict[str, Any] = {ABOUT: self.about(), MODEL: model, EVENTS: [asdict(e) for e in self.events]}
        arrays = {f"history/{name}": self.history[:, i] for i, name in enumerate(COLUMNS)}
        if self.keyframes is not None:
            arrays |= _under("keyframes", self.keyframes.arrays())
        if self.result is not None:
            texts[RESULT] = {"state": self.result.state, **self.result.numbers}
            arrays |= _under("result", self.result.factors)
        if self.start is not None:
            arrays |= _under("start", dict(zip("XY", self.start, strict=True)))
        if self.checkpoint is not None:
            place = {"iterations": self.checkpoint.iterations, "events": self.checkpoint.events}
            texts[CHECKPOINT] = {**place, **self.checkpoint.meta}
            arrays |= _under("checkpoint", self.checkpoint.arrays)
        if self.dataset is not None:
            matrices, texts[BUNDLE] = bundled(self.dataset)
            arrays |= _under("data", matrices)
        if named := self.axes.to_dict():
            texts[AXES] = named
        members = {name: canonical_json(value) for name, value in texts.items()}
        members |= {f"{name}.npy": npy_bytes(array) for name, array in arrays.items()}
        members |= {THUMBNAIL: self.thumbnail} if self.thumbnail else {}
        return members | (self.variants.members(self) if self.variants is not None else {})

    def headline(self) -> dict[str, Any]:
        """The numbers that a gallery shows; they follow from the history and the result, except the counted truth."""
        seconds = float(self.history[-1, COLUMNS.index("seconds")]) if len(self.history) else 0.0
        shown: dict[str, Any] = {"iterations": self.iterations, "seconds": seconds, "rank": self.spec.rank}
        shown["solver"] = self.spec.solver.title or self.spec.solver.name
        if self.result is not None:
            norm, error = self.result.numbers["norm"], self.result.numbers["residual_uv"]
            shown |= {"relative_error": metrics.relative_error(norm, error), "snr_db": metrics.snr_db(norm, error)}
        known = {k: v for k, v in shown.items() if not isinstance(v, float) or math.isfinite(v)}
        return known | {k: v for k, v in self.truth.items() if v is not None}


def _under(folder: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {f"{folder}/{name}": array for name, array in arrays.items()}


def npy_bytes(array: Array) -> bytes:
    """An NPY file in memory; the order of the entries stays, because sums depend on it in the last digit."""
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version=(1, 0), allow_pickle=False)
    return file.getvalue()


@cache
def versions() -> dict[str, str]:
    """What the numbers of a run depend on, beside its model and its data."""
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    blas = {f"{pool['internal_api']} {pool['version']} {pool.get('architecture', '')}".strip() for pool in pools}
    return {
        "semf": semf_core.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "blas": ", ".join(sorted(blas)),
    }
