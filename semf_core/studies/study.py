"""A study as data: a base trial, what varies, what is measured, how it is drawn, and what a paper claims."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sized
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from semf_core.common.errors import InvalidInput, parsed_json
from semf_core.datasets import DatasetSource
from semf_core.studies.axes import Axis, axis_from_dict, changed, fitting, preset_form
from semf_core.studies.kept_arrays import KEEPS
from semf_core.studies.measures import Measure, measure_form, measures_from_form
from semf_core.studies.standard_views import standard_views
from semf_core.studies.trials import Trial, trial_id
from semf_core.studies.views import View, views_from_form

FIELDS = ("name", "title", "summary", "base", "axes", "measures", "views", "claim", "keep", "sizes", "size")
MOST_CELLS = 200_000
MOST_PARTS = {"axes": 20, "measures": 50, "views": 50, "sizes": 20}
MOST_FIGURES = 500
"""Of a claim."""
MOST_CHARACTERS = 20_000_000
A_SIZE = 'an object like {"axes": {"seed": {"range": [0, 5]}}, "set": {"limits.max_iter": 100}}'
LARGEST = sys.float_info.max
COLUMNS = ("cell", "runs", "series", "low", "high")
"""Columns that every table of results has."""


@dataclass(frozen=True)
class Claim:
    """What a paper reports, to be drawn beside what was measured."""

    source: str = ""
    text: str = ""
    values: tuple[Mapping[str, Any], ...] = ()
    """Single figures: {"measure": …, "value": …, axis: label, …}."""

    def to_dict(self) -> dict[str, Any]:
        form = {"source": self.source, "text": self.text, "values": [dict(v) for v in self.values]}
        return {k: v for k, v in form.items() if v}

    @classmethod
    def from_dict(cls, form: object) -> Claim:
        if not isinstance(form, Mapping) or not set(form) <= {"source", "text", "values"}:
            raise InvalidInput("claim", "is an object with source, text and values")
        values = form.get("values", [])
        if not isinstance(values, list | tuple) or not all(_is_figure(v) for v in values):
            raise InvalidInput("claim", 'its values are a list of objects like {"measure": "solved", "value": 0.8}', whole=True)
        if len(values) > MOST_FIGURES:
            raise InvalidInput("claim", f"has {len(values):,} values; {MOST_FIGURES} is the most")
        return cls(_text(form, "source"), _text(form, "text"), tuple(values))


@dataclass(frozen=True)
class Cell:
    """One run of a study. The id follows from the trial alone."""

    number: int
    id: str
    positions: tuple[int, ...]
    trial: Trial


@dataclass(frozen=True, eq=False)
class Study:
    """The grid of trials that `axes` make of `base`; one cell for every combination."""

    name: str
    title: str
    base: Mapping[str, Any]
    """A trial's JSON form, or {"preset": name} with more fields beside it."""
    axes: tuple[Axis, ...]
    measures: tuple[Measure, ...]
    views: tuple[View, ...] = ()
    summary: str = ""
    claim: Claim = dataclasses.field(default_factory=Claim)
    keep: tuple[str, ...] = ()
    """What is stored of a run beside its numbers: "factors", "history"."""
    sizes: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    """Named sizes: other values for axes, other values at paths of the base."""
    size: str = ""
    """Which of its sizes this study has been given."""

    def __post_init__(self) -> None:
        names = [a.name for a in self.axes]
        for name in names:
            if names.count(name) > 1:
                raise InvalidInput("axes", f"two of them are called {name!r}", "give one another name", whole=True)
            if name in COLUMNS or name in {m.key for m in self.measures}:
                raise InvalidInput("axes", f"{name!r} is a column of the results", "give the axis another name", whole=True)
        for axis in self.axes[1:]:
            if "preset" in axis.paths:
                raise InvalidInput(
                    axis.name, "an axis of presets must be the first, because it replaces the whole model", whole=True
                )
        for view in self.views:
            view.check(self.axes, self.measures)
            if view.needs not in ("", *self.keep):
                raise InvalidInput(
                    "views", f"{view.name} needs what runs kept", f'add "keep": ["{view.needs}"] to the study', whole=True
                )
        if self.count > MOST_CELLS:
            raise InvalidInput("axes", f"make {self.count:,} cells; {MOST_CELLS:,} is the most", "take fewer values")

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(a) for a in self.axes)

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    # -- cells -------------------------------------------------------------------------------

    def cells(self) -> Iterator[Cell]:
        """Every cell in the order of the grid, the last axis running fastest; each is checked on the way."""
        for number, positions in enumerate(product(*map(range, self.shape))):
            yield self._cell(number, positions)

    def cell(self, number: int) -> Cell:
        if not 0 <= number < self.count:
            raise InvalidInput("cell", f"there is no number {number}; the study has {self.count}", whole=True)
        return self._cell(number, tuple(int(i) for i in np.unravel_index(number, self.shape)) if self.axes else ())

    def _cell(self, number: int, positions: tuple[int, ...]) -> Cell:
        form = self._start()
        for axis, position in zip(self.axes, positions, strict=True):
            if axis.shares_of:
                raise InvalidInput(axis.name, "shares become counts first: call `ready` with the shape of the data", whole=True)
            for path, value in axis.changes(position):
                form = changed(form, path, value)
        try:
            trial = Trial.from_dict(fitting(form))
        except InvalidInput as error:
            where = ", ".join(f"{a.name} = {a.labels[i]}" for a, i in zip(self.axes, positions, strict=True))
            raise (error.noted(f"in the cell {where}") if where else error) from None
        return Cell(number, trial_id(trial.to_dict()), positions, trial)

    def cell_bytes(self) -> int:
        """Size of the description of a run, about: the largest that the base and the values of the axes make."""
        largest = [max((len(json.dumps(point)) for point in axis.values), default=0) for axis in self.axes]
        return len(json.dumps(self._start())) + sum(largest)

    def _start(self) -> dict[str, Any]:
        form = {k: v for k, v in self.base.items() if k != "preset"}
        return preset_form(self.base["preset"]) | form if "preset" in self.base else form

    def run_order(self) -> np.ndarray:
        """Cell numbers with the repetitions outermost, so that every part of a figure gets its first point early."""
        shown = {name for view in self.views for name in view.axes()}
        repeats = [i for i, axis in enumerate(self.axes) if axis.name not in shown]
        rest = [i for i, axis in enumerate(self.axes) if axis.name in shown]
        return np.arange(self.count).reshape(self.shape).transpose(*repeats, *rest).ravel()

    # -- other versions ----------------------------------------------------------------------

    def sized(self, size: str) -> Study:
        """The study at one of its sizes."""
        if size not in self.sizes:
            known = ", ".join(self.sizes) or "none"
            raise InvalidInput("size", f"{self.name} has no size {size!r}", f"it has {known}", whole=True)
        form = self.sizes[size]
        axes = {name: axis_from_dict({"name": name, **_where(self.axis(name)), **given}) for name, given in _axes_of(form)}
        base = self._start()
        for path, value in form.get("set", {}).items():
            base = changed(base, path, value)
        return dataclasses.replace(self, axes=tuple(axes.get(a.name, a) for a in self.axes), base=base, sizes={}, size=size)

    def axis(self, name: str) -> Axis:
        for axis in self.axes:
            if axis.name == name:
                return axis
        raise InvalidInput("axes", f"there is no {name!r}", f"known are {', '.join(a.name for a in self.axes)}", whole=True)

    def on(self, dataset: DatasetSource) -> Study:
        """The same study on other data."""
        for axis in self.axes:
            if any(path == "preset" or path.partition(".")[0] == "dataset" for path in axis.paths):
                raise InvalidInput(
                    "data", f"this study varies its data ({axis.name}), so it cannot be given other data", whole=True
                )
        return dataclasses.replace(self, base=changed(self._start(), "dataset", dataset.to_dict()))

    def ready(self, shape: tuple[int, int] | None = None) -> Study:
        """With every share as a count; the shape is that of the base's data, which is loaded if it is not given."""
        if not any(axis.shares_of for axis in self.axes):
            return self
        rows, columns = shape or self.base_trial().model.dataset.load().shape
        return dataclasses.replace(self, axes=tuple(axis.counted(rows, columns) for axis in self.axes))

    def base_trial(self) -> Trial:
        """The trial that the axes start from; those of a first axis of presets start from its first value."""
        form = self._start()
        if self.axes and "preset" in self.axes[0].paths:
            form = changed(form, "preset", dict(self.axes[0].changes(0))["preset"])
        return Trial.from_dict(form)

    # -- JSON --------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        form = {
            "name": self.name,
            "title": self.title,
            "summary": self.summary,
            "base": dict(self.base),
            "axes": [axis.to_dict() for axis in self.axes],
            "measures": [measure_form(m) for m in self.measures],
            "views": [view.to_dict() for view in self.views],
            "claim": self.claim.to_dict(),
            "keep": list(self.keep),
            "sizes": {k: dict(v) for k, v in self.sizes.items()},
            "size": self.size,
        }
        return {k: v for k, v in form.items() if v or k in ("base", "axes")}

    @property
    def id(self) -> str:
        """Follows from what is run and measured, in the alphabet of addresses; texts and views do not count."""
        content: dict[str, Any] = {"base": self._start(), "axes": [[a.paths, a.values] for a in self.axes]}
        content |= {"measures": [measure_form(m) for m in self.measures], "keep": self.keep}
        return content_id(content)

    @classmethod
    def from_dict(cls, form: object) -> Study:
        if not isinstance(form, Mapping):
            raise InvalidInput("study", "must be a JSON object")
        for key in form:
            if key not in FIELDS:
                raise InvalidInput(str(key), "is not part of a study", f"known are {', '.join(FIELDS)}")
        for key in ("base", "axes", "measures"):
            if key not in form:
                raise InvalidInput(key, "is missing from the study")
        for key, most in MOST_PARTS.items():
            if isinstance(form.get(key), Sized) and len(form[key]) > most:
                raise InvalidInput(key, f"are {len(form[key]):,}; a study may have {most}")
        base, axes, sizes, keep = form["base"], form["axes"], form.get("sizes", {}), form.get("keep", [])
        if not isinstance(base, Mapping):
            raise InvalidInput("base", "must be an object: a model, or a preset with what is changed in it")
        if not isinstance(sizes, Mapping):
            raise InvalidInput("sizes", f"must be an object with sizes by name, each {A_SIZE}")
        if not isinstance(axes, list | tuple):
            raise InvalidInput("axes", "must be a list")
        if not isinstance(keep, list | tuple) or not all(k in KEEPS for k in keep):
            raise InvalidInput("keep", f"must be a list of what is kept, which can be {' and '.join(KEEPS)}")
        name, varied, measures = (
            _text(form, "name") or "study",
            tuple(map(axis_from_dict, axes)),
            measures_from_form(form["measures"]),
        )
        study = cls(
            name=name,
            title=_text(form, "title") or name,
            base=base,
            axes=varied,
            measures=measures,
            views=views_from_form(form.get("views", [])) or standard_views(varied, measures),
            summary=_text(form, "summary"),
            claim=Claim.from_dict(form.get("claim", {})),
            keep=tuple(keep),
            sizes=sizes,
            size=_text(form, "size"),
        )
        values = sum(map(len, varied))
        for size in study.sizes:
            values += sum(map(len, study.sized(size).axes))
            if values > MOST_CELLS:
                raise InvalidInput("sizes", f"have more than {MOST_CELLS:,} values on their axes together, which is the most")
        return study

    @classmethod
    def from_json(cls, text: str) -> Study:
        if len(text) > MOST_CHARACTERS:
            raise InvalidInput("study", f"has {len(text):,} characters; {MOST_CHARACTERS:,} is the most")
        return cls.from_dict(parsed_json("study", text))


def content_id(content: object) -> str:
    """128 bits that follow from a JSON value."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()[:16]).decode().rstrip("=")


def _where(axis: Axis) -> dict[str, Any]:
    return {"paths": list(axis.paths)} if len(axis.paths) > 1 else {"path": axis.paths[0]}


def _axes_of(size: object) -> list[tuple[str, Mapping[str, Any]]]:
    if (
        not isinstance(size, Mapping)
        or not set(size) <= {"axes", "set"}
        or not all(isinstance(v, Mapping) for v in size.values())
    ):
        raise InvalidInput("sizes", f"a size is {A_SIZE}", whole=True)
    axes = list(size.get("axes", {}).items())
    if not all(isinstance(given, Mapping) for _, given in axes):
        raise InvalidInput("sizes", f"a size is {A_SIZE}", whole=True)
    return axes


def _is_figure(value: object) -> bool:
    """Whether this is a figure that a paper reports: a number that can be drawn."""
    if not isinstance(value, Mapping) or not isinstance(value.get("measure"), str):
        return False
    if not all(isinstance(v, str | int | float) for v in value.values()):
        return False
    number = value.get("value")
    return isinstance(number, int | float) and not isinstance(number, bool) and -LARGEST <= number <= LARGEST


def _text(form: Mapping[str, Any], key: str) -> str:
    value = form.get(key, "")
    if not isinstance(value, str):
        raise InvalidInput(key, "must be text")
    return value
