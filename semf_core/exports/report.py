"""A run as one HTML file that needs nothing else (see document.py)."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from semf_core.datasets import Dataset
from semf_core.drawing.components import components_html, has_view
from semf_core.exports import facts
from semf_core.exports.curves import event_label
from semf_core.exports.document import document
from semf_core.exports.mathml import mathml, own_structure, set_formula
from semf_core.exports.payload import MOST_EVENTS
from semf_core.exports.run_view import run_view
from semf_core.exports.story import Story, from_run
from semf_core.model.codegen import python_code, readable_json
from semf_core.model.references import bibliography
from semf_core.runs.folder import RunFolder


def html(folder: RunFolder, dataset: Dataset | None) -> bytes:
    """The report of a run."""
    scripts = ("charts.js", "player.js", "report.js")
    return document("report.html", scripts, ("report.css",), _content(from_run(folder, dataset)))


def _content(story: Story) -> dict[str, Any]:
    spec, run = story.spec, run_view(story)
    return {
        "run": run,
        "title": story.title,
        "watch": spec.watch,
        "tags": story.tags,
        "note": story.note,
        "day": facts.day(story),
        "badges": facts.badges(story),
        "components": _components(story) if run["frames"] else "",
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
        "events": [(e.iteration, event_label(e.kind), e.text) for e in story.events[-MOST_EVENTS:]],
        "changed": any(e.kind in {"edit", "fork"} for e in story.events),
        "event_count": len(story.events),
        "code": python_code(spec),
        "model": readable_json(spec.to_dict()),
        "bibtex": bibliography(spec),
        "versions": facts.versions(),
    }


def _components(story: Story) -> Markup:
    """Curves, maps or ranked lists of the components, where names or axes are known; every text in it is escaped."""
    if not has_view(story.axes) and not story.typed_names:
        return Markup("")
    return Markup(components_html(story.final.U, story.final.V, story.axes, story.image_shape, story.component_names))


def _sets(story: Story) -> list[tuple[str, Markup, facts.Fact | None]]:
    """The sets of the model with what is known of their projection, or those that the algorithm keeps to by itself."""
    if story.sets is None:
        return []
    if not story.spec.solver.takes_sets:
        return [(name, own_structure(name, whole), None) for name, whole in zip("UV", story.sets, strict=True)]
    return [(name, set_formula(name, whole), facts.exactness(whole)) for name, whole in zip("XY", story.sets, strict=True)]
