"""What the charts show: panels, lines, axes, colours, and signs for cases and events.

The one description that the live view, Compare, studies, the report, the figures and the slides are drawn from.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace

from semf_core.glossary import word
from semf_core.solvers.base import Case

# Okabe and Ito's colours, told apart with every common colour blindness; a little lighter on dark ground.
COLOURS = {
    "light": {
        "blue": "#0072B2",
        "sky": "#3A93C8",
        "orange": "#B86E00",
        "purple": "#A8508A",
        "green": "#00805E",
        "vermilion": "#C04A00",
        "grey": "#8A93A0",
        "box": "#FFFFFF",
    },
    "dark": {
        "blue": "#56B4E9",
        "sky": "#9AD3F5",
        "orange": "#F0B040",
        "purple": "#E59CC4",
        "green": "#3CC79B",
        "vermilion": "#FF8A4C",
        "grey": "#8A93A0",
        "box": "#22262E",
    },
}
SERIES_COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F6000", "#6A3D9A",
    "#444444", "#B2182B", "#1B7837", "#8C510A",
)  # fmt: skip
"""For any number of runs or series in one chart: Okabe and Ito's, then others of unlike lightness."""
SOFT = "#52606D"
"""Text beside what counts, on white."""
MATCHED = "#009E73"
"""The frame of a component that is one of the reference."""
COMPARED = {"iterations": "iteration", "seconds": "time (s)"}
"""Axes over which runs are compared."""
ERROR = "‖M−UV‖ / ‖M‖"
LOWEST = 1e-16
"""Of an axis of it: what is below is rounding, and a logarithmic axis has no zero."""
BOUND = "best possible at rank {rank} (Eckart–Young)"


@dataclass(frozen=True)
class Mark:
    """How an event of a run is called and marked."""

    label: str
    glyph: str = "■"
    symbol: str = "square"
    """In plotly."""


EVENTS = {
    "kick": Mark("Kick", "▼", "triangle-down"),
    "descent": Mark("Descent", "▶", "triangle-right"),
    "restart": Mark("New start", "★", "star"),
    "edit": Mark("Change", "◆", "diamond"),
    "polish": Mark("Polish", "●", "circle"),
    "fork": Mark("Start from given factors"),
    "unlisted": Mark("Remark"),
}


@dataclass(frozen=True)
class Line:
    """One curve: a column of the history."""

    column: str
    label: str
    colour: str
    dash: str = "solid"
    main: bool = False
    """The one that counts, drawn wider."""

    @property
    def help(self) -> str:
        """What it is, as the glossary says it."""
        return word(self.column).short


@dataclass(frozen=True)
class Panel:
    """Curves that share their axes."""

    name: str
    title: str
    unit: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Sign:
    """How a decision of Algorithm 2 is marked, and on which curve."""

    glyph: str
    marker: str
    """In matplotlib."""
    symbol: str
    """In plotly."""
    equation: int
    """The condition of Algorithm 2 that decides it."""
    column: str = "alpha"
    quiet: bool = False
    """Nothing changes: only shown where every iteration is."""


RESIDUALS = Panel(
    "residuals",
    "Residual",
    "units of M",
    (
        Line("residual_xy", "‖M−XY‖, free", "sky", "dotted"),
        Line("residual_uv", "‖M−UV‖, feasible", "blue", main=True),
    ),
)
PENALTIES = Panel("penalties", "Penalties α and β", "", (Line("alpha", "α", "orange"), Line("beta", "β", "purple", "dashed")))
GAPS = Panel(
    "gaps",
    "Feasibility gap",
    "units of the factors",
    (Line("gap_x", "‖X−U‖", "green"), Line("gap_y", "‖Y−V‖", "vermilion", "dashed")),
)
CURVES = tuple(line.column for panel in (RESIDUALS, PENALTIES, GAPS) for line in panel.lines)
"""The columns that are drawn, in the order in which viewers get them."""
ALL_SIGNS: dict[int, Sign] = {
    Case.SKIP: Sign("○", "o", "circle-open", 10, quiet=True),
    Case.NEAR_FEASIBLE: Sign("▼", "v", "triangle-down", 11),
    Case.X_STALLED: Sign("▲", "^", "triangle-up", 12),
    Case.Y_STALLED: Sign("△", "^", "triangle-up-open", 12, "beta"),
    Case.BOTH_STALLED: Sign("◆", "D", "diamond", 12),
    Case.FIDELITY_STALLED: Sign("■", "s", "square", 13),
    Case.BOTH_IMPROVE: Sign("★", "*", "star", 13),
}
SIGNS = {case: sign for case, sign in ALL_SIGNS.items() if not sign.quiet}
"""Decisions that change a penalty."""


def panels(splits: bool) -> tuple[Panel, ...]:
    """The panels of a run; without X and Y only the residual is left."""
    if splits:
        return RESIDUALS, PENALTIES, GAPS
    return (replace(RESIDUALS, lines=(Line("residual_uv", "‖M−UV‖", "blue", main=True),)),)


def event_label(kind: str) -> str:
    """What an event is called; one of a kind that a later version brought by its own name."""
    return EVENTS[kind].label if kind in EVENTS else kind


def series_colour(index: int) -> str:
    """The colour of a run or series by its place in a chart; they come again when there are no more."""
    return SERIES_COLOURS[index % len(SERIES_COLOURS)]


def script() -> str:
    """The same as a module for browsers; assets/live/curves.js takes it from there."""
    told = {
        "COLOURS": COLOURS,
        "PANELS": [asdict(panel) for panel in panels(True)],
        "SIGNS": {int(case): asdict(sign) for case, sign in ALL_SIGNS.items()},
        "EVENTS": {kind: asdict(mark) for kind, mark in EVENTS.items()},
        "COMPARED": COMPARED,
        "ERROR": ERROR,
        "LOWEST": LOWEST,
        "BOUND": BOUND,
    }
    return "".join(f"export const {name} = {json.dumps(value, ensure_ascii=False)};\n" for name, value in told.items())
