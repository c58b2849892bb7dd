"""The store on the command line: semf store list | delete | purge | check | repair."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

from semf_core.common.parameters import Param
from semf_core.common.server_limits import server_limits
from semf_core.maintenance.checks import Problem, problems, repair
from semf_core.maintenance.entries import Entry, delete, entries, purge
from semf_core.runs.files import FolderSizes
from semf_core.runs.home import MB, default_home

DAYS = Param("number", None, low=0, name="older-than", help="days")


def add_commands(commands: Any) -> None:
    """Add `store` to the parser of the command line."""
    store = commands.add_parser("store", help="list, delete, purge, check or repair what the dashboard has stored")
    actions = store.add_subparsers(required=True, metavar="ACTION")
    adding: tuple[tuple[str, Callable[[argparse.Namespace], int], str], ...] = (
        ("list", _list, "everything in the store, the largest first"),
        ("delete", _delete, "delete runs, studies, snapshots or uploads by their ids"),
        ("purge", _purge, "delete runs, unused uploads and opened snapshots by age, and the trash"),
        ("check", _check, "read every record and name what is damaged; exit code 1 if anything is"),
        ("repair", _repair, "set aside what is damaged and make again what follows from the rest"),
    )
    for name, command, words in adding:
        parser = actions.add_parser(name, help=words)
        parser.set_defaults(command=command)
        parser.add_argument("--json", action="store_true", help="print JSON")
        if name == "delete":
            parser.add_argument("id", nargs="+", help="as `store list` shows it; one that begins with - comes after --")
        if name == "purge":
            parser.add_argument("--older-than", required=True, metavar="DAYS", help="nobody has used it for so many days")


def _list(options: argparse.Namespace) -> int:
    home = default_home()
    found = entries(home)
    if options.json:
        print(json.dumps([_row(entry) for entry in found], ensure_ascii=False))
        return 0
    for entry in found:
        print(_line(entry))
    used, limit = FolderSizes().total(home) / MB, server_limits().store_mb
    print(f"{len(found)} entries in {home}; {used:.1f} MB of {limit:.0f} MB are used")
    return 0


def _delete(options: argparse.Namespace) -> int:
    gone = [entry for wanted in options.id for entry in delete(default_home(), wanted)]
    _tell_deleted(gone, options.json)
    return 0


def _purge(options: argparse.Namespace) -> int:
    gone, freed = purge(default_home(), DAYS.parse(options.older_than))
    _tell_deleted(gone, options.json)
    if not options.json:
        print(f"{freed / MB:.1f} MB are free again")
    return 0


def _tell_deleted(gone: list[Entry], as_json: bool) -> None:
    if as_json:
        print(json.dumps([_row(entry) for entry in gone], ensure_ascii=False))
    for entry in () if as_json else gone:
        print(f"deleted  {_line(entry)}")


def _check(options: argparse.Namespace) -> int:
    found = list(problems(default_home()))
    if options.json:
        print(json.dumps([_told(problem) for problem in found], ensure_ascii=False))
    else:
        print("\n".join(problem.sentence() for problem in found) or "everything can be read")
    return 1 if found else 0


def _repair(options: argparse.Namespace) -> int:
    done, left = repair(default_home())
    if options.json:
        print(json.dumps({"repaired": [_told(p) for p in done], "in use": [_told(p) for p in left]}, ensure_ascii=False))
    else:
        for problem in done:
            print(f"{problem.kind} {problem.id}: {problem.file} was damaged; this {problem.remedy}")
        for problem in left:
            print(f"{problem.kind} {problem.id}: left alone, because somebody works on it; pause it first")
        print(f"{len(done)} repaired" + (f", {len(left)} left" if left else ""))
    return 1 if left else 0


def _row(entry: Entry) -> dict[str, Any]:
    return {name: value for name, value in vars(entry).items() if name != "path"}


def _line(entry: Entry) -> str:
    date = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.used))
    words = ", ".join(filter(None, (entry.title, entry.state)))
    return f"{entry.kind:<13}{entry.id}  {entry.bytes / MB:9.2f} MB  {date}  {words}"


def _told(problem: Problem) -> dict[str, str]:
    return {"kind": problem.kind, "id": problem.id, "file": problem.file, "remedy": problem.remedy}
