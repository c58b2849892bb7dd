"""What `make bench` writes into docs/results.md."""

from __future__ import annotations

import subprocess

import pytest

from benchmarks import __main__ as bench
from benchmarks import results
from benchmarks.common import Row, print_table

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
