"""What the charts of a run show: panels, lines, colours, and signs for cases and events. One place for report and figures."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
    },
    "dark": {
        "blue": "#56B4E9",
        "sky": "#9AD3F5",
        "orange": "#F0B040",
        "purple": "#E59CC4",
        "green": "#3CC79B",
        "vermilion": "#FF8A4C",
    },
}
EVENT_WORDS = {"kick": "Kick", "restart": "New start", "edit": "Change", "polish": "Polish", "fork": "Fork"}


@dataclass(frozen=True)
class Line:
    """One curve: a column of the history."""

    column: str
    label: str
    colour: str
    dash: str = "solid"


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
    column: str = "alpha"


RESIDUALS = Panel(
    "residuals",
    "Residual",
    "units of M",
    (
        Line("residual_xy", "‖M−XY‖, free", "sky", "dotted"),
        Line("residual_uv", "‖M−UV‖, feasible", "blue"),
    ),
)
PENALTIES = Panel(
    "penalties", "Penalties α and β", "", (Line("alpha", "α", "orange"), Line("beta", "β", "purple", "dashed"))
)
GAPS = Panel(
    "gaps",
    "Feasibility gap",
    "units of the factors",
    (Line("gap_x", "‖X−U‖", "green"), Line("gap_y", "‖Y−V‖", "vermilion", "dashed")),
)
SIGNS: dict[int, Sign] = {
    Case.NEAR_FEASIBLE: Sign("▼", "v"),
    Case.X_STALLED: Sign("▲", "^"),
    Case.Y_STALLED: Sign("△", "^", "beta"),
    Case.BOTH_STALLED: Sign("◆", "D"),
    Case.FIDELITY_STALLED: Sign("■", "s"),
    Case.BOTH_IMPROVE: Sign("★", "*"),
}
"""Decisions that change a penalty."""


def panels(splits: bool) -> tuple[Panel, ...]:
    """The panels of a run; without X and Y only the residual is left."""
    if splits:
        return RESIDUALS, PENALTIES, GAPS
    return (replace(RESIDUALS, lines=(Line("residual_uv", "‖M−UV‖", "blue"),)),)
