"""How a study is drawn, as data: the axes and measures that a figure shows. All other axes are repetitions.

A view turns a table of results into plain series or a grid; pages draw these, the command line prints them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any, ClassVar

import numpy as np

from semf_core.common.parameters import InvalidInput, Parametrized, param
from semf_core.common.registry import Registry
from semf_core.mathematics import metrics
from semf_core.studies.axes import Axis
from semf_core.studies.measures import Measure
from semf_core.studies.summaries import deviation, quartiles, standard_error, wilson
from semf_core.studies.tables import ResultTable

Array = np.ndarray
BANDS = {
    "quartiles": (quartiles, "Median of the runs, and their quartiles"),
    "deviation": (deviation, "Mean of the runs ± standard deviation"),
    "error": (standard_error, "Mean of the runs ± standard error"),
}
SIMILAR, CLOSE = 0.05, 0.005
"""Solutions whose relative error is within 5 %, or within 0.005, of the best fit equally well."""


@dataclass(frozen=True)
class Series:
    """One line or row of bars: a middle and a band over the positions of an axis; NaN where nothing is known yet."""

    label: str
    x: tuple[str, ...]
    numbers: tuple[float, ...] | None
    """The positions as numbers, where they are numbers."""
    middle: Array
    low: Array
    high: Array
    counts: Array
    cells: Array | None = None
    """The number of the run that stands for each value, or −1; none where a value has no single run behind it."""
    ordered: bool = True
    """Its positions follow on one another, so that a line may join them; names do not."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON types, to be sent to another process."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: v.tolist() if isinstance(v, np.ndarray) else v for name, v in values.items()}

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Series:
        """What `to_dict` has made."""
        arrays = {name: np.array(form[name]) for name in ("middle", "low", "high", "counts", "cells") if form[name] is not None}
        numbers = None if form["numbers"] is None else tuple(form["numbers"])
        return cls(**{**form, **arrays, "x": tuple(form["x"]), "numbers": numbers})


@dataclass(frozen=True)
class Grid:
    """Values over two axes."""

    x: tuple[str, ...]
    y: tuple[str, ...]
    middle: Array
    """One row for each of y."""
    counts: Array
    cells: Array
    """The number of the run that stands for each value, or −1."""


@dataclass(frozen=True)
class Drawing:
    """What a view shows of the results so far."""

    view: View
    title: str
    x_title: str
    y_title: str
    series: tuple[Series, ...] = ()
    grid: Grid | None = None
    rate: bool = False
    log: bool = False
    """Orders of magnitude matter: a logarithmic axis may be drawn."""

    def to_dict(self) -> dict[str, Any]:
        """One without a grid as JSON types, to be sent to another process."""
        words = {name: getattr(self, name) for name in ("title", "x_title", "y_title", "rate", "log")}
        return words | {"view": self.view.to_dict(), "series": [s.to_dict() for s in self.series]}

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Drawing:
        """What `to_dict` has made."""
        return cls(**{**form, "view": VIEWS.build(form["view"]), "series": tuple(map(Series.from_dict, form["series"]))})

    @property
    def clickable(self) -> bool:
        """Whether single runs stand for its values."""
        return self.grid is not None or any(s.cells is not None for s in self.series)

    def rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """The same as a flat table, with at most so many rows of each series."""
        if self.grid is not None:
            g = self.grid
            return [
                {self.x_title: x, self.y_title: y, self.title: _plain(g.middle[j, i]), "runs": int(g.counts[j, i])}
                for j, y in enumerate(g.y)
                for i, x in enumerate(g.x)
            ]
        return [
            {
                "series": s.label,
                self.x_title: x,
                self.y_title: _plain(s.middle[i]),
                "low": _plain(s.low[i]),
                "high": _plain(s.high[i]),
                "runs": int(s.counts[i]),
            }
            for s in self.series
            for i, x in _spread(s.x, most)
        ]


def _spread(labels: Sequence[str], most: int | None) -> list[tuple[int, str]]:
    """Positions and labels, evenly thinned with the first and the last among them."""
    count = len(labels)
    places = range(count) if most is None or count <= most else np.linspace(0, count - 1, most).round().astype(int).tolist()
    return [(i, labels[i]) for i in places]


class View(Parametrized):
    """A kind of figure with the names of the axes and of the measure it shows."""

    title: ClassVar[str] = ""
    needs: ClassVar[str] = ""
    """What the study has to keep of its runs."""
    most_rows: ClassVar[int | None] = None
    """Rows of each series that are enough to read; None: all."""

    measure: str = param("text", help="the measure that is drawn")
    x: str = param("text", help="the axis along the figure")
    by: str = param("text", "", help="one line or row for each value of this axis; several, joined by +")

    def axes(self) -> tuple[str, ...]:
        """The axes that the figure shows."""
        return (self.x, *self.split())

    def split(self) -> tuple[str, ...]:
        return tuple(name for name in self.by.split("+") if name)

    @property
    def caption(self) -> str:
        """What a value of the figure is."""
        return self.title

    def check(self, axes: Sequence[Axis], measures: Sequence[Measure]) -> None:
        """Reject a view of what the study does not have."""
        self.check_axes(axes)
        keys = [m.key for m in measures]
        if self.measure not in keys:
            raise InvalidInput(
                "views", f"{self.name} shows {self.measure!r}, but the study measures {', '.join(keys)}", whole=True
            )

    def check_axes(self, axes: Sequence[Axis]) -> None:
        names = [a.name for a in axes]
        for name in self.axes():
            if name not in names:
                raise InvalidInput(
                    "views", f"{self.name} shows the axis {name!r}, but the study has {', '.join(names)}", whole=True
                )
            if self.axes().count(name) > 1:
                raise InvalidInput(
                    "views", f"{self.name} shows the axis {name!r} twice", "name another one, or leave it out", whole=True
                )

    def draw(self, table: ResultTable) -> Drawing:
        raise NotImplementedError

    def _lines(self, table: ResultTable) -> Iterator[tuple[str, list[Array], Array]]:
        """For every line its label and, at every position of x, the values that are there and the run that stands for them."""
        names = (*self.split(), self.x)
        values, cells = table.arranged(self.measure, names), table.representatives(self.measure, names)
        shape = values.shape[: len(self.split())]
        labels = [table.axis(name).labels for name in self.split()]
        for index in product(*map(range, shape)):
            label = ", ".join(labels[i][position] for i, position in enumerate(index))
            yield label, [point[~np.isnan(point)] for point in values[index]], cells[index]

    def _series(self, table: ResultTable, summary: Any) -> tuple[Series, ...]:
        axis = table.axis(self.x)
        found = []
        for label, points, cells in self._lines(table):
            band = (np.array(c, dtype=float) for c in zip(*map(summary, points), strict=True))
            found.append(_along(axis, label, *band, counts=np.array([len(p) for p in points]), cells=cells))
        return tuple(found)

    def _drawing(self, table: ResultTable, y_title: str, **content: Any) -> Drawing:
        title = table.title_of(self.measure)
        return Drawing(self, title, self.x, y_title, rate=table.is_rate(self.measure), log=table.is_log(self.measure), **content)


def _along(axis: Axis, label: str, middle: Array, low: Array, high: Array, *, counts: Array, cells: Array) -> Series:
    """A series over the positions of an axis."""
    numbers = axis.numbers()
    at = tuple(numbers) if numbers else None
    return Series(label, axis.labels, at, middle, low, high, counts, cells, axis.ordered)


VIEWS: Registry[View] = Registry("view")


@VIEWS.register
class Rates(View):
    """Shares of success with Wilson's 95 % confidence interval."""

    name, title = "rates", "Share of the runs, with its 95 % confidence interval"

    def check(self, axes: Sequence[Axis], measures: Sequence[Measure]) -> None:
        super().check(axes, measures)
        if not any(m.key == self.measure and m.yes_no for m in measures):
            raise InvalidInput(
                "views", f"{self.measure!r} is not a yes or no, so it has no rate", "draw a curve of it", whole=True
            )

    def draw(self, table: ResultTable) -> Drawing:
        return self._drawing(table, table.title_of(self.measure), series=self._series(table, wilson))


@VIEWS.register
class Curve(View):
    """A middle with a band over the repetitions."""

    name, title = "curve", "Median or mean of the runs, and how much they differ"

    band: str = param(
        "choice", "quartiles", choices=("quartiles", "deviation", "error"), help="median and quartiles, mean ± deviation or error"
    )

    @property
    def caption(self) -> str:
        return BANDS[self.band][1]

    def draw(self, table: ResultTable) -> Drawing:
        return self._drawing(table, table.title_of(self.measure), series=self._series(table, BANDS[self.band][0]))


@VIEWS.register
class Needed(View):
    """The smallest x at which the mean reaches a level, over another axis (SeMF Figure 3)."""

    name, title = "needed", "The smallest number that reaches the level on average"

    level: float = param("number", 0.9, help="the mean that has to be reached")
    over: str = param("text", "", help="the axis along the figure; `x` is the one that is searched")

    def axes(self) -> tuple[str, ...]:
        return (*super().axes(), self.over)

    def draw(self, table: ResultTable) -> Drawing:
        names = (*self.split(), self.over, self.x)
        values, cells = table.arranged(self.measure, names), table.representatives(self.measure, names)
        with np.errstate(invalid="ignore"):
            counts = (~np.isnan(values)).sum(axis=-1)
            means = np.nansum(values, axis=-1) / np.where(counts, counts, np.nan)
        searched, over = table.axis(self.x), table.axis(self.over)
        positions = np.array(searched.numbers() or range(len(searched)), dtype=float)
        reached = means >= self.level
        smallest = np.where(reached, positions, np.inf).argmin(axis=-1)  # 0 where it is nowhere reached
        some = reached.any(axis=-1)
        needed = np.where(some, positions[smallest], np.nan)
        behind = np.where(some, np.take_along_axis(cells, smallest[..., None], axis=-1)[..., 0], -1)
        series = []
        for index in product(*map(range, needed.shape[:-1])):
            label = ", ".join(table.axis(name).labels[i] for name, i in zip(self.split(), index, strict=True))
            runs, line = counts[index].sum(axis=-1), needed[index]
            series.append(_along(over, label, line, line, line, counts=runs, cells=behind[index]))
        drawing = self._drawing(table, f"{self.x} for {self.level:g}", series=tuple(series))
        return Drawing(self, drawing.title, self.over, drawing.y_title, drawing.series)


@VIEWS.register
class SortedGroups(View):
    """The repetitions sorted into groups of equal size and their means (SeMF Figure 4, after K-SVD)."""

    name, title = "sorted_groups", "Runs sorted into groups of equal size, and the mean of each"

    groups: int = param("integer", 5, low=2, high=100, help="number of groups")

    def draw(self, table: ResultTable) -> Drawing:
        axis, names = table.axis(self.x), (*self.split(), self.x)
        values, numbers = table.arranged(self.measure, names), table.arranged_cells(names)
        lines = []
        for (label, points, _), index in zip(self._lines(table), np.ndindex(values.shape[:-2]), strict=True):
            found = [_groups(v, n, self.groups) for v, n in zip(values[index], numbers[index], strict=True)]
            counts = np.array([len(p) for p in points])
            for g in range(self.groups):
                name = f"{label}, group {g + 1}" if label else f"group {g + 1}"
                mean, cells = np.array([means[g] for means, _ in found]), np.array([runs[g] for _, runs in found])
                lines.append(_along(axis, name, mean, mean, mean, counts=counts, cells=cells))
        return self._drawing(table, table.title_of(self.measure), series=tuple(lines))


@VIEWS.register
class HeatMap(View):
    """A colour over two axes: the mean of the repetitions, or their median."""

    name, title = "heat_map", "Mean or median of the runs of each field"

    statistic: str = param("choice", "mean", choices=("mean", "median"), help="how repetitions are summed up")

    @property
    def caption(self) -> str:
        return f"{self.statistic.capitalize()} of the runs of each field"

    def check(self, axes: Sequence[Axis], measures: Sequence[Measure]) -> None:
        super().check(axes, measures)
        if len(self.split()) != 1:
            raise InvalidInput("views", "a heat map needs a second axis: name it with `by`", whole=True)

    def draw(self, table: ResultTable) -> Drawing:
        names = (*self.split(), self.x)
        values = table.arranged(self.measure, names)
        counts = (~np.isnan(values)).sum(axis=-1)
        middle = np.full(counts.shape, np.nan)
        some = counts > 0
        middle[some] = (np.nanmedian if self.statistic == "median" else np.nanmean)(values[some], axis=-1)
        y_axis, x_axis = (table.axis(n) for n in names)
        grid = Grid(x_axis.labels, y_axis.labels, middle, counts, table.representatives(self.measure, names))
        return self._drawing(table, self.split()[0], grid=grid)


@VIEWS.register
class Table(Curve):
    """Rows and columns of numbers, mean ± standard deviation."""

    name, title = "table", "One value for each setting, and how much its runs differ"

    band: str = param("choice", "deviation", choices=("quartiles", "deviation", "error"), help="what follows the ±")


@VIEWS.register
class Stability(View):
    """Mean |cosine| of matched components over all pairs of repetitions: how well the data determine them.

    The band goes from the least to the best agreement. Only runs count whose `measure`, an error, is near the best.
    """

    name, title = "stability", "Stability of the components"
    needs: ClassVar[str] = "factors"

    def draw(self, table: ResultTable) -> Drawing:
        errors = table.arranged(self.measure, (*self.split(), self.x))
        cells = table.arranged_cells((*self.split(), self.x))
        axis, found = table.axis(self.x), []
        for number, (label, points, best) in enumerate(self._lines(table)):
            at = np.unravel_index(number, errors.shape[: len(self.split())]) if self.split() else ()
            pairs = [self._agreements(table, errors[(*at, i)], cells[(*at, i)]) for i in range(len(points))]
            summary = [(p.mean(), p.min(), p.max()) if len(p) else (np.nan,) * 3 for p in pairs]
            band = (np.array(c, dtype=float) for c in zip(*summary, strict=True))
            found.append(_along(axis, label, *band, counts=np.array([len(p) for p in points]), cells=best))
        return replace(self._drawing(table, self.title, series=tuple(found)), title=self.title)

    @staticmethod
    def _agreements(table: ResultTable, errors: Array, cells: Array) -> Array:
        if np.isnan(errors).all():
            return np.empty(0)
        near = near_best(errors)
        components = list(table.components([int(n) for n in cells[near]]).values())
        pairs = [metrics.agreement(A, B) for i, A in enumerate(components) for B in components[:i]]
        return np.array(pairs)


def near_best(errors: Array) -> Array:
    """Which relative errors are as good as the smallest; NaN is not."""
    best = np.nanmin(errors)
    return errors <= max((1 + SIMILAR) * best, best + CLOSE)


def _groups(values: Array, cells: Array, groups: int) -> tuple[Array, Array]:
    """The means of sorted values in groups of equal size, and the run in the middle of each; −1 where there are too few."""
    known = np.flatnonzero(~np.isnan(values))
    if len(known) < groups:
        return np.full(groups, np.nan), np.full(groups, -1)
    parts = np.array_split(known[np.argsort(values[known], kind="stable")], groups)
    return np.array([values[part].mean() for part in parts]), np.array([cells[part[len(part) // 2]] for part in parts])


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def views_from_form(forms: object) -> tuple[View, ...]:
    if not isinstance(forms, Sequence) or isinstance(forms, str):
        raise InvalidInput("views", "must be a list of views")
    return tuple(VIEWS.build(form) for form in forms)
