"""Snapshots: Swimmer's run, a gallery of 1,000, killed savers, generated files: `python -m benchmarks.snapshots`."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.common import REPOSITORY, Row, at_least, at_most, parser, print_table, seconds_of
from benchmarks.mutations import mutated
from semf_core.common.errors import InvalidInput
from semf_core.common.threads import blas_threads
from semf_core.datasets import DATASETS, Dataset
from semf_core.model import ModelSpec, preset
from semf_core.runs.folder import RunFolder
from semf_core.service import Service
from semf_core.snapshots.content import Content
from semf_core.snapshots.format import read_snapshot, snapshot_bytes
from semf_core.snapshots.from_run import Story, from_run
from semf_core.snapshots.label import Label
from semf_core.snapshots.recording import record
from semf_core.snapshots.reproduce import reproduce
from semf_core.snapshots.store import SnapshotStore
from semf_core.solvers import Limits

GALLERY = """
import sys, time
from streamlit.testing.v1 import AppTest
from semf_core import service as module
from pages.ui import session
module._SERVICE.append(module.Service(sys.argv[1], max_running=1))
page = AppTest.from_file("pages/snapshots.py", default_timeout=60)
times = []
for _ in range(4):
    began = time.perf_counter()
    page.run()
    times.append(time.perf_counter() - began)
assert not page.exception and sum("No " in m.value for m in page.markdown) >= 12
print(min(times[1:]))
module._SERVICE[0].close()
"""


def swimmer_rows(place: Path) -> list[Row]:
    """Saving and opening Swimmer's 2000 iterations, through the service."""
    spec = preset("swimmer-groups")
    spec = replace(spec, limits=Limits(max_iter=2000, tol=0, target=0, kick=True))
    service = Service(place, max_running=1)
    try:
        handle = service.start(spec)
        while service.status(handle.id).state != "finished":
            time.sleep(0.05)
        saved = [service.save(handle.id)]
        began = time.process_time()
        seconds = min(seconds_of(lambda: saved.append(service.save(handle.id))) for _ in range(5))
        busy = (time.process_time() - began) / 5
        size = service.gallery.card(saved[0].id).size / 1e6
        opening = min(seconds_of(lambda one=one: service.factors(one.id)) for one in saved)  # type: ignore[misc]
        frames = len(service.keyframes(saved[0].id))
    finally:
        service.close()
    content = from_run(*_recorded(place / "again", spec.limits.max_iter), Label("Swimmer"), Story(0.0))
    work = f"{frames} keyframes, {busy:.2g} s of the processor"
    rows = [
        at_most("Swimmer, 2000 iterations: seconds to save", seconds, 0.5, note=work),
        at_most("Swimmer, 2000 iterations: MB", size, 1.0),
        at_most("Swimmer, 2000 iterations: seconds to open", opening, 1.0, note="verified and laid out"),
    ]
    again = snapshot_bytes(content) == snapshot_bytes(read_snapshot("again", snapshot_bytes(content)))
    rows.append(Row("the same bytes after reading and writing", "yes" if again else "no", "yes", again))
    found = reproduce(content, preset("swimmer-groups").dataset.load())
    rows.append(Row("its history run again", "bit for bit" if found.exact else found.sentence(), "bit for bit", found.exact))
    return rows


def _recorded(folder: Path, iterations: int) -> tuple[RunFolder, Dataset]:
    folder.mkdir()
    spec = replace(preset("swimmer-groups"), limits=Limits(max_iter=iterations, tol=0, target=0, kick=True))
    session = record(spec, RunFolder(folder))
    return RunFolder(folder), session.dataset


def small_content(place: Path) -> Content:
    """A run of forty iterations on a small matrix, with its data."""
    place.mkdir()
    data = DATASETS.parse("sparse_codes:rows=8,atoms=10,samples=30,nonzeros=2")
    session = record(ModelSpec(data, 5, limits=Limits(max_iter=40, tol=0, polish=2)), RunFolder(place))
    return from_run(RunFolder(place), session.dataset, Label("Small", "a, b", "note"), Story(0.0), include_data=True)


def gallery_row(place: Path, content: Content, count: int) -> Row:
    """The page script with a full store, after the first time."""
    store = SnapshotStore(place)
    for i in range(count):
        handle = store.add(replace(content, label=Label(f"No {i}", "tag", "A note")))
        store.publish(handle.id, True)
    store.close()
    listing = seconds_of(lambda: SnapshotStore(place).close())
    out = subprocess.run([sys.executable, "-c", GALLERY, str(place)], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    note = f"the store opens in {listing:.2g} s"
    return at_most(f"gallery of {count:,}: seconds to its first page", float(out.stdout), 1.0, note=note)


def killed_rows(place: Path, content: Content, kills: int) -> list[Row]:
    """Savers that are killed at random moments: what they reported is there and whole, and the index opens."""
    rng, saved, whole = random.Random(0), set(), snapshot_bytes(content)
    for _ in range(kills):
        saved |= _killed_saver(place, content, rng.uniform(0.0, 0.3))
        SnapshotStore(place).close()
    store = SnapshotStore(place)
    cards, total = store.cards(None, limit=10**6)
    intact = sum(store.file(card.id) == whole for card in cards)
    lost = len(saved - {card.id for card in cards})
    store.close()
    note = f"{kills} kills, {len(saved)} saves reported, {total} in the index"
    rows = [at_most("finished snapshots lost to kill -9", lost, 0, note=note)]
    return [*rows, at_least("whole files in the index", intact, total)]


def _killed_saver(place: Path, content: Content, seconds: float) -> set[str]:
    """Ids that a process has reported as saved before it was killed."""
    source, sink = os.pipe()
    saver = os.fork()
    if saver == 0:
        store = SnapshotStore(place)
        os.write(sink, b"ready\n")
        while True:
            os.write(sink, f"{store.add(content).id}\n".encode())
    os.close(sink)
    with open(source, encoding="ascii") as reports:
        reports.readline()
        time.sleep(seconds)
        os.kill(saver, signal.SIGKILL)
        os.waitpid(saver, 0)
        return {line.strip() for line in reports if len(line) == 23}


def generated_row(content: Content, count: int) -> Row:
    """Files made by chance: each is read or rejected."""
    members, crashes, rejected = content.members(), 0, 0
    began = time.perf_counter()
    for seed in range(count):
        try:
            read_snapshot("generated.semf", mutated(members, seed))
        except InvalidInput:
            rejected += 1
        except Exception:
            crashes += 1
    note = f"{rejected:,} rejected, {1000 * (time.perf_counter() - began) / count:.1f} ms each"
    return at_most(f"{count:,} generated files: crashes of the reader", crashes, 0, note=note)


def main(argv: Sequence[str] | None = None) -> None:
    options = parser(__doc__)
    quick = options.parse_args(argv).quick
    place = Path(tempfile.mkdtemp(prefix="semf-bench-"))
    try:
        with blas_threads(1):
            rows, small = swimmer_rows(place / "swimmer"), small_content(place / "small")
        rows.append(gallery_row(place / "gallery", small, 50 if quick else 1000))
        rows += killed_rows(place / "killed", small, 5 if quick else 200)
        rows.append(generated_row(small, 200 if quick else 10_000))
        print_table("Snapshots", rows)
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
