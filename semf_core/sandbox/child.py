"""The child: one order a line on standard input, and for each a fork that carries it out under the limits.

An order is {"function": "module:name", "arguments": {…}, "megabytes", "seconds", "spare", "niceness"}. The fork reports "value",
"rejected" (with what makes the InvalidInput), "failed" (with the traceback) or "memory"; after it, or instead of it if the
fork died, the child reports "ended" with "code", "peak_mb" and "seconds". A fork per order keeps this process clean:
what a file did to one reader, the next does not see. At the end of its input the child ends.
"""

from __future__ import annotations

import gc
import logging
import os
import resource
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

from semf_core.common.errors import InvalidInput
from semf_core.runs.channel import Channel, Order, ServerGone
from semf_core.sandbox import pool
from semf_core.sandbox.rlimits import limit_cpu, limit_memory, lower_priority

AHEAD = ("semf_core.runs.sandboxed", "semf_core.snapshots.sandboxed", "semf_core.studies.service")
"""Imported before the first order comes, unless the command line names others: where the functions stand that are asked for."""


def carry_out(order: Order) -> tuple[str, Any]:
    """How an order ended and what came of it, whatever happens."""
    return attempt(lambda: _within_limits(order))


def attempt(action: Callable[[], Any]) -> tuple[str, Any]:
    """The report's name of how something ended, and what came of it."""
    try:
        return "value", action()
    except InvalidInput as error:
        return "rejected", error.to_dict()
    except MemoryError:
        return "memory", None
    except Exception as error:  # a defect of the reader: the server writes it to its log
        return "failed", "".join(traceback.format_exception(error))


def _within_limits(order: Order) -> Any:
    module, _, name = order["function"].partition(":")
    function = getattr(import_module(module), name)
    lower_priority(order["niceness"])
    limit_memory(order["megabytes"])
    limit_cpu(order["seconds"])
    pool.INSIDE.append(True)
    return function(**order["arguments"])


def _fork(channel: Channel, order: Order) -> None:
    """Carry it out in a process of its own; wait for that and say how it ended."""
    began = time.perf_counter()
    process = os.fork()
    if process == 0:
        code = 1
        try:
            kind, value = carry_out(order)
            channel.report(kind, value=value)
            code = 0
        finally:  # never back into the loop of the parent
            os._exit(code)
    _, status, usage = os.wait4(process, 0)
    spent = time.perf_counter() - began
    code = os.waitstatus_to_exitcode(status)
    channel.report("ended", code=code, peak_mb=usage.ru_maxrss >> 10, seconds=spent)


def main() -> int:
    channel = Channel.standard()
    warnings.simplefilter("ignore")
    logging.disable()  # readers complain about each part of a damaged file, and the server's log is not for visitors to fill
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for module in sys.argv[1:] or AHEAD:
        import_module(module)
    gc.collect()
    gc.freeze()
    with suppress(ServerGone):
        channel.report("ready")
        while True:
            _fork(channel, channel.next())
    return 0


if __name__ == "__main__":
    sys.exit(main())
