"""The child: one order a line on standard input, and for each a fork that carries it out under the limits.

An order is {"function": "module:name", "arguments": {…}, "megabytes", "seconds", "niceness"}. The fork answers with one line,
{"value": …}, {"refused": [field, message, indices]}, {"failed": text} or {"memory": true}; after it, or instead
of it if the fork died, the child writes {"ended": exit code, "peak_mb", "seconds"}. A fork per order keeps this
process clean: what a file did to one reader, the next does not see. At the end of its input the child ends.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import resource
import signal
import sys
import time
import traceback
import warnings
from importlib import import_module
from typing import Any

from semf_core.common.errors import InvalidInput
from semf_core.sandbox import pool
from semf_core.sandbox.rlimits import limit_cpu, limit_memory, stand_back

AHEAD = ("semf_core.runs.sandboxed", "semf_core.snapshots.sandboxed", "semf_core.studies.service")
"""Imported before the first order comes, unless the command line names others: where the functions stand that are asked for."""


def carry_out(order: dict[str, Any]) -> dict[str, Any]:
    """The answer to an order, whatever happens."""
    module, _, name = order["function"].partition(":")
    try:
        function = getattr(import_module(module), name)
        stand_back(order["niceness"])
        limit_memory(order["megabytes"])
        limit_cpu(order["seconds"])
        pool.INSIDE.append(True)
        return {"value": function(**order["arguments"])}
    except InvalidInput as refusal:
        return {"refused": refusal.to_dict()}
    except MemoryError:
        return {"memory": True}
    except Exception as error:  # a defect of the reader: the server writes it to its log
        return {"failed": "".join(traceback.format_exception(error))}


def _answer(sink: int, reply: dict[str, Any]) -> None:
    data = json.dumps(reply).encode() + b"\n"
    while data:
        data = data[os.write(sink, data) :]


def _fork(sink: int, order: dict[str, Any]) -> None:
    """Carry it out in a process of its own; wait for that and say how it ended."""
    began = time.perf_counter()
    process = os.fork()
    if process == 0:
        code = 1
        try:
            _answer(sink, carry_out(order))
            code = 0
        finally:  # never back into the loop of the parent
            os._exit(code)
    _, status, usage = os.wait4(process, 0)
    spent = time.perf_counter() - began
    code = os.waitstatus_to_exitcode(status)
    _answer(sink, {"ended": code, "peak_mb": usage.ru_maxrss >> 10, "seconds": spent})


def main() -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server; this ends with its input
    warnings.simplefilter("ignore")
    logging.disable()  # readers complain about each part of a damaged file, and the server's log is not for visitors to fill
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    orders, sink = os.fdopen(os.dup(0), "rb"), os.dup(1)
    os.dup2(2, 1)  # whatever a library prints must not get between the answers
    for module in sys.argv[1:] or AHEAD:
        import_module(module)
    gc.collect()
    gc.freeze()
    try:
        _answer(sink, {"ready": True})
        for line in orders:
            _fork(sink, json.loads(line))
    except BrokenPipeError:  # the server has gone
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
