"""A run recorded in this process, without a server: what the command line saves."""

from __future__ import annotations

from collections.abc import Callable

from semf_core.model import ModelSpec
from semf_core.runs.folder import RunFolder
from semf_core.runs.session import Session
from semf_core.solvers import Run


def record(spec: ModelSpec, folder: RunFolder, watch: Callable[[Run], object] | None = None) -> Session:
    """Run a model to its end and leave in the folder what a worker would; `watch(run)` is called now and then."""
    folder.write_spec(spec)
    session = Session(folder, revision=0, fresh=True)
    try:
        session.go(None)

        def look() -> bool:
            if watch is not None:
                watch(session.run)
            return False

        while session.work(look) is None:
            continue
        session.finish()
    finally:
        session.close()
    return session
