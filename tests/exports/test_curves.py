"""One description of the curves: the live view draws what the report and the figures draw."""

import json
import re

from pages.ui.live import DESCRIPTION, FOLDER, modules, plotly_address, script
from semf_core.exports import curves
from semf_core.exports.document import CHART_MODULES, PLOTLY, SHARED, chart_script, plotly_script
from semf_core.solvers import COLUMNS
from semf_core.solvers.penalties import CASE_WORDS


def described() -> dict:
    lines = curves.script().splitlines()
    found = (re.fullmatch(r"export const (\w+) = (.+);", line) for line in lines)
    return {match[1]: json.loads(match[2]) for match in found if match}


def test_browsers_get_the_whole_description():
    told = described()
    assert (
        told.keys() == {"COLOURS", "PANELS", "SIGNS", "EVENTS", "COMPARED", "ERROR", "LOWEST", "BOUND"}
        and script(DESCRIPTION) in modules()
    )
    lines = [line for panel in told["PANELS"] for line in panel["lines"]]
    assert [line["column"] for line in lines] == [line.column for panel in curves.panels(True) for line in panel.lines]
    assert {line["column"] for line in lines} <= set(COLUMNS) and [line["column"] for line in lines if line["main"]] == [
        "residual_uv"
    ]
    assert all(line["colour"] in colours for colours in told["COLOURS"].values() for line in lines)
    assert {int(case) for case in told["SIGNS"]} == {int(case) for case in CASE_WORDS} - {0}


def test_charts_have_no_colours_or_names_of_their_own():
    """Neither in scripts of the live view nor in Python: whatever is drawn takes them from the description."""
    root = FOLDER.parents[1]
    charts = [root / "pages/ui" / f"{name}.py" for name in ("study_figures", "figure_charts", "iteration_steps", "compare_feed")]
    charts += [root / "semf_core/comparison/figure.py", root / "docs/generate/study_figures.py"]
    charts += [root / "semf_core" / place for place in ("exports/figures.py", "lessons/slides.py", "lessons/stills.py")]
    labels = [line.label for panel in curves.panels(True) for line in panel.lines if len(line.label) > 1]
    labels += [curves.ERROR, *(mark.label for mark in curves.EVENTS.values())]
    shared = [root / "semf_core/exports/page/charts.js", *(SHARED / name for name in CHART_MODULES)]
    for path in [*FOLDER.glob("*.js"), *shared, *charts]:
        text = path.read_text(encoding="utf-8")
        drawn = re.sub(r"(?s)<style>.*?</style>|>>> .*?\n    \"\"\"", "", text)
        assert not re.findall(r"#[0-9a-fA-F]{6}\b", drawn), path.name
        assert not [label for label in labels if f'"{label}"' in text or f"'{label}'" in text], path.name


def test_one_figure_is_drawn_in_browsers_and_in_files_that_need_no_network():
    """Whatever is in the folder is served to the live view and stands in the report, after what it imports."""
    assert {path.name for path in SHARED.glob("*.js")} == {*CHART_MODULES, PLOTLY}
    known = {DESCRIPTION}
    for name in CHART_MODULES:
        text = (SHARED / name).read_text(encoding="utf-8")
        assert set(re.findall(r'^import .* from "\./(.+)";$', text, re.MULTILINE)) <= known, name
        assert script(name) in modules() and not re.search(r"^import (.* as |[^;]*\n)", text, re.MULTILINE), name
        known.add(name)
    assert not re.search(r"^(import|export) ", chart_script(), re.MULTILINE) and "class RunFigure" in chart_script()
    assert "</script" not in plotly_script() and plotly_address() in modules() and plotly_address("full") not in modules()


def test_an_event_of_a_kind_that_is_not_known_is_called_by_its_kind():
    assert curves.event_label("restart") == "New start" and curves.event_label("teleport") == "teleport"


def test_colours_of_many_series_come_again():
    count = len(curves.SERIES_COLOURS)
    assert [curves.series_colour(i) for i in (0, count - 1, count)] == [
        *curves.SERIES_COLOURS[:: count - 1],
        curves.SERIES_COLOURS[0],
    ]
