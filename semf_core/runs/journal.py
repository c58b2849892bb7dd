"""Who started what, for the operator: a line for each, with ids only, in files that never take much room."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path

from semf_core.common.visitors import current_visitor
from semf_core.runs.files import locked

MOST_BYTES, FILES = 2 << 20, 5
"""Of one file, and how many there are: the newest is journal.log, the oldest journal.log.4."""
LOG = logging.getLogger(__name__)


def note(home: Path, what: str, thing: str = "", who: str = "") -> None:
    """Write down that the visitor who asks now, or `who`, has done this; a full disk is no reason to reject it."""
    folder = home / "log"
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    line = f"{when} {who or current_visitor() or '-'} {what} {thing or '-'}\n"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with locked(folder / "lock"):
            file = os.open(folder / "journal.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(file, line.encode())
                full = os.fstat(file).st_size > MOST_BYTES
            finally:
                os.close(file)
            if full:
                _rotate(folder)
    except OSError as error:
        LOG.warning("the journal cannot be written (%s): %s", error, line.strip())


def _rotate(folder: Path) -> None:
    """Every file gets the next number; the last one goes."""
    names = ["journal.log", *(f"journal.log.{number}" for number in range(1, FILES))]
    for older, newer in zip(reversed(names), list(reversed(names))[1:], strict=False):
        if (folder / newer).exists():
            os.replace(folder / newer, folder / older)
