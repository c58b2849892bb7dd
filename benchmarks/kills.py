"""Kill -9 and full disks at random moments: `python -m benchmarks.kills [--kills 300] [--full 50] [--seed 0] [--only workers …]`.

Workers, servers and the process of the studies are killed while they compute, and a small disk fills up and is emptied
again. What was finished must be there afterwards, unchanged; what was interrupted must end with the numbers of a run
that nobody disturbed, bit for bit.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import REPOSITORY, Row, at_least, at_most, parser, print_table
from semf_core.common.errors import InvalidInput
from semf_core.common.threads import blas_threads
from semf_core.factorization.result import Result, make_result
from semf_core.model import ModelSpec
from semf_core.runs.pool import worker_environment
from semf_core.service import RunHandle, Service
from semf_core.solvers import COLUMNS
from semf_core.studies import Study, StudyStore, run_study
from semf_core.studies import background as background_module
from semf_core.studies.background import start_in_background
from semf_core.studies.execution import LocalExecutor
from tests.disks import NoMounting, empty, fill, small_disk

Array = np.ndarray
SEEDS = 4
"""Different runs; more of them repeat these."""
ITERATIONS = 12_000
"""Of a run: a second or two of one core."""
CELLS = 60
DISK_MB = 24
PATIENCE = 120.0
SLOTS = 2
AT_REST = {"failed", "interrupted", "paused"}
DATA = {"name": "sparse_codes", "rows": 8, "atoms": 10, "samples": 60, "nonzeros": 2}
SERVER = """
import sys
from benchmarks.kills import serve
serve(sys.argv[1], sys.argv[2:])
"""


@dataclass
class Tally:
    """What came of it."""

    moments: int = 0
    finished: dict[str, bytes] = field(default_factory=dict)
    """The result of every run that was seen to be finished."""
    wrong: list[str] = field(default_factory=list)
    """Runs whose numbers are not those of an undisturbed run, or that cannot be resumed."""
    lost: list[str] = field(default_factory=list)

    def rows(self, what: str) -> list[Row]:
        told = f"{self.moments} {what}, {len(self.finished)} finished"
        return [
            at_most(f"{what}: finished and lost", len(self.lost), 0, form="{:.0f}", note="; ".join(self.lost)[:200] or told),
            at_most(f"{what}: not resumed bit for bit", len(self.wrong), 0, form="{:.0f}", note="; ".join(self.wrong)[:200]),
            at_least(f"{what}: ended all the same", len(self.finished), 1, form="{:.0f}"),
        ]


def model(seed: int) -> ModelSpec:
    """Kicks and new starts draw random numbers, so the generator must survive as well."""
    limits = {"max_iter": ITERATIONS // 2, "restarts": 2, "kick": True, "window": 100, "tol": 0, "target": 0}
    values = {"title": f"seed {seed}", "dataset": DATA, "rank": 6, "y": [{"name": "sparse", "k": 2}], "limits": limits}
    return ModelSpec.from_dict(values | {"seed": seed})


@cache
def undisturbed(seed: int) -> tuple[Array, bytes]:
    """The numbers and the factors of the same run when nobody interrupts it."""
    with blas_threads(1):
        run = model(seed).run(bounded=True).finish()
        return without_time(run.history.table()), factors_of(make_result(run))


def factors_of(result: Result) -> bytes:
    return b"".join(np.ascontiguousarray(f).tobytes() for f in (result.U, result.V, result.X, result.Y))


def without_time(rows: Array) -> Array:
    return np.delete(rows, COLUMNS.index("seconds"), axis=1)


def wait_until(condition: Callable[[], Any], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"waited in vain: {what}")
        time.sleep(0.01)


def wait_for_state(service: Service, run_id: str, states: set[str]) -> None:
    """As long as it gets on, however busy the computer is: time in which its worker waits for a core does not count."""
    status, moved = service.status(run_id), time.monotonic() - starved_seconds(service, run_id)
    while status.state not in states:
        before, status = status, service.status(run_id)
        spent = time.monotonic() - starved_seconds(service, run_id)
        moved = spent if (status.iterations, status.state) != (before.iterations, before.state) else moved
        if spent > moved + PATIENCE:
            told = f"it is {status.state} after {status.iterations} iterations {status.message!r}"
            raise RuntimeError(f"waited in vain: run {run_id} to be {' or '.join(sorted(states))}, {told}")
        time.sleep(0.05)


def starved_seconds(service: Service, run_id: str) -> float:
    """How long the worker of a run, if it has one, was ready to compute while others had all cores."""
    worker = next((w for w in service._manager._worker_pool.workers if w.run_id == run_id), None)
    try:
        return 0.0 if worker is None else int(Path(f"/proc/{worker.pid}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError):  # it has just ended, or this is no Linux
        return 0.0


def wait_for_a_cell(store: StudyStore, known: int, process: subprocess.Popen[bytes]) -> None:
    """Until there are more than the known ones, or the process has nothing more to do."""
    wait_until(lambda: store.progress().done > known or process.poll() is not None, "a cell")


# -- runs --------------------------------------------------------------------------------------


class Visitor:
    """Keeps some runs going on a service, whatever happens to them."""

    def __init__(self, tally: Tally, handles: list[RunHandle] | None = None) -> None:
        self.tally, self.handles = tally, handles or []
        self._started = len(self.handles)
        self._seeds: dict[str, int] = {handle.id: n % SEEDS for n, handle in enumerate(self.handles)}

    def attend(self, service: Service) -> None:
        """Judge what has finished, start as many others, and resume what stands still."""
        for handle in list(self.handles):
            state = service.status(handle.id).state
            if state == "finished":
                self._judge(service, handle)
                self.handles.remove(handle)
            elif state in AT_REST:
                service.resume(handle.id, handle.key)
        while len(self.handles) < SLOTS:
            handle = service.start(model(self._started % SEEDS))
            self._seeds[handle.id] = self._started % SEEDS
            self._started += 1
            self.handles.append(handle)

    def _judge(self, service: Service, handle: RunHandle) -> None:
        rows, (expected, factors) = without_time(service.scalars(handle.id)), undisturbed(self._seeds[handle.id])
        found = self.tally.finished[handle.id] = factors_of(service.result(handle.id))
        if not np.array_equal(rows, expected, equal_nan=True) or found != factors:
            self.tally.wrong.append(handle.id)

    def finish(self, service: Service) -> None:
        """Let what is left come to its end undisturbed, then see whether everything finished is still there."""
        for handle in self.handles:
            while True:  # a kill may not have been noticed yet
                wait_for_state(service, handle.id, AT_REST | {"finished"})
                if service.status(handle.id).state == "finished":
                    break
                service.resume(handle.id, handle.key)
            self._judge(service, handle)
        self.handles = []
        for run_id, result in self.tally.finished.items():
            try:
                if factors_of(service.result(run_id)) != result:
                    self.tally.lost.append(f"{run_id}: changed")
            except InvalidInput as refusal:
                self.tally.lost.append(f"{run_id}: {refusal}")


@contextmanager
def serving(home: Path) -> Iterator[Service]:
    service = Service(home, max_running=SLOTS)
    try:
        yield service
    finally:
        service.close()


def killed_workers(home: Path, kills: int, rng: random.Random) -> Tally:
    """One of the workers that iterate, again and again."""
    tally = Tally()
    visitor = Visitor(tally)
    with serving(home) as service:
        while tally.moments < kills:
            visitor.attend(service)
            time.sleep(rng.uniform(0.0, 1.3))
            busy = [w for w in service._manager._worker_pool.workers if w.role == "busy"]
            with suppress(IndexError, ProcessLookupError):  # nobody works now, or has just come to an end
                os.kill(rng.choice(busy).pid, signal.SIGKILL)
                tally.moments += 1
        visitor.finish(service)
    return tally


def serve(home: str, keys: list[str]) -> None:
    """In a process of its own: a server that resumes these runs (id:key each) and then waits to be killed."""
    service = Service(home, max_running=SLOTS)
    for run_id, _, key in (text.partition(":") for text in keys):
        if service.status(run_id).state in AT_REST:
            service.resume(run_id, key)
    print("ready", flush=True)
    time.sleep(3600)


def killed_servers(home: Path, kills: int, rng: random.Random) -> Tally:
    """A whole server, whose workers then write their checkpoints and end; the next one goes on."""
    tally = Tally()
    visitor = Visitor(tally)
    while tally.moments < kills:
        with serving(home) as service:
            visitor.attend(service)
        for _ in range(min(5, kills - tally.moments)):
            arguments = [f"{handle.id}:{handle.key}" for handle in visitor.handles]
            command = [sys.executable, "-c", SERVER, str(home), *arguments]
            environment = worker_environment(home)
            with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=REPOSITORY, env=environment) as server:
                assert server.stdout is not None
                server.stdout.readline()
                time.sleep(rng.uniform(0.0, 1.0))
                server.kill()
            tally.moments += 1
    with serving(home) as service:
        visitor.finish(service)
    return tally


# -- studies -----------------------------------------------------------------------------------


def study() -> Study:
    base = {k: v for k, v in model(0).to_dict().items() if k != "title"} | {"limits": {"max_iter": 400, "tol": 0}}
    form = {"name": "kills", "base": base, "measures": ["relative_error"], "axes": [{"path": "seed", "range": [0, CELLS]}]}
    return Study.from_dict(form)


def cells_of(store: StudyStore) -> dict[int, tuple[str, object]]:
    """When each finished cell was recorded, and its numbers."""
    values, stamps = {f.number: f.values for f in store.finished()}, store.stamps()
    return {number: (stamps[number], values[number]) for number in stamps}


def killed_studies(home: Path, kills: int, rng: random.Random) -> Tally:
    """The process that serves the studies, whose workers end with it; a study that is finished begins anew elsewhere."""
    tally = Tally()
    reference = StudyStore.create(study(), home / "undisturbed")
    run_study(reference, LocalExecutor(SLOTS, home / "undisturbed"))
    expected = {number: values for number, (_, values) in cells_of(reference).items()}
    round_number = 0
    while tally.moments < kills or not tally.finished:
        place = home / f"round-{round_number}"
        store = StudyStore.create(study(), place)
        known: dict[int, tuple[str, object]] = {}
        while store.progress().state != "finished":
            start_in_background(store, place)
            process = background_module._STARTED[-1]
            if tally.moments < kills:
                wait_for_a_cell(store, len(known), process)
                time.sleep(rng.uniform(0.0, 0.5))
                process.kill()
                tally.moments += 1
            process.wait()
            now = cells_of(store)
            tally.lost += [f"cell {n} of round {round_number}" for n, cell in known.items() if now.get(n) != cell]
            known = now
        if {number: values for number, (_, values) in known.items()} != expected:
            tally.wrong.append(f"round {round_number}")
        tally.finished[f"round {round_number}"] = b""
        round_number += 1
    return tally


# -- full disks --------------------------------------------------------------------------------


def filled_disks(place: Path, moments: int, rng: random.Random) -> Tally:
    """A small disk that fills up while two runs iterate, and is emptied once they have noticed."""
    tally = Tally()
    visitor = Visitor(tally)
    with small_disk(place, DISK_MB) as disk, serving(disk / "home") as service:
        while tally.moments < moments:
            visitor.attend(service)
            time.sleep(rng.uniform(0.0, 1.5))
            fill(disk)
            for handle in visitor.handles:
                wait_for_state(service, handle.id, AT_REST | {"finished"})
                with_command(service, handle, rng)
            empty(disk)
            tally.moments += 1
            for run_id in list(tally.finished)[:-3]:  # the disk is small: some are looked at once more and deleted
                _forget(service, tally, run_id)
        visitor.finish(service)
    return tally


def with_command(service: Service, handle: RunHandle, rng: random.Random) -> None:
    """Buttons pressed on a full disk: they may be rejected in words, and must not break anything."""
    command = rng.choice([service.pause, service.resume, lambda run, key: None])
    try:
        command(handle.id, handle.key)
    except InvalidInput:
        return


def _forget(service: Service, tally: Tally, run_id: str) -> None:
    if factors_of(service.result(run_id)) != tally.finished[run_id]:
        tally.lost.append(run_id)
    shutil.rmtree(service.home / "runs" / run_id)
    tally.finished[run_id] = b""


PHASES: dict[str, tuple[str, Callable[[Path, int, random.Random], Tally]]] = {
    "workers": ("kills of workers", killed_workers),
    "servers": ("kills of servers", killed_servers),
    "studies": ("kills of studies", killed_studies),
    "disks": ("full disks", filled_disks),
}


def main(argv: list[str] | None = None) -> None:
    options = parser(__doc__)
    options.add_argument("--kills", type=int, help="how many kills (300; 12 with --quick)")
    options.add_argument("--full", type=int, help="how many times the disk is full (50; 3 with --quick)")
    options.add_argument("--seed", type=int, default=0, help="of the moments")
    options.add_argument("--only", nargs="+", choices=PHASES, default=list(PHASES), help="some of it")
    chosen = options.parse_args(argv)
    kills, full = chosen.kills or (12 if chosen.quick else 300), chosen.full or (3 if chosen.quick else 50)
    moments = {"workers": kills - kills // 3, "servers": kills // 6, "studies": kills // 3 - kills // 6, "disks": full}
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # the small disk does not stay behind
    rng, place = random.Random(chosen.seed), Path(tempfile.mkdtemp(prefix="semf-kills-"))
    try:
        for phase in chosen.only:  # each is told at its end: all of them take long
            what, work = PHASES[phase]
            began = time.perf_counter()
            try:
                rows = work(place / phase, moments[phase], rng).rows(what)
            except NoMounting as why:
                rows = [Row(what, "NOT TESTED", f"{moments[phase]}", False, str(why))]
            print_table(what.capitalize(), rows, f"{time.perf_counter() - began:.0f} s.")
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
