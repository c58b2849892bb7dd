"""Limits that the system enforces on this process."""

from __future__ import annotations

import contextlib
import math
import os
import resource
import sys
from pathlib import Path

import numpy as np

MB = 1 << 20


def address_space() -> int:
    """Bytes of address space that this process has now; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def limit_memory(megabytes: float) -> None:
    """Let this process allocate so much more than it has; beyond that an allocation raises MemoryError.

    BLAS takes its working memory at the first product and cannot say that there is none, so it is made to
    take it now. Systems other than Linux accept the limit and may not enforce it.
    """
    square = np.ones((64, 64))
    np.linalg.svd(square @ square)
    if sys.platform == "linux" and math.isfinite(megabytes):
        _lower(resource.RLIMIT_AS, address_space() + int(megabytes * MB))


def limit_cpu(seconds: float) -> None:
    """End this process after so much more computing; for one whose parent is gone and cannot do it."""
    if math.isinf(seconds):
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    _lower(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime + seconds) + 1)


def lower_priority(niceness: int) -> None:
    """Let processes that somebody waits for go first, the server above all.

    Where Linux shares the processor between sessions before it looks at processes, a session of one's own stands back
    as well.
    """
    os.nice(niceness)
    if os.getsid(0) == os.getpid():
        with contextlib.suppress(OSError):  # no Linux, or one without that
            Path("/proc/self/autogroup").write_text(str(niceness))


def _lower(which: int, value: int) -> None:
    """A soft limit may only go down to what the operator has set as the hard one."""
    hard = resource.getrlimit(which)[1]
    resource.setrlimit(which, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))
