"""The runs of stages: one for each model, shared by all readers of a server, or made on the spot for a file."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from semf_core.common.threads import blas_threads
from semf_core.datasets import Dataset
from semf_core.lessons.format import Lesson
from semf_core.model import ModelSpec
from semf_core.runs.folder import RunFolder
from semf_core.service import Service
from semf_core.snapshots.recording import record

Found = tuple[RunFolder, Dataset | None]
FindRun = Callable[[ModelSpec], Found | None]
"""The recorded run of a model and its data; None where there is none."""


def digest(spec: ModelSpec) -> str:
    """A name for the run of a model."""
    return hashlib.sha256(spec.to_json().encode()).hexdigest()[:24]


def models(lesson: Lesson) -> dict[str, ModelSpec]:
    """The models of a lesson's stages, each once, by their digests."""
    return {digest(stage.model): stage.model for stage in lesson.stages if stage.model is not None}


def stage_run(service: Service, spec: ModelSpec) -> str | None:
    """The id of the stored run of a model; it is started if there is none. None where none may be started."""
    return service.shared_run(f"stage-{digest(spec)}", spec)


@contextmanager
def recorded_here(watch: Callable[[ModelSpec], object] | None = None) -> Iterator[FindRun]:
    """Runs that are made when they are asked for, each once, and thrown away at the end; `watch` is told before each."""
    with tempfile.TemporaryDirectory(prefix="semf-") as place:
        made: dict[str, Found] = {}

        def find(spec: ModelSpec) -> Found:
            name = digest(spec)
            if name not in made:
                if watch is not None:
                    watch(spec)
                path = Path(place) / name
                path.mkdir()
                with blas_threads(1):
                    made[name] = RunFolder(path), record(spec, RunFolder(path)).dataset
            return made[name]

        yield find
