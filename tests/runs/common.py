"""Small models, waiting with a deadline, and the same run without a worker."""

from __future__ import annotations

import time

import numpy as np
from threadpoolctl import threadpool_limits

from semf_core.model import ModelSpec
from semf_core.solvers import COLUMNS

TIMED = COLUMNS.index("seconds")
SPARSE = [{"name": "sparse", "k": 2}]


def tiny(max_iter=10_000_000, **changes):
    """A model whose iterations take a tenth of a millisecond; endless unless told otherwise."""
    limits = {"max_iter": max_iter, "tol": 0, "target": 0, **changes.pop("limits", {})}
    values = {
        "title": "tiny",
        "dataset": {"name": "sparse_codes", "rows": 8, "atoms": 10, "samples": 30, "nonzeros": 2},
        "rank": 5,
        "y": SPARSE,
        "solver": {"name": "semf"},
        "limits": limits,
    }
    return ModelSpec.from_dict(values | changes)


def wait_for(condition, seconds=120.0):
    """The first true value of `condition()`."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
    return value


def wait_for_state(service, run_id, *states):
    wait_for(lambda: service.status(run_id).state in states)
    return service.status(run_id)


def wait_for_iterations(service, run_id, count):
    wait_for(lambda: service.status(run_id).iterations >= count)


def in_process(spec, iterations=None):
    """The same run here, to its end or for some iterations."""
    with threadpool_limits(1, user_api="blas"):
        run = spec.run()
        if iterations is None:
            return run.finish()
        while run.iterations < iterations:
            run.advance()
        return run


def assert_same_numbers(rows, run):
    """Bit for bit, except for the time it took."""
    expected = run.history.table()[: len(rows)]
    assert len(expected) == len(rows)
    for i, name in enumerate(COLUMNS):
        if i != TIMED:
            np.testing.assert_array_equal(rows[:, i], expected[:, i], err_msg=name)


def worker_of(service, run_id):
    """The worker process that has a run in memory."""
    return next((w for w in service._manager._worker_pool.workers if w.run_id == run_id), None)


def is_alive(pid):
    """Whether the process exists and is not a zombie."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
