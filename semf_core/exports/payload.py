"""The numbers and pictures inside the report, as JSON for its script.

Curves are base64 of float32 (float64 if `double`). A picture is a PNG without its palette: bytes 33 to 813 are the PLTE
chunk, and as both bounds are multiples of three, its base64 can be cut out and another theme's put in.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from semf_core.common.notation import number
from semf_core.drawing import pictures
from semf_core.drawing.downsample import decisions, stretch_ends, stride_for
from semf_core.drawing.pictures import Picture
from semf_core.exports.curves import panels
from semf_core.exports.story import Story, plain
from semf_core.factorization.scores import truth_scores, truth_words
from semf_core.mathematics.precision import fits_single
from semf_core.runs.frames import FactorFrame
from semf_core.solvers import COLUMNS
from semf_core.solvers.penalties import CASE_WORDS

Array = np.ndarray
MOST_POINTS = 4000
MOST_FRAMES = 120
FEWEST_FRAMES = 3
MOST_EVENTS = 300
PICTURE_CHARACTERS = 3_500_000
"""Pictures of all frames together; with larger ones there are fewer frames."""
PALETTE_FROM, PALETTE_TO = 33, 33 + 12 + 768
"""Where the PLTE chunk stands: after the signature (8) and IHDR (25); 12 bytes frame its 768."""


def payload(story: Story, characters: int | None = None) -> dict[str, Any]:
    """Everything the script needs; pictures of all frames take at most so many characters."""
    frames = frames_of(story, PICTURE_CHARACTERS if characters is None else characters)
    samples = samples_of(story) if frames else None
    return {
        "rank": story.spec.rank,
        "events": [[e.iteration, plain(e.kind), plain(e.text)] for e in story.events[-MOST_EVENTS:]],
        "frames": frames,
        "stills": {} if samples is None else {"samples": cut(samples)},
        "tiles": story.basis(story.final.U).to_dict()["tiles"] if frames else [],
        "palettes": {theme: _palette(theme) for theme in ("light", "dark")},
        **_curves(story),
    }


# -- curves ------------------------------------------------------------------------------------


def _curves(story: Story) -> dict[str, Any]:
    rows = story.rows
    if not len(rows):
        return {}
    ends = stretch_ends(story.numbers, stride_for(story.iterations, MOST_POINTS))
    decided = decisions(rows[:, COLUMNS.index("case")], ends)
    columns = [line.column for panel in panels(story.splits) for line in panel.lines]
    curves = {name: rows[ends, COLUMNS.index(name)] for name in columns}
    double = not all(map(fits_single, curves.values()))
    return {
        "splits": story.splits,
        "x": _packed(story.numbers[ends].astype("<u4")),
        "curves": {name: _packed(curve.astype("<f8" if double else "<f4")) for name, curve in curves.items()},
        "double": double,
        "cases": [[int(i), int(decided[i])] for i in np.flatnonzero(decided > 1)] if story.splits else [],
        "words": {int(case): words for case, words in CASE_WORDS.items()},
    }


def describe(story: Story) -> str:
    """The chart in words, for those who cannot see it."""
    said = [f"Curves over {story.iterations:,} iterations."]
    for panel in panels(story.splits):
        ends = ((line.label, story.rows[[0, -1], COLUMNS.index(line.column)]) for line in panel.lines)
        said.append(f"{panel.title}: {'; '.join(f'{label} from {first:.3g} to {last:.3g}' for label, (first, last) in ends)}.")
    return " ".join(said)


def _packed(array: Array) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


# -- pictures ----------------------------------------------------------------------------------


def frames_of(story: Story, characters: int) -> list[dict[str, Any]]:
    """The recorded frames and the result, each with its words and pictures; empty if nothing is recorded."""
    if story.result is None and not story.keyframes:
        return []
    last = _pictures(story, story.final)
    size = max(_characters(last), *(_characters(_pictures(story, frame)) for frame in story.frames(2)), 1)
    most = max(FEWEST_FRAMES, min(MOST_FRAMES, characters // size))
    frames = [_frame(story, frame, "") for frame in story.frames(most)]
    if story.result is None and frames and frames[-1]["at"] == story.final.iteration:
        frames.pop()
    return [*frames, _frame(story, story.final, "result, " if story.result is not None else "now, ")]


def _frame(story: Story, frame: FactorFrame, word: str) -> dict[str, Any]:
    words = [f"{word}iteration {frame.iteration:,}"]
    error = story.final_error if word else story.error_at(frame.iteration)
    if error is not None:
        words.append(f"error {number(100 * error)} %")
    if story.dataset is not None:
        words += [badge["text"] for badge in truth_words(truth_scores(story.dataset, frame.U, frame.V, story.spec.y_set))]
    return {"at": frame.iteration, "words": " · ".join(words), **_pictures(story, frame)}


def _pictures(story: Story, frame: FactorFrame) -> dict[str, tuple[str, str]]:
    drawn = {"U": cut(story.basis(frame.U)), "V": cut(pictures.heat_map(frame.V))}
    if story.splits:
        drawn |= {"X": cut(story.basis(frame.X)), "Y": cut(pictures.heat_map(frame.Y))}
    return drawn


def samples_of(story: Story) -> Picture | None:
    """Some samples, their fit by the final factors, and the difference; None without the data."""
    if story.dataset is None:
        return None
    chosen = pictures.default_samples(story.dataset.shape[1])
    return pictures.samples(story.dataset.data, story.final.U, story.final.V, chosen, story.column_shape)


def _characters(drawn: dict[str, tuple[str, str]]) -> int:
    return sum(len(head) + len(tail) for head, tail in drawn.values())


def cut(picture: Picture) -> tuple[str, str]:
    """The PNG in base64, before and after its palette."""
    text = base64.b64encode(picture.png).decode()
    return text[: _base64_length(PALETTE_FROM)], text[_base64_length(PALETTE_TO) :]


def _palette(theme: str) -> str:
    """The PLTE chunk of a theme in base64."""
    blank = Picture(np.zeros((1, 1), np.uint8), theme, 0.0, 0.0, False)
    return base64.b64encode(blank.png[PALETTE_FROM:PALETTE_TO]).decode()


def _base64_length(count: int) -> int:
    return count // 3 * 4
