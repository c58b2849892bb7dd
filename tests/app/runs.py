"""Runs for page tests, and waiting for them."""

from __future__ import annotations

import time

from semf_core.common.errors import InvalidInput
from semf_core.datasets import Swimmer
from semf_core.model import ModelSpec
from semf_core.sets import Nonnegative
from semf_core.solvers import ADMM, Limits

ENDLESS = ModelSpec(Swimmer(), 17, (Nonnegative(),), (Nonnegative(),), ADMM(), Limits(max_iter=1_000_000, tol=0), title="Endless")


def wait_for(service, run_id, *states, seconds=120.0):
    end = time.monotonic() + seconds
    while service.status(run_id).state not in states:
        assert time.monotonic() < end, service.status(run_id)
        time.sleep(0.02)
    return service.status(run_id)


def step(service, handle, steps):
    """Go on for some iterations and wait for them; a busy computer may first need time to get the run ready."""
    wanted = service.status(handle.id).iterations + steps
    end = time.monotonic() + 30
    while True:
        try:
            service.step(handle.id, handle.key, steps)
            break
        except InvalidInput:
            assert time.monotonic() < end
    while service.status(handle.id).iterations < wanted:
        assert time.monotonic() < end
        time.sleep(0.02)
    wait_for(service, handle.id, "paused")
