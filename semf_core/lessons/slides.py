"""A lesson as slides: for every stage a picture with its words, its curves and its components, and its basis as it evolves.

Everything is in one ZIP: PNG and SVG of 16:9, and a GIF. A stage with a question has a slide for it before its own.
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Callable
from typing import Any, cast

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.mathtext import MathTextParser

from semf_core.exports import animation, facts
from semf_core.exports.curves import COLOURS, SOFT, panels
from semf_core.exports.figures import MATPLOTLIB, STYLE
from semf_core.exports.story import Story, from_run
from semf_core.exports.tables import zipped
from semf_core.lessons.format import Lesson, Stage
from semf_core.lessons.stage_runs import FindRun, digest, models
from semf_core.lessons.stills import still
from semf_core.lessons.text import plain_of
from semf_core.model.variants import imposed
from semf_core.solvers import COLUMNS

INK = COLOURS["light"]
SIZE, DPI = (16.0, 9.0), 120
"""1920 × 1080 pixels."""
TITLE, TEXT, SMALL = 30, 18, 14
LINE = {"wide": 96, "narrow": 38, "model": 80}
"""Characters in a line of text."""
FORMS = ("png", "svg")
FORMULA = re.compile(r"(\${1,2})(?! )[^$]+?(?<! )\1")
"""As a lesson has it: $…$ in a line, $$…$$ on one of its own."""
KEPT = "\N{NO-BREAK SPACE}"
"""Stands for a space at which a line must not end."""
AS_TYPED = "A formula stands here as it was typed: slides cannot typeset it."
Fill = Callable[[Figure], None]


def archive(lesson: Lesson, find: FindRun) -> bytes:
    """The ZIP; a stage whose run cannot be had has its words alone."""
    found = {name: find(spec) for name, spec in models(lesson).items()}
    stories = {name: from_run(*run) for name, run in found.items() if run is not None}
    files: dict[str, bytes] = {}
    for number, stage in enumerate(lesson.stages, 1):
        name = digest(stage.model) if stage.model is not None else ""
        start, foot = f"{number:02}-{stage.name}", f"{lesson.title}  ·  {number} of {len(lesson.stages)}"
        story = stories.get(name)
        if stage.question is not None:
            files |= _drawn(f"{start}-question", lambda page, s=stage, f=foot: _asked(page, s, f))  # type: ignore[misc]
        files |= _drawn(start, lambda page, s=stage, r=story, f=foot: _told(page, s, r, f))  # type: ignore[misc]
        run = found.get(name)
        if run is not None:
            files[f"{start}.gif"] = animation.gif(*run)
    return zipped(files)


def _drawn(name: str, fill: Fill) -> dict[str, bytes]:
    """One slide in both forms."""
    made = {}
    with MATPLOTLIB, matplotlib.rc_context(STYLE):
        page = Figure(figsize=SIZE, dpi=DPI)
        fill(page)
        for form in FORMS:
            file = io.BytesIO()
            page.savefig(file, format=form, dpi=DPI, metadata={"Date": None} if form == "svg" else {})
            made[f"{name}.{form}"] = file.getvalue()
    return made


# -- one slide ---------------------------------------------------------------------------------


def _asked(page: Figure, stage: Stage, foot: str) -> None:
    """The question before it is answered."""
    question = stage.question
    assert question is not None
    choices = [f"{letter})  {plain_of(c.text)}" for letter, c in zip("abcdefghij", question.choices, strict=False)]
    _frame(page, stage.title, foot)
    _words(page, "\n\n".join([plain_of(stage.text), f"Predict: {plain_of(question.text)}", *choices]), "wide")


def _told(page: Figure, stage: Stage, story: Story | None, foot: str) -> None:
    """The stage with what it shows; after a question its explanation instead of the words that were there already."""
    _frame(page, stage.title, foot)
    text = stage.question.explanation if stage.question is not None else stage.text
    parts = [plain_of(text), *(f"Your turn: {plain_of(stage.task.text)}" for _ in [0] if stage.task is not None)]
    if story is None and not stage.figure:
        _words(page, "\n\n".join(parts), "wide")
        return
    _words(page, "\n\n".join(parts), "narrow")
    _, right = cast("tuple[SubFigure, SubFigure]", page.subfigures(1, 2, width_ratios=(1, 1.7)))
    right.set_facecolor("none")
    right.subplots_adjust(left=0.08, right=0.97, top=0.8, bottom=0.17, wspace=0.16, hspace=0.5)
    if story is None:
        still(stage.figure, right)
    else:
        _run(right, page, story)


def _frame(page: Figure, title: str, foot: str) -> None:
    page.text(0.035, 0.93, title, fontsize=TITLE, weight="bold", va="center", parse_math=False)
    page.text(0.035, 0.03, f"SeMF Studio  ·  {foot}", fontsize=SMALL, color=SOFT, va="center", parse_math=False)


def _words(page: Figure, text: str, width: str) -> None:
    """Paragraphs in lines; a smaller type where there are many of them. A formula is never parted."""
    whole = FORMULA.sub(lambda found: found[0].replace(" ", KEPT).replace("$$", "$"), text)
    lines = [part for line in whole.splitlines() for part in textwrap.wrap(line, LINE[width], break_long_words=False) or [""]]
    size = min(TEXT, TEXT * 24 / max(1, len(lines)))
    typed: list[str] = []
    drawn = "\n".join(_drawable(line.replace(KEPT, " "), typed) for line in lines)
    page.text(0.035, 0.87, drawn, fontsize=size, va="top", linespacing=1.45, wrap=False)
    if typed:
        page.text(0.97, 0.03, AS_TYPED, fontsize=SMALL, color=INK["vermilion"], va="center", ha="right")


def _drawable(line: str, typed: list[str]) -> str:
    """A line with its formulas; one that cannot be typeset here stands as it was typed, and is noted."""
    made, end = [], 0
    for found in FORMULA.finditer(line):
        try:
            MathTextParser("path").parse(found[0])
            formula = found[0]
        except ValueError:
            typed.append(found[0])
            formula = found[0].replace("$", r"\$")
        made += [line[end : found.start()].replace("$", r"\$"), formula]
        end = found.end()
    return _scripted("".join(made) + line[end:].replace("$", r"\$"))


def _scripted(line: str) -> str:
    """The letters of sets, which the font of figures has in formulas only."""
    return line.replace("𝒳", r"$\mathcal{X}$").replace("𝒴", r"$\mathcal{Y}$")


def _run(right: SubFigure, page: Figure, story: Story) -> None:
    """The residual above, the penalties below it where there are any, and the components beside both."""
    shown = [panel for panel in panels(story.splits) if panel.name != "gaps"]
    grid = right.add_gridspec(len(shown), 2, width_ratios=(1, 1.25))
    for row, panel in enumerate(shown):
        _curves(right.add_subplot(grid[row, 0]), story, panel)
    axes = right.add_subplot(grid[:, 1])
    picture = story.basis(story.final.U)
    axes.imshow(np.asarray(picture.fitted(4 * picture.width, 4 * picture.height)), interpolation="none")
    axes.set_axis_off()
    axes.set_title("Components" + (", one group a row" if story.groups is not None else ""), fontsize=SMALL, loc="left")
    badges = "   ".join(badge["text"] for badge in facts.badges(story))
    model = textwrap.fill(f"{imposed(story.spec)}, rank {story.spec.rank}", LINE["model"])
    page.text(0.42, 0.88, model, fontsize=SMALL, parse_math=False, color=SOFT, va="center")
    page.text(0.42, 0.075, badges, fontsize=SMALL, parse_math=False)


def _curves(axes: Axes, story: Story, panel: Any) -> None:
    for line in panel.lines:
        y = story.rows[:, COLUMNS.index(line.column)]
        y = np.where(np.isfinite(y) & (y > 0), y, np.nan)
        axes.plot(story.numbers, y, color=INK[line.colour], linestyle=line.dash, linewidth=2.2, label=line.label)
    for event in story.events[-60:]:
        axes.axvline(event.iteration, color=INK["vermilion"], linewidth=0.8, linestyle=(0, (1, 2)))
    axes.set_yscale("log")
    axes.set_title(panel.title, fontsize=SMALL, loc="left")
    axes.set_xlabel("iteration", fontsize=SMALL)
    axes.tick_params(labelsize=SMALL - 2)
    axes.legend(fontsize=SMALL - 2)
