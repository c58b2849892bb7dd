"""A curve of a run that a reader draws before he sees it: the empty chart, and what is laid over it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from semf_core.exports.curves import panels
from semf_core.lessons.format import Sketch
from semf_core.solvers import COLUMNS

Array = np.ndarray
MOST_POINTS = 400
LOWEST = 1e-12
"""Of a run's curve that is drawn: below is rounding."""
COLUMNS_DRAWN = 48
"""Heights of a drawn curve, as in sketch.js."""


def chart(sketch: Sketch, rows: Array, numbers: Array, name: str) -> dict[str, Any]:
    """Axes that give little away, and the run's own curve under `truth`; `name` tells one sketch from another."""
    line = next(line for panel in panels(True) for line in panel.lines if line.column == sketch.column)
    inside = numbers <= (sketch.last or numbers[-1])
    x, y = numbers[inside], rows[inside, COLUMNS.index(sketch.column)]
    sound = np.where(np.isfinite(y) & (y > LOWEST), y, np.nan)
    low, high = (float(edge(np.append(sound, 1.0) if np.isnan(sound).all() else sound)) for edge in (np.nanmin, np.nanmax))
    kept = np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST_POINTS)).round().astype(int))
    return {
        "name": name,
        "label": line.label.partition(",")[0],
        "colour": line.colour,
        "last": int(x[-1]),
        "low": math.floor(math.log10(low)) - 1,
        "high": math.ceil(math.log10(high)) + 1,
        "start": _number(sound[0]),
        "truth": {"x": x[kept].tolist(), "y": [_number(value) for value in sound[kept]]},
    }


def checked_curve(values: object) -> list[float] | None:
    """A drawn curve as a browser sends it; None if it is none."""
    if not isinstance(values, list) or len(values) != COLUMNS_DRAWN:
        return None
    if not all(isinstance(v, int | float) and not isinstance(v, bool) and math.isfinite(v) and abs(v) < 100 for v in values):
        return None
    return [float(v) for v in values]


def _number(value: float) -> float:
    """JSON has no NaN: 0 stands for a point that cannot be drawn."""
    return float(f"{value:.6g}") if math.isfinite(value) else 0.0
