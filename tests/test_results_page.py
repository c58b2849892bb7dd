"""What `make bench` writes into docs/results.md."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from benchmarks import __main__ as bench
from benchmarks import results
from benchmarks.common import Row, print_table
from semf_core.comparison.plans import comparison_names
from semf_core.datasets import DATASETS
from semf_core.model import preset_names
from semf_core.sets import SETS
from semf_core.solvers import SOLVERS
from semf_core.studies import builtin_names

EMPTY = f"# Results\n\nBy hand.\n\n{results.FIRST}\n{results.LAST}\n\nMore by hand.\n"


def test_a_table_is_put_in_and_replaced_and_the_rest_stays():
    first = results.recorded(EMPTY, "orl", "\n## ORL\n\n| what |\n|---|\n| 14 dB |\n", "2026-01-01, a machine")
    both = results.recorded(first, "memory", "\n## Memory\n\n| 43 MB |\n", "2026-01-02, a machine")
    again = results.recorded(both, "orl", "\n## ORL\n\n| what |\n|---|\n| 15 dB |\n", "2026-02-01, another machine")
    assert again.startswith("# Results\n\nBy hand.\n") and again.endswith("More by hand.\n")
    assert "15 dB" in again and "14 dB" not in again and "43 MB" in again and "2026-01-02, a machine" in again
    assert again.count("`python -m benchmarks.orl`, 2026-02-01, another machine.") == 1 and "#### ORL" in again


def test_a_page_without_its_place_is_refused():
    with pytest.raises(ValueError, match="has lost its lines"):
        results.recorded("# Results\n", "orl", "", "")


def test_the_page_has_its_place():
    assert results.REGION.search(results.PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("flags", "code", "written"), [([], 0, ["orl"]), (["--quick"], 0, []), ([], 1, [])])
def test_only_a_full_run_that_succeeds_is_written(flags, code, written, monkeypatch):
    kept: list[str] = []
    monkeypatch.setattr(bench, "record", lambda name, printed: kept.append(name))
    monkeypatch.setattr(bench.subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, code, "| pass |"))
    assert bench.main([*flags, "--only", "orl"]) == code and kept == written


def test_a_row_shows_what_the_paper_reports(capsys):
    print_table("ORL", [Row("SNR", "15.09", "≥ 15", True, "feasible", "14.97")])
    shown = [[cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines() if "|" in line]
    assert shown[0] == ["what", "paper", "measured", "target", "", "note"]
    assert shown[2] == ["SNR", "14.97", "15.09", "≥ 15", "pass", "feasible"]


def tables(heading, level):
    """What stands in the tables between this heading and the next of its level, row by row."""
    page = results.PAGE.read_text(encoding="utf-8")
    found = re.split(rf"^{level} ", page.partition(f"\n{level} {heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in found.splitlines() if line.startswith("| ")]


def test_what_draws_a_figure_of_the_papers_exists():
    places = [row[1] for row in tables("Every figure and table of the papers", "##") if len(row) == 5]
    known = {
        "study": builtin_names(),
        "bench": [path.stem for path in Path(bench.__file__).parent.glob("*.py")],
        "presets?": preset_names(),
        "comparison": comparison_names(),
    }
    for kind, names in known.items():
        lists = re.findall(rf"\b{kind} ((?:[\w-]+(?:, )?)+)", "\n".join(places))
        said = {name for found in lists for name in found.split(", ")} - {"bench", ""}
        assert said and said <= set(names), f"{kind}: {said - set(names)}"


def test_every_algorithm_stands_where_a_paper_names_it():
    said = {
        word for row in tables("Algorithms and methods that the papers name", "###") for word in re.findall(r"`([\w-]+)`", row[2])
    }
    registered = {entry.name for entries in (SETS, DATASETS, SOLVERS) for entry in entries}
    assert said <= registered, said - registered
    assert {solver.name for solver in SOLVERS} <= said
