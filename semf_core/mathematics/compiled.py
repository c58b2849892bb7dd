"""The loops of `loops` and `curve_loops` compiled by numba, where they are at hand.

NumPy does the same work, bit for bit, where they are not. Compiling takes seconds, so nobody waits for it: the first
process that has much to iterate has them compiled by a process of its own, numba keeps the machine code on disk, and
every later process loads it by a thread while it iterates with NumPy. `load` does it at once. Of processes that start
together one compiles, and the others wait for it. Without numba, without a folder that can be written, or with
SEMF_COMPILED=0 it stays with NumPy.
"""

from __future__ import annotations

import hashlib
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from semf_core.mathematics import curve_loops
from semf_core.mathematics import loops as factor_loops

SOURCES = (factor_loops, curve_loops)
SIGNATURES = {**factor_loops.SIGNATURES, **curve_loops.SIGNATURES}
SWITCH = "SEMF_COMPILED"
SMALL = 1024
"""Arrays of fewer entries are left to NumPy: a call costs as much as it saves."""
WORTHWHILE = 30_000_000
"""Entries that NumPy goes over, about a tenth of a second, before the compiled loops are thought of."""
PRECISIONS = ("float32", "float64")
COMPILE = "import os; getattr(os, 'nice', abs)(10); from semf_core.mathematics import compiled; compiled.load()"
"""Politely, where the system knows how: whoever waits for something else goes first."""
LOG = logging.getLogger(__name__)


class _Loops:
    """The compiled loops, once they are loaded, and what has been done to get them."""

    def __init__(self) -> None:
        self.ready: SimpleNamespace | None = None
        self._entries = 0
        self._asked = os.environ.get(SWITCH, "1").strip() == "0"
        self._lock = threading.Lock()

    def count(self, entries: int) -> None:
        """NumPy has this to do; have the loops loaded once it has been much."""
        self._entries += entries
        if self._entries >= WORTHWHILE and not self._asked:
            self.load_in_background()

    def load_in_background(self) -> None:
        with self._lock:
            if self._asked:
                return
            self._asked = True
        threading.Thread(target=self._load_quietly, daemon=True, name="compiled-loops").start()

    def _load_quietly(self) -> None:
        try:
            self.load()
        except Exception as error:  # whatever it is, NumPy goes on
            LOG.info("the loops stay with NumPy: %s", error)

    def load(self, here: bool = False) -> None:
        """Load the machine code; if there is none yet, by a process that compiles it, or `here`, in this one."""
        dispatchers, stamp = _dispatchers()
        if not stamp.exists() and not here:
            subprocess.run([sys.executable, "-P", "-c", COMPILE], env=_environment(), check=True)
        with nullcontext() if stamp.exists() else _alone(stamp.with_suffix(".lock")):
            for name, dispatcher in dispatchers.items():
                for signature in {SIGNATURES[name].replace("T", precision) for precision in PRECISIONS}:
                    dispatcher.compile(signature)
                dispatcher.disable_compile()
            if here:
                stamp.touch()
        self.ready = SimpleNamespace(**dispatchers)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One process at a time; the system frees the lock of a process that ends."""
    with open(path, "ab") as file:
        if sys.platform == "win32":
            import msvcrt

            file.seek(0)
            while True:
                try:
                    msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
                    break
                except OSError:  # after ten seconds
                    continue
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _dispatchers() -> tuple[dict[str, Any], Path]:
    """numba's objects, nothing compiled yet, and the file that says whether the machine code for them is on disk."""
    import numba  # a third of a second: not for processes that do not iterate

    compiler = numba.njit(nogil=True, error_model="numpy", cache=True)
    dispatchers: dict[str, Any] = {name: compiler(getattr(s, name)) for s in SOURCES for name in s.SIGNATURES}
    target = numba.core.registry.cpu_target.target_context.codegen().magic_tuple()
    files = [Path(str(s.__file__)) for s in SOURCES]
    state = (numba.__version__, sys.version, target, *((file.stat().st_mtime_ns, file.read_bytes()) for file in files))
    key = hashlib.sha256(repr(state).encode()).hexdigest()[:16]
    return dispatchers, Path(dispatchers["free"].stats.cache_path) / f"loops-{key}.compiled"


def _environment() -> dict[str, str]:
    """Of the process that compiles: this copy of the library."""
    paths = [str(Path(__file__).resolve().parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


_LOOPS = _Loops()
prepare = _LOOPS.load_in_background


def loops(entries: int = WORTHWHILE) -> SimpleNamespace | None:
    """The compiled loops for arrays of so many entries; None: use NumPy. No number: NumPy has nothing that compares."""
    if entries < SMALL:
        return None
    if _LOOPS.ready is None:
        _LOOPS.count(entries)
    return _LOOPS.ready


def load() -> None:
    """Have the loops at once, compiling what is not on disk; ImportError without numba."""
    if _LOOPS.ready is None:
        _LOOPS.load(here=True)
