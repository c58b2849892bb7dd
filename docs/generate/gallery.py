"""The gallery: one page for each preset, with its picture, model, code and result."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs.generate.common import citation, displayed, table
from semf_core.model import ModelSpec, preset, preset_names
from semf_core.model.codegen import python_code, readable_json
from semf_core.model.references import references_of
from semf_core.sets import members_of
from semf_core.sets.typeset import formula

RESULTS = Path(__file__).parents[1] / "presets.json"


def pages() -> Iterator[tuple[str, str]]:
    """Address and Markdown of the overview and of every preset."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    for name in preset_names():
        if name not in results:
            raise LookupError(f"docs/presets.json says nothing of {name}; run make pictures PRESETS={name}")
    specs = {name: preset(name) for name in preset_names()}
    yield "gallery/index.md", "\n".join(_overview(specs))
    for name, spec in specs.items():
        yield f"gallery/{name}.md", "\n".join(_page(name, spec, results[name]))


def _overview(specs: dict[str, ModelSpec]) -> Iterator[str]:
    yield f"# Gallery\n\n{len(specs)} presets: a click on Home runs one, and so does `semf run --preset NAME`. "
    yield "Each page here has its model, its code and what came out.\n"
    groups: dict[str, list[str]] = {}
    for name, spec in specs.items():
        groups.setdefault(spec.dataset.title or spec.dataset.name, []).append(name)
    for title, names in groups.items():
        yield f'## {title}\n\n<div class="grid cards gallery" markdown>\n'
        for name in names:
            spec = specs[name]
            picture = f"[![{spec.title}](../pictures/presets/{name}.png)]({name}.md)"
            yield f"-   {picture}\n\n    **[{spec.title}]({name}.md)**\n\n    {spec.watch}\n"
        yield "</div>\n"


def _page(name: str, spec: ModelSpec, result: dict[str, Any]) -> Iterator[str]:
    yield f"# {spec.title}\n\n![The basis that it ends with](../pictures/presets/{name}.png){{ .preset }}\n\n{spec.watch}\n"
    yield "## Model\n"
    solver = f"[{spec.solver.title}](../reference/solvers.md#{spec.solver.name})"
    data = f"[{spec.dataset.title or spec.dataset.name}](../reference/datasets.md#{spec.dataset.name})"
    m, n = result["shape"]
    yield f"{data}, {m:,} × {n:,}, into {spec.rank} components by {solver}.\n"
    yield displayed(spec.solver.objective()) + "\n"
    if spec.solver.takes_sets:
        for symbol, whole in (("X", spec.x_set), ("Y", spec.y_set)):
            yield displayed(formula(symbol, [s.condition(symbol) for s in members_of(whole)], "split")) + "\n"
            if members_of(whole):
                yield f"Projection onto it: {'exact' if whole.exact else 'approximate'} ({whole.reason}).\n"
    yield from _run(name, spec)
    yield "## Result\n"
    yield table(("what", "value"), _numbers(result))
    yield "The picture above is U, the basis; with the same seed, versions and platform the run repeats bit for bit.\n"
    papers = [citation(key) for key in references_of(spec)]
    if papers:
        yield "## Papers\n\n" + "\n".join(f"- {paper}" for paper in papers) + "\n"


def _run(name: str, spec: ModelSpec) -> Iterator[str]:
    pieces = {
        "Python": ("python", python_code(spec)),
        "Command line": ("bash", f"semf run --preset {name} --save {name}.semf\nsemf export {name}.semf --html {name}.html\n"),
        "JSON": ("json", readable_json(spec.to_dict()) + "\n"),
    }
    yield "## Run it\n\nIn the dashboard it is a card on Home.\n"
    for title, (language, text) in pieces.items():
        yield f'=== "{title}"\n'
        yield "    ```" + language
        yield "".join(f"    {line}\n" for line in text.rstrip().splitlines()) + "    ```\n"


def _numbers(result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "stopped", f"{result['stop_reason']}, after {result['iterations']:,} iterations"
    yield "relative error ‖M − UV‖ / ‖M‖", f"{result['relative_error']:.3g}"
    if result["snr_db"] is not None:
        yield "signal to noise", f"{result['snr_db']} dB"
    yield "U and V in their sets", "yes" if result["feasible"] else "no"
    for text in result["truth"]:
        yield "known truth", text
