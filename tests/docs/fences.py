"""The code in Markdown: what is shown to readers is what the tests run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r'^```(\w+)(?: title="([^"]*)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """One fenced block."""

    language: str
    title: str
    text: str


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    return [Block(*found) for found in FENCE.findall((ROOT / page).read_text(encoding="utf-8"))]


def titled(page: str, title: str) -> str:
    """The one block of a page that stands for the file `title`."""
    (text,) = [block.text for block in blocks(page) if block.title == title]
    return text


def python(*arguments: str, cwd: Path, path: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """This interpreter in a folder, with modules found in `path` first."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(path), str(ROOT))), "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run([sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, timeout=300)
