"""The same cells on a Dask distributed cluster."""

from __future__ import annotations

import dataclasses
import queue
from pathlib import Path
from typing import Any

from semf_core.common.threads import blas_threads
from semf_core.datasets import Dataset, FileSource
from semf_core.distributed.connection import CONNECT_SECONDS, connect
from semf_core.runs.home import default_home
from semf_core.runs.uploads import Upload, load_source
from semf_core.runs.worker import error_message
from semf_core.studies.cell_run import Order, carry_out
from semf_core.studies.progress import Finished
from semf_core.studies.trials import Trial


class DaskExecutor:
    """Cells as tasks of a cluster. Dask starts a cell again whose worker has gone; it is recorded once."""

    def __init__(self, address: str, home: Path | None = None, timeout: float = CONNECT_SECONDS) -> None:
        self._client = connect(address, timeout)
        self._home = home or default_home()
        self._inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._cells: dict[Any, int] = {}
        self._futures: dict[Any, Any] = {}
        self._shipped: dict[Any, Any] = {}

    @property
    def slots(self) -> int:
        """Threads of all workers that are there now; at least one, because workers may still be coming."""
        return max(1, sum(self._client.nthreads().values()))

    def submit(self, order: Order) -> None:
        future = self._client.submit(compute, order, self._data_for(order), pure=False, retries=0)
        self._cells[future.key] = order["cell"]
        self._futures[future.key] = future
        future.add_done_callback(self._inbox.put)

    def _data_for(self, order: Order) -> Any:
        """Data that only this computer has, sent to the cluster once; None where a worker can make it by itself."""
        source = Trial.from_dict(order["trial"]).model.dataset
        if not isinstance(source, Upload | FileSource):
            return None
        if source not in self._shipped:
            self._shipped[source] = self._client.scatter(load_source(source, self._home), broadcast=True)
        return self._shipped[source]

    def finished(self, seconds: float) -> list[Finished]:
        found: list[Finished] = []
        try:
            while True:
                future = self._inbox.get(timeout=0 if found else seconds)
                number = self._cells.pop(future.key, None)
                if number is None:
                    continue
                found.append(self._result(future, number))
                self._futures.pop(future.key)  # the cluster may forget it
        except queue.Empty:
            return found

    def _result(self, future: Any, number: int) -> Finished:
        try:
            result: Finished = future.result()
            return dataclasses.replace(result, number=number)
        except Exception as error:  # workers died on it, or the cluster could not run it
            return Finished(number, error=error_message(error), lost=True)

    def withdraw(self) -> list[int]:
        """None: the cluster does not tell which have begun, so all that were sent are waited for."""
        return []

    def silent(self) -> list[int]:
        """None: the scheduler watches its workers itself."""
        return []

    def close(self) -> None:
        futures, self._futures, self._cells = list(self._futures.values()), {}, {}
        self._client.cancel(futures)
        self._client.close()


def compute(order: Order, dataset: Dataset | None) -> Finished:
    """One cell on a worker of the cluster."""
    with blas_threads(1):
        return carry_out(order, dataset=dataset)
