"""The one place where Dask is imported and a cluster is connected to."""

from __future__ import annotations

import importlib
import os
from typing import Any

from semf_core.common.errors import InvalidInput

CONNECT_SECONDS = 20
VARIABLE = "SEMF_DASK"


def cluster_address() -> str:
    """The scheduler that the environment names; empty if there is none."""
    return os.environ.get(VARIABLE, "").strip()


def dask_module(name: str) -> Any:
    """A module of Dask, which only those who have a cluster need."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        needed = 'needs Dask; run pip install "semf-studio[cluster]" here and on the cluster'
        raise InvalidInput(VARIABLE, f"{needed} ({error})") from None


def connect(address: str, timeout: float = CONNECT_SECONDS, **options: Any) -> Any:
    """A client of the scheduler at this address."""
    package = dask_module("distributed")
    try:
        package.comm.resolve_address(address)  # a client of an address that is none cannot be closed
        return package.Client(address, timeout=timeout, set_as_default=False, **options)
    except (OSError, ValueError) as error:
        raise InvalidInput(VARIABLE, f"no scheduler answers at {address} ({error})", "check the address", whole=True) from None
