"""What the pages of a run's report and of a lesson show of one run: charts, pictures, and their words."""

from __future__ import annotations

from typing import Any

from semf_core.drawing.pictures import default_samples, heat_map
from semf_core.exports.curves import SIGNS, panels
from semf_core.exports.payload import describe, payload, samples_of
from semf_core.exports.story import Story
from semf_core.solvers import COLUMNS
from semf_core.solvers.penalties import CASE_WORDS


def run_view(story: Story, characters: int | None = None) -> dict[str, Any]:
    """The values of the macro `view` in page/run.html; pictures of all frames take at most so many characters."""
    sent = payload(story, characters)
    frames = sent["frames"]
    return {
        "payload": sent,
        "frames": frames,
        "curves": [line for panel in panels(story.splits) for line in panel.lines] if len(story.rows) else [],
        "described": describe(story) if len(story.rows) else "",
        "cases": _cases(story),
        "events": bool(story.events),
        "basis": story.basis(story.final.U) if frames else None,
        "coefficients": heat_map(story.final.V) if frames else None,
        "samples": samples_of(story) if frames else None,
        "chosen": _shown_samples(story),
        "strips": story.column_shape is None,
        "grouped": story.groups is not None and story.column_shape is not None,
        "splits": story.splits,
        "without_data": story.dataset is None,
    }


def _shown_samples(story: Story) -> list[str]:
    """What the samples whose fit is shown are called."""
    count = 0 if story.dataset is None else story.dataset.shape[1]
    return [story.axes.columns.label_with_unit(j) for j in default_samples(count)] if count else []


def _cases(story: Story) -> list[tuple[str, str]]:
    """Signs and words of the decisions that changed a penalty in this run."""
    met = set(story.rows[:, COLUMNS.index("case")].astype(int).tolist()) if story.splits else set()
    return [(sign.glyph, CASE_WORDS[case]) for case, sign in SIGNS.items() if case in met]
