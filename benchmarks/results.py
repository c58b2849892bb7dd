"""The page docs/results.md: what each benchmark printed when it last ran in full, with date, machine and command.

Every benchmark has a block of its own between two comments, so a run replaces what it measured and leaves the rest.
"""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

from benchmarks.common import REPOSITORY, machine

PAGE = REPOSITORY / "docs" / "results.md"
FIRST, LAST = "<!-- make bench: written by benchmarks/results.py -->", "<!-- end of make bench -->"
REGION = re.compile(f"{re.escape(FIRST)}\n(.*){re.escape(LAST)}", re.DOTALL)


def recorded(page: str, name: str, printed: str, stamp: str) -> str:
    """The page with what a benchmark printed; blocks of others stay as they are, a new one comes last."""
    region = REGION.search(page)
    if region is None:
        raise ValueError(f"the page has lost its lines {FIRST} and {LAST}")
    tables = re.sub(r"^## ", "#### ", printed.strip(), flags=re.MULTILINE)
    block = f"<!-- {name} -->\n### {name}\n\n`python -m benchmarks.{name}`, {stamp}.\n\n{tables}\n<!-- /{name} -->\n"
    known = re.compile(f"<!-- {re.escape(name)} -->\n.*?<!-- /{re.escape(name)} -->\n", re.DOTALL)
    inside = region[1]
    inside = known.sub(lambda found: block, inside) if known.search(inside) else f"{inside}{block}\n"
    return page[: region.start(1)] + inside + page[region.end(1) :]


def record(name: str, printed: str, page: Path = PAGE) -> None:
    """Write what a full run of a benchmark printed into the page, with today's date and this machine."""
    text = page.read_text(encoding="utf-8")
    page.write_text(recorded(text, name, printed, f"{date.today().isoformat()}, {machine()}"), encoding="utf-8")
