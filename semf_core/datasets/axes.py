"""What the rows and the columns of a matrix are: names, a unit, places on a numeric axis or on the calendar."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np

from semf_core.common.errors import InvalidInput
from semf_core.common.spreadsheets import QUANTITY

Array = np.ndarray
LONGEST_NAME = 200
LONGEST_TITLE = 80
_TITLE_AND_UNIT = re.compile(r"(.*\S|)\s*[(\[]([^()\[\]]*)[)\]]")


def clean(text: object, longest: int = LONGEST_NAME) -> str:
    """A name as it is kept everywhere: printable, on one line, of bounded length."""
    line = " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


@dataclass(frozen=True, eq=False, repr=False)
class Axis:
    """The rows, or the columns, of a matrix; everything about them may be unknown.

    `values` are places on an axis (wavelengths, times); with `calendar` they are seconds since 1970-01-01 UTC.
    """

    title: str = ""
    unit: str = ""
    names: tuple[str, ...] | None = None
    values: Array | None = field(default=None, repr=False)
    calendar: bool = False

    def __post_init__(self) -> None:
        keep = object.__setattr__
        keep(self, "title", clean(self.title, LONGEST_TITLE))
        keep(self, "unit", clean(self.unit, LONGEST_TITLE))
        if self.names is not None:
            names = tuple(clean(name) for name in self.names)
            keep(self, "names", names if any(names) else None)  # empty ones say nothing
        if self.values is not None:
            keep(self, "values", _places(self.values))
        if self.names is not None and self.values is not None and len(self.names) != len(self.values):
            raise InvalidInput("names", f"are {len(self.names)}, but the axis has {len(self.values)} places")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Axis) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.title, self.unit, self.names, self.calendar))

    def __repr__(self) -> str:
        return f"Axis({self.summary()}{f'; {len(self)} in all' if len(self) > 4 else ''})"

    def summary(self) -> str:
        """The heading, and of many names or places the first two and the last."""
        count = len(self)
        shown = [self.label(i) for i in (range(count) if count <= 4 else (0, 1, count - 1))]
        listed = ", ".join(shown if count <= 4 else [*shown[:2], "…", shown[2]])
        return ": ".join(filter(None, [self.heading, listed]))

    def __bool__(self) -> bool:
        """Whether anything is known."""
        return bool(self.to_dict())

    def __len__(self) -> int:
        known = self.names if self.names is not None else self.values
        return 0 if known is None else len(known)

    @property
    def heading(self) -> str:
        """Title and unit, as a table or a figure shows them: wavelength (nm)."""
        return f"{self.title} ({self.unit})".strip() if self.unit else self.title

    @property
    def ordered(self) -> bool:
        """Whether a curve can be drawn over it."""
        if self.values is None or len(self.values) < 2:
            return False
        steps = np.diff(self.values)
        return bool((steps > 0).all() or (steps < 0).all())

    @property
    def numbered(self) -> bool:
        """Whether the names merely count, from 0 or from 1 on."""
        names = self.names or ()
        return len(names) > 2 and any(names == tuple(map(str, range(s, s + len(names)))) for s in (0, 1) if names[0] == str(s))

    def label(self, index: int, word: str = "") -> str:
        """What one row or column is called: its name, its place, or its number, counted from 1, after `word`."""
        if self.names is not None:
            return self.names[index]
        if self.values is not None:
            return moment(self.values[index]) if self.calendar else place_text(self.values[index])
        return f"{word} {index + 1}".strip()

    def label_with_unit(self, index: int) -> str:
        """The same in a sentence: a place has its unit behind it."""
        places = self.names is None and self.values is not None
        return f"{self.label(index)} {self.unit}".strip() if places else self.label(index)

    def cells(self) -> list[str] | None:
        """The names or places as text that reads back to the same; None if there are none."""
        if self.names is not None:
            return list(self.names)
        if self.values is None:
            return None
        return [moment(v) if self.calendar else repr(float(v)) for v in self.values]

    def take(self, chosen: Array | slice) -> Axis:
        """The same of some rows or columns."""
        names = None if self.names is None else tuple(np.array(self.names, dtype=object)[chosen])
        return Axis(self.title, self.unit, names, None if self.values is None else self.values[chosen], self.calendar)

    def to_dict(self) -> dict[str, Any]:
        """JSON types; what is not known is left out."""
        values = None if self.values is None else self.values.tolist()
        names = None if self.names is None else list(self.names)
        known = {"title": self.title, "unit": self.unit, "names": names, "values": values, "calendar": self.calendar}
        return {key: value for key, value in known.items() if value is not None and value not in ("", False)}

    @classmethod
    def from_dict(cls, values: object) -> Axis:
        if not isinstance(values, Mapping) or not set(values) <= {"title", "unit", "names", "values", "calendar"}:
            raise InvalidInput("axes", "must be objects with title, unit, names, values or calendar")
        texts = [values.get("title", ""), values.get("unit", ""), *_listed("names", values.get("names", []))]
        if not all(isinstance(text, str) for text in texts):
            raise InvalidInput("axes", "have a title, a unit or a name that is not text")
        numbers = values.get("values")
        if numbers is not None and not all(type(v) in (int, float) for v in _listed("values", numbers)):
            raise InvalidInput("axes", "have a place that is not a number")
        names = values.get("names")
        return cls(
            texts[0], texts[1], None if names is None else tuple(names), numbers, values.get("calendar") is True
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Axes:
    """Both sides of a matrix; `map_shape` is height and width of the picture whose pixels are the columns."""

    rows: Axis = field(default_factory=Axis)
    columns: Axis = field(default_factory=Axis)
    map_shape: tuple[int, int] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Axes) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def checked(self, shape: tuple[int, int]) -> Axes:
        """These, if they fit a matrix of this shape."""
        for axis, count, word in zip((self.rows, self.columns), shape, ("rows", "columns"), strict=True):
            if len(axis) not in (0, count):
                raise InvalidInput("names", f"are {len(axis)} for the {word}, of which there are {count}")
        if self.map_shape is not None and math.prod(self.map_shape) != shape[1]:
            raise InvalidInput(
                "map_shape", f"{self.map_shape[0]} × {self.map_shape[1]} does not make {shape[1]} columns", whole=True
            )
        return self

    @property
    def transposed(self) -> Axes:
        return Axes(self.columns, self.rows)

    def to_dict(self) -> dict[str, Any]:
        known = {"rows": self.rows.to_dict(), "columns": self.columns.to_dict()}
        told: dict[str, Any] = {key: value for key, value in known.items() if value}
        return told | ({"map_shape": list(self.map_shape)} if self.map_shape is not None else {})

    @classmethod
    def from_dict(cls, values: object, shape: tuple[int, int]) -> Axes:
        """What `to_dict` made, from anywhere, for a matrix of this shape."""
        if not isinstance(values, Mapping) or not set(values) <= {"rows", "columns", "map_shape"}:
            raise InvalidInput("axes", "must be an object with rows, columns and map_shape")
        sides = values.get("map_shape")
        if sides is not None and not (
            isinstance(sides, list) and len(sides) == 2 and all(type(s) is int and s > 0 for s in sides)
        ):
            raise InvalidInput("map_shape", "must be a pair (height, width)")
        rows, columns = (Axis.from_dict(values.get(side, {})) for side in ("rows", "columns"))
        return cls(rows, columns, None if sides is None else (sides[0], sides[1])).checked(shape)


def moment(seconds: float) -> str:
    """Seconds since 1970 as date, or date and time, in UTC."""
    try:
        found = datetime.fromtimestamp(float(seconds), UTC).replace(tzinfo=None)
    except (OverflowError, ValueError, OSError):
        return f"{seconds:.6g}"
    return found.date().isoformat() if found.time() == datetime.min.time() else found.isoformat(sep=" ")


def place_text(place: float) -> str:
    """A place on an axis in a few digits; whole numbers, such as years or long ids, in all of theirs."""
    return f"{place:.0f}" if float(place).is_integer() and abs(place) < 1e15 else f"{place:.6g}"


_DAYS = ("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d")
"""Ways to write a day; 1/2/2024 is the second of January, unless another of the texts has a day in the first place."""
_MONTHS = ("%b %Y", "%B %Y", "%b-%y", "%b-%Y", "%d %b %Y", "%d-%b-%Y", "%d-%b-%y")
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
_FORMATS = ("%Y-%m", *(day + time for time in _TIMES for day in _DAYS), *_MONTHS)
_MONTH = re.compile(r"(?:\d{1,2}[ -])?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[ -]\d", re.I)
_QUARTER = re.compile(r"(\d{4})[ -]?Q([1-4])")


def moments(texts: Sequence[str]) -> Array | None:
    """Dates or times as seconds since 1970, if all the texts are such, written in one way."""
    if not texts or not all(6 <= len(text) <= 40 and (text[:1].isdigit() or _MONTH.match(text)) for text in texts):
        return None
    readers = [_iso, _quarter, *(lambda text, form=form: datetime.strptime(text, form) for form in _FORMATS)]
    for read in readers:
        try:
            found = [read(text) for text in texts]
        except ValueError:
            continue
        return np.array([(d if d.tzinfo else d.replace(tzinfo=UTC)).timestamp() for d in found])
    return None


def _iso(text: str) -> datetime:
    return datetime.fromisoformat(text if len(text) > 6 else "")  # 123456 is a number


def _quarter(text: str) -> datetime:
    """The first day of a quarter: 2024Q3."""
    found = _QUARTER.fullmatch(text)
    if found is None:
        raise ValueError(text)
    return datetime(int(found[1]), 3 * int(found[2]) - 2, 1)


_CLOCK = re.compile(r"(\d{1,2}):([0-5]\d)(?::([0-5]\d(?:[.,]\d{1,6})?))?(?: ?([AaPp])\.?[Mm]\.?)?")


def clock_times(texts: Sequence[str]) -> Array | None:
    """Times of day (8:30, 08:30:15.5, 8:30 PM) as hours since midnight, if all the texts are such, written in one way.

    They go on throughout, over one midnight at most; otherwise they are names.
    """
    found = [_CLOCK.fullmatch(text) for text in texts] if texts and all(4 <= len(text) <= 18 for text in texts) else [None]
    ways = {one and (one[3] is None, one[4] is None) for one in found}
    if len(ways) != 1 or None in ways:
        return None
    hours = np.array([int(one[1]) for one in found if one])
    halves = np.array([one[4].lower() == "p" for one in found if one and one[4]])
    if hours.max() > (12 if halves.size else 24):
        return None
    seconds = [60.0 * int(one[2]) + float((one[3] or "0").replace(",", ".")) for one in found if one]
    times = (hours % 12 + 12 * halves if halves.size else hours) + np.array(seconds) / 3600
    back = np.flatnonzero(np.diff(times) <= 0)
    if len(back) == 1 and times[-1] < times[0]:
        times[back[0] + 1 :] += 24
    return times if len(times) > 2 and (np.diff(times) > 0).all() else None


TIMES = ("ns", "µs", "μs", "us", "ms", "s", "sec", "min", "h", "hr")
_USUAL = dict.fromkeys(TIMES, "time") | dict.fromkeys(("nm", "µm", "μm", "um"), "wavelength")
_USUAL |= dict.fromkeys(("Hz", "kHz", "MHz"), "frequency") | dict.fromkeys(("cm-1", "cm^-1"), "wavenumber")
"""What is measured in a unit."""


def quantities(texts: Sequence[str]) -> tuple[Array, str, str] | None:
    """Numbers with one unit (0.5 s, 1.0 s, …) as places, what is measured so, and the unit; they go up, or down, throughout."""
    found = [QUANTITY.fullmatch(text) for text in texts]
    units = {one and one[2] for one in found}
    if len(found) < 3 or len(units) != 1 or None in units:
        return None
    unit = str(units.pop()).strip()
    values = np.array([float(one[1].replace(",", ".")) for one in found if one])
    steps = np.diff(values)
    return (values, _USUAL.get(unit, ""), unit) if (steps > 0).all() or (steps < 0).all() else None


def titled(heading: str, **known: Any) -> Axis:
    """An axis whose title and unit stand in one heading, as in wavelength (nm) or wavelength [nm]."""
    found = _TITLE_AND_UNIT.fullmatch(heading.strip())
    title, unit = (found[1], found[2]) if found else (heading, "")
    return Axis(title, unit, **known)


def component_names(typed: Iterable[object], rank: int) -> list[str]:
    """The names of all components; those without one are numbered."""
    given = [clean(name) for name in typed]
    return [given[k] if k < len(given) and given[k] else f"component {k + 1}" for k in range(rank)]


def _places(values: Any) -> Array:
    places = np.array(values, dtype=float)
    if places.ndim != 1 or not np.isfinite(places).all():
        raise InvalidInput("axis", "must be a list of finite numbers")
    places.flags.writeable = False
    return places


def _listed(name: str, value: object) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise InvalidInput("axes", f"have {name} that are not a list")
    return list(value)
