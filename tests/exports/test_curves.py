"""One description of the curves: the live view draws what the report and the figures draw."""

import json
import re

from pages.ui.live import DESCRIPTION, FOLDER, modules, script
from semf_core.exports import curves
from semf_core.solvers import COLUMNS
from semf_core.solvers.penalties import CASE_WORDS


def described() -> dict:
    lines = curves.script().splitlines()
    found = (re.fullmatch(r"export const (\w+) = (.+);", line) for line in lines)
    return {match[1]: json.loads(match[2]) for match in found if match}


def test_browsers_get_the_whole_description():
    told = described()
    assert told.keys() == {"COLOURS", "PANELS", "SIGNS", "EVENTS"} and script(DESCRIPTION) in modules()
    lines = [line for panel in told["PANELS"] for line in panel["lines"]]
    assert [line["column"] for line in lines] == [line.column for panel in curves.panels(True) for line in panel.lines]
    assert {line["column"] for line in lines} <= set(COLUMNS) and [line["column"] for line in lines if line["main"]] == [
        "residual_uv"
    ]
    assert all(line["colour"] in colours for colours in told["COLOURS"].values() for line in lines)
    assert {int(case) for case in told["SIGNS"]} == {int(case) for case in CASE_WORDS} - {0}


def test_scripts_of_the_live_view_describe_nothing_themselves():
    hues = {hue.lower() for colours in curves.COLOURS.values() for hue in colours.values()}
    for path in FOLDER.glob("*.js"):
        text = path.read_text(encoding="utf-8")
        assert not hues & {hue.lower() for hue in re.findall(r"#[0-9a-fA-F]{6}", text)}, path.name
        assert not [
            line.label
            for panel in curves.panels(True)
            for line in panel.lines
            if f'"{line.label}"' in text and len(line.label) > 1
        ]
