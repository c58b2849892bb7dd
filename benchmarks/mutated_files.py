"""Mutated files of every kind that a visitor may bring, read as the dashboard reads them: none breaks it, none costs much.

`python -m benchmarks.mutated_files [--count 50000] [--seed 0]`
"""

from __future__ import annotations

import io
import random
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.common import Row, at_most, parser, print_table
from benchmarks.hostile_uploads import hostile_upload
from benchmarks.intake import take_model, take_snapshot, take_some, take_study, take_upload
from benchmarks.mutations import Members, change_json, damaged, mutated
from semf_core.common.server_limits import server_limits
from semf_core.datasets import Reading
from semf_core.model import preset, preset_names
from semf_core.runs.folder import RunFolder
from semf_core.sandbox import Outcome, Pool
from semf_core.snapshots.archive import MANIFEST, packed
from semf_core.snapshots.from_run import Story, from_run
from semf_core.snapshots.label import Label
from semf_core.snapshots.recording import record
from semf_core.studies import Finished, Study, StudyStore
from semf_core.studies.study_file import export_study
from tests.runs.common import tiny

COUNT, QUICK = 50_000, 500
MOST_MB, MOST_SECONDS = 1024, 10
TOGETHER = 20
"""Files that one process reads: most of the time would go into starting it."""
KEPT = 10
"""Failures that are told one by one."""


# -- the files ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Order:
    """A file, and how it is taken."""

    take: Callable[..., None]
    name: str
    content: bytes
    more: dict[str, Any] = field(default_factory=dict)


def _snapshot_members(place: Path) -> Members:
    spec, folder = tiny(40), RunFolder(place / "run")
    folder.path.mkdir()
    record(spec, folder)
    return from_run(folder, spec.dataset.load(), Label("A run"), Story(1.7e9), include_data=True).members()


def _study_members(place: Path) -> Members:
    axes = [{"name": "seed", "path": "seed", "values": list(range(6))}]
    study = Study.from_dict({"title": "A study", "base": tiny(5).to_dict(), "axes": axes, "measures": ["relative_error"]})
    store = StudyStore.create(study, place / "study")
    store.record([Finished(k, {"relative_error": 0.1 * k}, 0.5) for k in range(4)])
    with zipfile.ZipFile(io.BytesIO(export_study(store))) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name != MANIFEST}


def _mutated_study(members: Members, rng: random.Random) -> bytes:
    """Another value in the study or in a line of its results, other bytes, or a damaged file."""
    changed = dict(members)
    if rng.random() < 0.5:
        change_json(changed, "study.json", rng)
    if rng.random() < 0.6:
        name = rng.choice(("cells.jsonl", "kept.jsonl"))
        lines = changed[name].splitlines() or [b'{"cell": 0, "content": "AAAA"}']
        at = rng.randrange(len(lines))
        line = {"line": lines[at]}
        change_json(line, "line", rng)
        changed[name] = b"\n".join([*lines[:at], line["line"], *lines[at + 1 :]])
    data = packed(changed)
    return damaged(data, rng) if rng.random() < 0.2 else data


def orders(count: int, seed: int, place: Path) -> Iterator[Order]:
    """Six uploads in ten files, two snapshots, a study and a model."""
    snapshot, study = _snapshot_members(place), _study_members(place)
    models = [preset(name).to_json().encode() for name in preset_names()]
    for number in range(seed, seed + count):
        rng = random.Random(number)
        kind = number % 10
        if kind < 6:
            name, content = hostile_upload(number)
            how = Reading(orientation=rng.choice(("columns", "rows")), scaling=rng.choice(("none", "unit", "max")))
            yield Order(take_upload, name, content, {"reading": how.to_dict()})
        elif kind < 8:
            yield Order(take_snapshot, "run.semf", mutated(snapshot, number))
        elif kind == 8:
            yield Order(take_study, "a.semf-study", _mutated_study(study, rng))
        else:
            members = {"model.json": rng.choice(models)}
            for _ in range(rng.choice((1, 2, 4))):
                change_json(members, "model.json", rng)
            yield Order(take_model, "model.json", members["model.json"])


# -- what becomes of them -----------------------------------------------------------------------


@dataclass
class Tally:
    """What the files have cost, and what went wrong."""

    outcomes: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)
    most_mb: tuple[float, str] = (0.0, "")
    most_seconds: tuple[float, str] = (0.0, "")

    def add(self, number: int, order: Order, outcome: Outcome) -> None:
        label = f"{order.name}, seed {number}"
        self.outcomes[outcome.kind] += 1
        self.most_mb = max(self.most_mb, (outcome.peak_mb, label))
        self.most_seconds = max(self.most_seconds, (outcome.seconds, label))
        if outcome.kind in {"failed", "crashed"}:
            last = str(outcome.value or "").strip().splitlines()[-1:]
            self.broken.append(f"{label}: {' '.join(last) or outcome.kind}")

    def rows(self) -> list[Row]:
        taken = ", ".join(f"{kind} {count:,}" for kind, count in self.outcomes.most_common())
        return [
            at_most("files that broke their reader", len(self.broken), 0, form="{:.0f}", note="; ".join(self.broken[:KEPT])),
            at_most("most memory for one, MB", self.most_mb[0], MOST_MB, form="{:.0f}", note=self.most_mb[1]),
            at_most(
                "most processor time for one, s", self.most_seconds[0], MOST_SECONDS, form="{:.2f}", note=self.most_seconds[1]
            ),
            Row("what became of them", taken),
        ]


def run(count: int, seed: int = 0) -> Tally:
    """Read that many files."""
    tally, pool = Tally(), Pool(["benchmarks.intake"])
    with tempfile.TemporaryDirectory(prefix="semf-") as place:
        try:
            for some in batched(enumerate(orders(count, seed, Path(place)), seed)):
                for (number, order), outcome in zip(some, outcomes(pool, [order for _, order in some], Path(place)), strict=True):
                    tally.add(number, order, outcome)
        finally:
            pool.close()
    return tally


def batched(numbered: Iterator[tuple[int, Order]]) -> Iterator[list[tuple[int, Order]]]:
    while some := list(islice(numbered, TOGETHER)):
        yield some


def outcomes(pool: Pool, some: list[Order], place: Path) -> list[Outcome]:
    """What becomes of some files, read in one process under the limits of one; what breaks a limit there is read alone."""
    limits, asked = server_limits(), []
    for k, order in enumerate(some):
        file = place / f"file-{k}"
        file.write_bytes(order.content)
        asked.append((order.take.__name__, {"name": order.name, "path": str(file), "place": str(place), **order.more}))
    whole = pool.outcome(take_some, {"orders": asked}, limits.read_mb, limits.read_seconds)
    if whole.kind != "value":
        return [whole] if len(some) == 1 else [one for order in some for one in outcomes(pool, [order], place)]
    ended = [Outcome(*each) for each in whole.value]
    if len(some) > 1:
        ended = [
            one if one.kind != "memory" else outcomes(pool, [order], place)[0] for one, order in zip(ended, some, strict=True)
        ]
    return ended


def main(argv: list[str] | None = None) -> None:
    options = parser(__doc__)
    options.add_argument("--count", type=int, help=f"how many ({COUNT:,}; {QUICK} with --quick)")
    options.add_argument("--seed", type=int, default=0, help="number of the first")
    chosen = options.parse_args(argv)
    count = chosen.count or (QUICK if chosen.quick else COUNT)
    tally = run(count, chosen.seed)
    print_table(f"{count:,} mutated files", tally.rows(), "Uploads, snapshots, studies and models, in the limited child.")


if __name__ == "__main__":
    main(sys.argv[1:])
