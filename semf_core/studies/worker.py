"""A worker process of a study: cells on standard input, their numbers on standard output, one JSON object a line.

It ends when its input ends, in the middle of a cell too: whoever sent it has gone, and nobody would record the result.
"""

from __future__ import annotations

import dataclasses
import sys

from semf_core.common.server_limits import server_limits
from semf_core.common.threads import blas_threads
from semf_core.runs.channel import Channel, ServerGone
from semf_core.sandbox.rlimits import limit_memory
from semf_core.studies.cell_run import carry_out


def main() -> int:
    channel = Channel.standard()
    limit_memory(server_limits().run_mb)
    with blas_threads(1):
        try:
            channel.report("ready")
            while True:
                order = channel.next()
                finished = carry_out(order, channel.look)
                channel.report("cell", **dataclasses.asdict(finished))
        except ServerGone:
            return 0


if __name__ == "__main__":
    sys.exit(main())
