"""Every command in the documentation is one: its options exist, and so does what it names."""

from __future__ import annotations

import importlib.util
import re
import shlex
from argparse import Namespace
from collections.abc import Iterator

import pytest

from semf_core.command_line.cli import make_parser
from semf_core.datasets import DATASETS
from semf_core.model import preset_names
from semf_core.sets import SETS
from semf_core.solvers import SOLVERS
from semf_core.studies import builtin_names
from tests.docs.fences import ROOT, blocks

PAGES = sorted(path.relative_to(ROOT).as_posix() for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
PLACEHOLDER = re.compile(r"\b[A-Z]{3,}\b|…|\bX\b|\w\|\w|\.$")
"""What a reader puts in (semf study NAME) or completes."""
MENTIONED = re.compile(r"arguments are required|expected (one|at least one) argument")
"""What is said of a command that is named in running text and not spelled out."""


def commands(page: str) -> Iterator[str]:
    """The lines of shells, and commands in running text, without what is to be put in by the reader."""
    text = (ROOT / page).read_text(encoding="utf-8")
    shown = [
        line.removeprefix("$ ")
        for block in blocks(page)
        if block.language in ("bash", "console")
        for line in block.text.splitlines()
    ]
    shown += re.findall(r"`((?:semf|make|python -m) [^`\n]+)`", text)
    return (
        line for line in shown if re.match(r"(semf|make|python -m) ", line) and not PLACEHOLDER.search(line.partition(" #")[0])
    )


ALL = sorted({(page, line) for page in PAGES for line in commands(page)})


def words(line: str) -> list[str]:
    """The arguments, without a comment and without where the output goes."""
    found = shlex.split(line, comments=True)[1:]
    return found[: found.index(">")] if ">" in found else found


@pytest.mark.parametrize(("page", "line"), [c for c in ALL if c[1].startswith("semf ")], ids=lambda text: text[:60])
def test_a_command_of_semf_is_understood(page, line, capsys):
    try:
        options = make_parser().parse_args(words(line))
    except SystemExit as end:
        said = capsys.readouterr().err
        assert end.code == 0 or MENTIONED.search(said), f"{page}: {line}\n{said}"
        return
    check_names(options)


def check_names(options: Namespace) -> None:
    """What is chosen by name is there, with its parameters."""
    preset, study, solver = (getattr(options, name, None) for name in ("preset", "study", "solver"))
    assert preset is None or preset in preset_names()
    assert study is None or study in builtin_names() or "." in study
    if isinstance(solver, str):
        SOLVERS.parse(solver)
    data = getattr(options, "data", None)
    if isinstance(data, str) and "." not in data.partition(":")[0]:
        DATASETS.parse(data)
    for word in [*(getattr(options, "x", None) or ()), *(getattr(options, "y", None) or ())]:
        SETS.parse(word)


@pytest.mark.parametrize(("page", "line"), [c for c in ALL if not c[1].startswith("semf ")], ids=lambda text: text[:60])
def test_a_target_or_a_module_is_there(page, line):
    first, *rest = words(line)
    if line.startswith("make "):
        assert re.search(rf"^{re.escape(first)}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE), (
            f"{page}: {line}"
        )
    else:
        assert importlib.util.find_spec(rest[0]) is not None, f"{page}: {line}"


def test_commands_are_found():
    assert len(ALL) > 60
