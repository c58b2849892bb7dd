"""A run as one HTML file that needs nothing else: no network, no server, no other file.

Every text goes through the template's escaping; the numbers are JSON that cannot end its script element; and a
content security policy allows only this file's own script and style, by their hashes, and no connection at all.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from semf_core.codegen import python_code, readable_json
from semf_core.datasets import Dataset
from semf_core.exports import facts
from semf_core.exports.curves import COLOURS, EVENT_WORDS, SIGNS, panels
from semf_core.exports.mathml import mathml, own_structure, set_formula
from semf_core.exports.payload import MOST_EVENTS, payload, samples_of
from semf_core.exports.story import Story, gather
from semf_core.pictures import RAMPS, default_samples, heat_map
from semf_core.references import bibliography
from semf_core.runs.folder import RunFolder
from semf_core.solvers import COLUMNS
from semf_core.solvers.penalties import CASE_WORDS


def html(folder: RunFolder, dataset: Dataset | None) -> bytes:
    """The report of a run."""
    story = gather(folder, dataset)
    style, script = _style(), _script()
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    page = _environment().get_template("report.html").render(policy=policy, style=style, script=script, **_content(story))
    return page.encode()


def _content(story: Story) -> dict[str, Any]:
    spec, sent = story.spec, payload(story)
    frames = sent["frames"]
    return {
        "title": story.title,
        "watch": spec.watch,
        "tags": story.tags,
        "note": story.note,
        "day": facts.day(story),
        "badges": facts.badges(story),
        "payload": sent,
        "frames": frames,
        "curves": [line for panel in panels(story.splits) for line in panel.lines] if len(story.rows) else [],
        "cases": _cases(story),
        "basis": story.basis(story.final.U) if frames else None,
        "coefficients": heat_map(story.final.V) if frames else None,
        "samples": samples_of(story) if frames else None,
        "chosen": [s + 1 for s in default_samples(story.dataset.shape[1])] if story.dataset is not None else [],
        "strips": story.image_shape is None,
        "grouped": story.groups is not None and story.image_shape is not None,
        "splits": story.splits,
        "without_data": story.dataset is None,
        "problem": mathml(spec.solver.objective(), display=True),
        "sets": _sets(story),
        "rank": spec.rank,
        "seed": spec.seed,
        "warnings": spec.warnings(),
        "solver": spec.solver,
        "options": facts.options(spec.solver) + facts.options(spec.limits),
        "data": facts.data(story),
        "outcome": facts.outcome(story),
        "certificate": facts.certificate(story),
        "result": story.result,
        "events": [(e.iteration, EVENT_WORDS.get(e.kind, e.kind), e.text) for e in story.events[-MOST_EVENTS:]],
        "changed": any(e.kind in {"edit", "fork"} for e in story.events),
        "event_count": len(story.events),
        "code": python_code(spec),
        "model": readable_json(spec.to_dict()),
        "bibtex": bibliography(spec),
        "versions": facts.versions(),
    }


def _sets(story: Story) -> list[tuple[str, Markup, facts.Fact | None]]:
    """The sets of the model with what is known of their projection, or those that the algorithm keeps to by itself."""
    if story.sets is None:
        return []
    if not story.spec.solver.takes_sets:
        return [(name, own_structure(name, whole), None) for name, whole in zip("UV", story.sets, strict=True)]
    return [(name, set_formula(name, whole), facts.exactness(whole)) for name, whole in zip("XY", story.sets, strict=True)]


def _cases(story: Story) -> list[tuple[str, str]]:
    """Signs and words of the decisions that changed a penalty in this run."""
    met = set(story.rows[:, COLUMNS.index("case")].astype(int).tolist()) if story.splits else set()
    return [(sign.glyph, CASE_WORDS[case]) for case, sign in SIGNS.items() if case in met]


@cache
def _environment() -> Environment:
    made = Environment(loader=PackageLoader("semf_core.exports", "page"), autoescape=True, undefined=StrictUndefined)
    made.filters["number"] = facts.number
    return made


@cache
def _script() -> str:
    return "\n" + "\n".join(_file(name) for name in ("charts.js", "report.js"))


@cache
def _style() -> str:
    """The sheet, after the colours of curves and pictures in both themes."""
    light, dark = (_variables(theme) for theme in ("light", "dark"))
    dark_only = f"@media (prefers-color-scheme: dark) {{ @media not print {{ :root {{ {dark} }} }} }}"
    return f"\n:root {{ {light} }}\n{dark_only}\n{_file('report.css')}"


def _variables(theme: str) -> str:
    ramps = {f"{name}-ramp": ", ".join(f"rgb{stop}" for stop in stops) for name, stops in RAMPS[theme].items()}
    return " ".join(f"--{name}: {value};" for name, value in {**COLOURS[theme], **ramps}.items())


def _file(name: str) -> str:
    return (resources.files("semf_core.exports") / "page" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
