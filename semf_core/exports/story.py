"""Everything that an export tells of a run, read from its folder once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from semf_core.common.errors import InvalidInput
from semf_core.datasets import Axes, Dataset
from semf_core.datasets.axes import component_names
from semf_core.drawing import pictures
from semf_core.drawing.overview import column_shape
from semf_core.factorization.result import Result
from semf_core.factorization.scores import model_groups
from semf_core.mathematics import metrics
from semf_core.model import ModelSpec
from semf_core.runs.files import read_json
from semf_core.runs.folder import RunFolder
from semf_core.runs.frames import FactorFrame
from semf_core.runs.outcome import final_frame, read_outcome
from semf_core.runs.uploads import public_source, read_axes
from semf_core.sets import StructureSet
from semf_core.solvers import COLUMNS, Event

Array = np.ndarray
RESIDUAL = COLUMNS.index("residual_uv")


@dataclass(frozen=True, eq=False)
class Story:
    """A run, finished or not, with its data where that is at hand."""

    folder: RunFolder
    dataset: Dataset | None
    spec: ModelSpec
    title: str
    tags: str
    note: str
    """What a person has written about the run."""
    created: float | None
    image_shape: tuple[int, int] | None
    """Height and width of a sample that is a picture."""
    axes: Axes
    """What rows and columns are called."""
    typed_names: tuple[str, ...]
    """What somebody has called the components."""
    rows: Array
    numbers: Array
    """The iterations that the rows are of."""
    events: tuple[Event, ...]
    keyframes: tuple[int, ...]
    result: Result | None
    """None while the run goes on."""
    truth: dict[str, Any]

    @property
    def iterations(self) -> int:
        return int(self.numbers[-1]) if len(self.numbers) else 0

    @property
    def splits(self) -> bool:
        """Whether the algorithm has free copies X and Y beside U and V, and so penalties and gaps."""
        return self.spec.solver.splits

    @cached_property
    def sets(self) -> tuple[StructureSet, StructureSet] | None:
        """The sets that U and V are in; None if that depends on the shape of M, which is not known yet."""
        if self.spec.solver.takes_sets:
            return self.spec.x_set, self.spec.y_set
        if self.dataset is not None:
            return self.spec.enforced_sets(self.dataset.shape)
        if self.result is not None:
            return self.spec.enforced_sets((len(self.result.U), self.result.V.shape[1]))
        return None

    @cached_property
    def component_names(self) -> list[str]:
        return component_names(self.typed_names, self.spec.rank)

    @cached_property
    def groups(self) -> Sequence[Sequence[int]] | None:
        return model_groups(self.spec.y_set)

    @cached_property
    def norm(self) -> float | None:
        """‖M‖, where it is known."""
        if self.result is not None:
            return self.result.norm
        return None if self.dataset is None else metrics.frobenius_norm(self.dataset.data)

    @cached_property
    def final(self) -> FactorFrame:
        """The factors of the result, or the newest ones of a run that goes on."""
        return self.folder.frame() if self.result is None else final_frame(self.folder)

    def factors(self) -> dict[str, Array]:
        """The factors by name, in the precision of the run; X and Y only where they are not U and V."""
        source = self.final if self.result is None else self.result
        return {name: getattr(source, name) for name in ("U", "V", "X", "Y")[: 4 if self.splits else 2]}

    def frames(self, most: int) -> Iterator[FactorFrame]:
        """At most so many recorded frames, spread over all of them; the first ones that show nothing are left out."""
        kept = self.keyframes
        chosen = dict.fromkeys(np.linspace(0, len(kept) - 1, min(most, len(kept))).round().astype(int).tolist())
        for index in chosen:
            frame = self.folder.frame(kept[index])
            if frame.iteration or frame.U.any():
                yield frame

    @cached_property
    def column_shape(self) -> pictures.Shape:
        return column_shape(self.image_shape, self.axes)

    def basis(self, U: Array, theme: str = "light") -> pictures.Picture:
        """The columns of U as images, in the groups of the model."""
        return pictures.basis(U, self.column_shape, self.groups, theme)

    def error_at(self, iteration: int) -> float | None:
        """‖M−UV‖/‖M‖ after an iteration."""
        if not self.norm or not 0 < iteration <= self.iterations:
            return None
        row = int(np.searchsorted(self.numbers, iteration))  # the one that stands for it
        return _finite(float(self.rows[row, RESIDUAL]) / self.norm)

    @property
    def final_error(self) -> float | None:
        """‖M−UV‖/‖M‖ of the final factors."""
        return self.error_at(self.iterations) if self.result is None else _finite(self.result.relative_error)


def from_run(folder: RunFolder, dataset: Dataset | None = None) -> Story:
    """Read a run's folder."""
    events = tuple(folder.events())
    spec = folder.spec(sum(e.kind == "edit" for e in events))
    spec = replace(spec, dataset=public_source(spec.dataset))  # whatever is made of this is handed on
    written = ("title", "tags", "note", "created", "image_shape")
    known = _written(folder.meta, ("title", "created")) | _written(folder.about, written)
    result = read_outcome(folder) if folder.result.exists() else None
    truth = read_json(folder.result).get("truth", {}) if result is not None else {}
    if dataset is not None and result is not None and dataset.shape != (len(result.U), result.V.shape[1]):
        raise InvalidInput("dataset", f"is {dataset.shape[0]}×{dataset.shape[1]}, which does not fit the factors of this run")
    title = plain(str(known.get("title") or spec.title)) or "Factorization"
    created, sides, recorded = known.get("created"), known.get("image_shape"), folder.history()
    return Story(
        folder=folder,
        dataset=dataset,
        spec=spec,
        title=title,
        tags=plain(str(known.get("tags", ""))),
        note=str(known.get("note", "")),
        created=float(created) if isinstance(created, int | float) else None,
        image_shape=dataset.image_shape if dataset is not None else tuple(sides) if sides else None,
        axes=dataset.axes if dataset is not None else _axes(folder, result),
        typed_names=folder.component_names(),
        rows=recorded.values,
        numbers=recorded.iterations,
        events=events,
        keyframes=tuple(folder.keyframes()),
        result=result,
        truth=truth,
    )


def _written(path: Path, names: tuple[str, ...]) -> dict[str, Any]:
    """Some values of a JSON file that may not be there."""
    stored = read_json(path) if path.exists() else {}
    return {name: stored[name] for name in names if name in stored}


def _axes(folder: RunFolder, result: Result | None) -> Axes:
    """The names that came with a snapshot whose data is not here."""
    frame: Any = folder.frame() if result is None and folder.keyframes() else result
    return Axes() if frame is None else read_axes(folder.path, (len(frame.U), frame.V.shape[1]))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def plain(text: str) -> str:
    """Text without control characters, which neither SVG nor HTML may hold."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
