"""The command line, from its parser."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from docs.generate.common import table
from semf_core.command_line.cli import make_parser
from semf_core.command_line.completion import commands_of

INTRODUCTION = """
`semf` and `python -m semf_core` are the same. Indices count from 0 (`0-3+7`, groups `0-3|4-7`); sets and data take
parameters as `name:parameter=value,…`.

Exit codes: 0 for success, 1 where a check did not succeed (`verify`, `doctor`, `study`), 2 for bad input, with one sentence on
standard error.
"""


def pages() -> Iterator[tuple[str, str]]:
    """The one page of the command line."""
    yield "reference/command-line.md", "\n".join(_commands())


def _commands() -> Iterator[str]:
    yield "# Command line\n"
    yield INTRODUCTION
    for name, text, parser in commands_of(make_parser()):
        yield f"## semf {name} {{ #{name} }}\n\n{text[0].upper()}{text[1:]}.\n"
        usage = " ".join(parser.format_usage().replace("usage: ", "").split())
        if len(usage) < 200:
            yield f"```text\n{usage}\n```\n"
        for group in parser._action_groups:
            rows = [(_spelling(a), (a.help or "").replace("%%", "%")) for a in group._group_actions if a.dest != "help"]
            yield table((f"{group.title}", "meaning"), rows)


def _spelling(action: argparse.Action) -> str:
    choices = "|".join(map(str, action.choices or ()))
    place = action.metavar if isinstance(action.metavar, str) else choices or action.dest.upper()
    if not action.option_strings:
        return f"`{place}`"
    return f"`{', '.join(action.option_strings)}{'' if action.nargs == 0 else f' {place}'}`"
