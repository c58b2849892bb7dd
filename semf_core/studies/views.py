"""How a study is drawn, as data: the axes and measures that a figure shows. All other axes are repetitions.

A view turns a table of results into plain series or a grid; pages draw these, the command line prints them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar

import numpy as np

from semf_core import metrics
from semf_core.parameters import InvalidInput, Parametrized, param
from semf_core.registry import Registry
from semf_core.studies.axes import Axis
from semf_core.studies.measures import Measure
from semf_core.studies.tables import ResultTable

Array = np.ndarray
CONFIDENCE = 0.95
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


@dataclass(frozen=True)
class Grid:
    """Values over two axes."""

    x: tuple[str, ...]
    y: tuple[str, ...]
    middle: Array
    """One row for each of y."""
    counts: Array
    cells: Array
    """The number of one cell behind each value: the one with the best value, or −1."""


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


@dataclass(frozen=True, eq=False)
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

    def check(self, axes: Sequence[Axis], measures: Sequence[Measure]) -> None:
        """Refuse a view of what the study does not have."""
        self.check_axes(axes)
        keys = [m.key for m in measures]
        if self.measure not in keys:
            raise InvalidInput("views", f"{self.name} shows {self.measure!r}, but the study measures {', '.join(keys)}")

    def check_axes(self, axes: Sequence[Axis]) -> None:
        names = [a.name for a in axes]
        for name in self.axes():
            if name not in names:
                raise InvalidInput("views", f"{self.name} shows the axis {name!r}, but the study has {', '.join(names)}")
            if self.axes().count(name) > 1:
                raise InvalidInput("views", f"{self.name} shows the axis {name!r} twice; name another one, or leave it out")

    def draw(self, table: ResultTable) -> Drawing:
        raise NotImplementedError

    def _lines(self, table: ResultTable) -> Iterator[tuple[str, list[Array]]]:
        """For every line its label and, at every position of x, the values that are there."""
        values = table.arranged(self.measure, (*self.split(), self.x))
        shape = values.shape[: len(self.split())]
        labels = [table.axis(name).labels for name in self.split()]
        for index in product(*map(range, shape)):
            label = ", ".join(labels[i][position] for i, position in enumerate(index))
            yield label, [point[~np.isnan(point)] for point in values[index]]

    def _series(self, table: ResultTable, summary: Any) -> tuple[Series, ...]:
        axis = table.axis(self.x)
        numbers = axis.numbers()
        found = []
        for label, points in self._lines(table):
            middle, low, high = (np.array(c, dtype=float) for c in zip(*map(summary, points), strict=True))
            counts = np.array([len(p) for p in points])
            found.append(Series(label, axis.labels, tuple(numbers) if numbers else None, middle, low, high, counts))
        return tuple(found)

    def _drawing(self, table: ResultTable, y_title: str, **content: Any) -> Drawing:
        title = table.title_of(self.measure)
        return Drawing(self, title, self.x, y_title, rate=table.is_rate(self.measure), log=table.is_log(self.measure), **content)


VIEWS: Registry[View] = Registry("view")


@VIEWS.register
@dataclass(frozen=True, eq=False)
class Rates(View):
    """Shares of success with Wilson's 95 % confidence interval."""

    name, title = "rates", "Share of the runs, with its 95 % confidence interval"

    def check(self, axes: Sequence[Axis], measures: Sequence[Measure]) -> None:
        super().check(axes, measures)
        if not any(m.key == self.measure and m.yes_no for m in measures):
            raise InvalidInput("views", f"{self.measure!r} is not a yes or no, so it has no rate; draw a curve of it")

    def draw(self, table: ResultTable) -> Drawing:
        return self._drawing(table, table.title_of(self.measure), series=self._series(table, wilson))


@VIEWS.register
@dataclass(frozen=True, eq=False)
class Curve(View):
    """A middle with a band over the repetitions."""

    name, title = "curve", "Middle of the runs, and a band that says how much they differ"

    band: str = param(
        "choice", "quartiles", choices=("quartiles", "deviation", "error"), help="median and quartiles, mean ± deviation or error"
    )

    def draw(self, table: ResultTable) -> Drawing:
        summary = {"quartiles": quartiles, "deviation": deviation, "error": standard_error}[self.band]
        return self._drawing(table, table.title_of(self.measure), series=self._series(table, summary))


@VIEWS.register
@dataclass(frozen=True, eq=False)
class Needed(View):
    """The smallest x at which the mean reaches a level, over another axis (SeMF Figure 3)."""

    name, title = "needed", "The smallest number that reaches the level on average"

    level: float = param("number", 0.9, help="the mean that has to be reached")
    over: str = param("text", "", help="the axis along the figure; `x` is the one that is searched")

    def axes(self) -> tuple[str, ...]:
        return (*super().axes(), self.over)

    def draw(self, table: ResultTable) -> Drawing:
        values = table.arranged(self.measure, (*self.split(), self.over, self.x))
        with np.errstate(invalid="ignore"):
            counts = (~np.isnan(values)).sum(axis=-1)
            means = np.nansum(values, axis=-1) / np.where(counts, counts, np.nan)
        searched, over = table.axis(self.x), table.axis(self.over)
        positions = np.array(searched.numbers() or range(len(searched)), dtype=float)
        series = []
        for index in product(*map(range, means.shape[:-2])):
            label = ", ".join(table.axis(name).labels[i] for name, i in zip(self.split(), index, strict=True))
            first = np.array([_first_reached(positions, line, self.level) for line in means[index]])
            numbers = over.numbers()
            series.append(
                Series(label, over.labels, tuple(numbers) if numbers else None, first, first, first, counts[index].sum(axis=-1))
            )
        drawing = self._drawing(table, f"{self.x} for {self.level:g}", series=tuple(series))
        return Drawing(self, drawing.title, self.over, drawing.y_title, drawing.series)


@VIEWS.register
@dataclass(frozen=True, eq=False)
class SortedGroups(View):
    """The repetitions sorted into groups of equal size and their means (SeMF Figure 4, after K-SVD)."""

    name, title = "sorted_groups", "Runs sorted into groups of equal size, and the mean of each"

    groups: int = param("integer", 5, low=2, high=100, help="number of groups")

    def draw(self, table: ResultTable) -> Drawing:
        axis = table.axis(self.x)
        numbers = axis.numbers()
        lines = []
        for label, points in self._lines(table):
            means = np.array([_group_means(p, self.groups) for p in points])
            counts = np.array([len(p) for p in points])
            for g in range(self.groups):
                name = f"{label}, group {g + 1}" if label else f"group {g + 1}"
                column = means[:, g]
                lines.append(Series(name, axis.labels, tuple(numbers) if numbers else None, column, column, column, counts))
        return self._drawing(table, table.title_of(self.measure), series=tuple(lines))


@VIEWS.register
@dataclass(frozen=True, eq=False)
class HeatMap(View):
    """A colour over two axes: the mean of the repetitions, or their median."""

    name, title = "heat_map", "Runs of each field summed up as one colour"

    statistic: str = param("choice", "mean", choices=("mean", "median"), help="how repetitions are summed up")

    def check(self, axes: Sequence[Axis], measures: Sequence[Measure]) -> None:
        super().check(axes, measures)
        if len(self.split()) != 1:
            raise InvalidInput("views", "a heat map needs a second axis: name it with `by`")

    def draw(self, table: ResultTable) -> Drawing:
        names = (*self.split(), self.x)
        values = table.arranged(self.measure, names)
        numbers = table.arranged_cells(names)
        counts = (~np.isnan(values)).sum(axis=-1)
        middle = np.full(counts.shape, np.nan)
        some = counts > 0
        middle[some] = (np.nanmedian if self.statistic == "median" else np.nanmean)(values[some], axis=-1)
        filled = np.where(np.isnan(values), np.inf, values if table.better(self.measure) == "low" else -values)
        cells = np.take_along_axis(numbers, filled.argmin(axis=-1)[..., None], axis=-1)[..., 0]
        y_axis, x_axis = (table.axis(n) for n in names)
        grid = Grid(x_axis.labels, y_axis.labels, middle, counts, np.where(some, cells, -1))
        return self._drawing(table, self.split()[0], grid=grid)


@VIEWS.register
@dataclass(frozen=True, eq=False)
class Table(Curve):
    """Rows and columns of numbers, mean ± standard deviation."""

    name, title = "table", "One value for each setting, and how much its runs differ"

    band: str = param("choice", "deviation", choices=("quartiles", "deviation", "error"), help="what follows the ±")


@VIEWS.register
@dataclass(frozen=True, eq=False)
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
        numbers = axis.numbers()
        for number, (label, points) in enumerate(self._lines(table)):
            at = np.unravel_index(number, errors.shape[: len(self.split())]) if self.split() else ()
            pairs = [self._agreements(table, errors[(*at, i)], cells[(*at, i)]) for i in range(len(points))]
            summary = [(p.mean(), p.min(), p.max()) if len(p) else (np.nan,) * 3 for p in pairs]
            middle, low, high = (np.array(c, dtype=float) for c in zip(*summary, strict=True))
            counts = np.array([len(p) for p in points])
            found.append(Series(label, axis.labels, tuple(numbers) if numbers else None, middle, low, high, counts))
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


def wilson(values: Array) -> tuple[float, float, float]:
    """The share of ones, and Wilson's interval for it."""
    if not len(values):
        return np.nan, np.nan, np.nan
    from scipy.stats import binomtest  # half a second to import, and only rates need it

    successes = round(float(values.sum()))
    interval = binomtest(successes, len(values)).proportion_ci(CONFIDENCE, "wilson")
    return successes / len(values), float(interval.low), float(interval.high)


def quartiles(values: Array) -> tuple[float, float, float]:
    if not len(values):
        return np.nan, np.nan, np.nan
    low, middle, high = np.percentile(values, (25, 50, 75))
    return float(middle), float(low), float(high)


def deviation(values: Array) -> tuple[float, float, float]:
    """Mean ± standard deviation."""
    if not len(values):
        return np.nan, np.nan, np.nan
    mean, spread = float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return mean, mean - spread, mean + spread


def standard_error(values: Array) -> tuple[float, float, float]:
    """Mean ± its standard error."""
    mean, low, high = deviation(values)
    half = (high - low) / 2 / np.sqrt(max(1, len(values)))
    return mean, mean - half, mean + half


def _first_reached(positions: Array, means: Array, level: float) -> float:
    reached = positions[means >= level]
    return float(reached.min()) if len(reached) else float("nan")


def _group_means(values: Array, groups: int) -> Array:
    if len(values) < groups:
        return np.full(groups, np.nan)
    return np.array([part.mean() for part in np.array_split(np.sort(values), groups)])


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def views_from_form(forms: object) -> tuple[View, ...]:
    if not isinstance(forms, Sequence) or isinstance(forms, str):
        raise InvalidInput("views", "must be a list of views")
    return tuple(VIEWS.build(form) for form in forms)
