"""What a data frame (pandas, polars) tells of its rows and columns; neither library is imported."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from semf_core.datasets.axes import Axes, Axis
from semf_core.datasets.table_names import axis_of


def from_frame(frame: Any) -> tuple[Any, Axes] | None:
    """A frame without its names, which are told with axes and dates; None if it is no frame."""
    if all(hasattr(frame, name) for name in ("index", "columns", "to_numpy")):
        rows, columns = (_axis(side, str(side.name or "")) for side in (frame.index, frame.columns))
        return frame, Axes(rows, columns)
    if all(hasattr(frame, name) for name in ("columns", "schema", "to_numpy")):  # polars, which has no index
        rows = Axis()
        words = [name for name, kind in frame.schema.items() if str(kind) in ("String", "Categorical")]
        if words and words[0] == frame.columns[0]:  # names of the rows
            rows, frame = _axis(frame[words[0]], words[0]), frame.drop(words[0])
        return frame, Axes(rows, _axis(frame.columns, ""))
    return None


def _axis(labels: Iterable[Any], title: str) -> Axis:
    """As the first line of a table is read; numbers that merely count from 0 on, which pandas makes itself, say nothing."""
    cells = [str(label) for label in labels]
    return Axis() if not title and cells == [str(i) for i in range(len(cells))] else axis_of(cells, title)
