"""A course and somebody who abuses the server, for a while: `python -m benchmarks.soak [--minutes 10]`.

Forty viewers look at one run, ten visitors run models of their own, two real browsers stroll, and one visitor does all
that once took the server down, in a loop. Everything is on this computer, and ends with the time given.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.common import REPOSITORY, Row, at_least, at_most, parser, print_table
from benchmarks.course import VIEWERS, VISITORS
from tests.browser.conftest import Server

WARM_MINUTES = 3.0
"""A page that is closed is kept for two minutes, and the abuser's first round takes about one: before, memory can only grow."""
SHARE = 0.3
"""Of a short soak, how much counts as warm-up."""
STORE_MB = 600
SETTINGS = {"SEMF_PUBLIC": "1", "SEMF_MAX_STORE_MB": str(STORE_MB), "SEMF_MAX_RUN_MINUTES": "60"}
"""A run that all look at goes on as long as the soak does; all else is as for strangers."""
BESIDE_MB = 250
"""What lies beside the store: files that are kept to be downloaded again, the journal, logs."""
GRACE_SECONDS = 240
PARTS = ("course", "abuse", "strolling")


@dataclass(frozen=True)
class Sample:
    """The server at one moment."""

    minute: float
    memory_mb: float
    family_mb: float
    """With its workers and children."""
    disk_mb: float


def resident_mb(process: int) -> float:
    """Resident memory of a process; 0 if it has just gone."""
    try:
        text = Path(f"/proc/{process}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in text.splitlines() if line.startswith("VmRSS")), 0.0)


def family(process: int) -> list[int]:
    """A process and all that descend from it."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
            parents.setdefault(parent, []).append(int(path.name))
    found, waiting = [], [process]
    while waiting:
        found.append(waiting.pop())
        waiting += parents.get(found[-1], [])
    return found


def disk_mb(folder: Path) -> float:
    """What all files below a folder take on the disk; one that only reserves room takes none."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += 512 * os.lstat(os.path.join(place, name)).st_blocks
            except FileNotFoundError:
                continue
    return total / 2**20


def watch(server: Server, parts: Sequence[subprocess.Popen[bytes]], seconds: float) -> list[Sample]:
    """Look at the server every two seconds, until all parts have ended; those that do not are ended."""
    assert server.process is not None
    samples: list[Sample] = []
    began = time.monotonic()
    while any(part.poll() is None for part in parts):
        spent = time.monotonic() - began
        if spent > seconds + GRACE_SECONDS:
            for part in parts:
                part.kill()
        if server.process.poll() is not None:
            raise SystemExit("the server has gone")
        if any(part.poll() for part in parts):
            raise SystemExit("one of the parts has failed")
        memory = resident_mb(server.process.pid)
        everything = sum(map(resident_mb, family(server.process.pid)))
        if spent <= seconds:
            samples.append(Sample(spent / 60, memory, everything, disk_mb(server.home)))
        time.sleep(2)
    return samples


def quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else float("nan")


def jain(values: Sequence[float]) -> float:
    """Jain's index of fairness: 1 if all have the same, 1/n if one has all."""
    squares = sum(v * v for v in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 0.0


def growth_row(samples: Sequence[Sample], minutes: float) -> Row:
    """Median memory of the last tenth beside that just after the warm-up."""
    warm = min(WARM_MINUTES, SHARE * minutes)
    early = [s.memory_mb for s in samples if warm <= s.minute <= warm + 0.1 * minutes] or [samples[0].memory_mb]
    late = [s.memory_mb for s in samples if s.minute >= 0.9 * minutes] or [samples[-1].memory_mb]
    first, last = quantile(early, 0.5), quantile(late, 0.5)
    note = f"{samples[0].memory_mb:.0f} MB at first, {first:.0f} MB after {warm:.1f} minutes, {last:.0f} MB at the end"
    return at_most("growth of the server's memory after the warm-up, %", 100 * (last / first - 1), 10, form="{:.1f}", note=note)


def tracebacks(folder: Path) -> dict[str, list[str]]:
    """What the server itself could not handle: for each last line, the tracebacks that end with it."""
    text = "".join(file.read_text(errors="replace") for file in folder.glob("server-*.log"))
    found: dict[str, list[str]] = {}
    for block in text.split("Traceback (most recent call last)")[1:]:
        frames, last = [], ""
        for line in block.splitlines()[1:]:
            if line[:1].strip():
                last = line
                break
            frames.append(line)
        found.setdefault(last, []).append("\n".join(frames))
    return found


def rows(told: dict[str, dict[str, Any]], samples: Sequence[Sample], minutes: float) -> list[Row]:
    course, abuse, browsers = (told[part] for part in PARTS)
    answers, errors = course["answers"], course["errors"]
    shown = "; ".join(f"{count} × {text}" for text, count in Counter(errors).most_common(3))[:300]
    seen = "; ".join(f"{count} × {text}" for text, count in Counter(browsers["errors"]).most_common(3))[:300]
    rounds = min((abuse["done"].get(step, 0) for step in abuse["said"]), default=0)
    answered = f"{len(answers)} answers, median {quantile(answers, 0.5):.3f} s, longest {max(answers, default=0):.2f} s"
    waited = f"a run takes {quantile(course['lengths'], 0.5):.1f} s (median, with its wait)"
    return [
        at_most("errors on pages of others", len(errors), 0, form="{:.0f}", note=shown),
        at_most("errors in real browsers", len(browsers["errors"]), 0, form="{:.0f}", note=seen),
        at_most("p95 of live answers, s", quantile(answers, 0.95), 1.0, note=answered),
        at_most("the server's memory, MB", max(s.memory_mb for s in samples), 1000, form="{:.0f}"),
        growth_row(samples, minutes),
        at_most("disk, MB", max(s.disk_mb for s in samples), STORE_MB + BESIDE_MB, form="{:.0f}", note=f"store: {STORE_MB}"),
        at_least("Jain's index of the visitors' iterations", jain(course["work"]), 0.9, note=f"runs of each: {course['runs']}"),
        Row("longest wait of a visitor's run, s", f"{max(course['waits'], default=0):.1f}", note=waited),
        Row("memory with workers and children, MB", f"{max(s.family_mb for s in samples):.0f}"),
        Row("visits of real browsers", str(browsers["visits"])),
        at_least("whole rounds of abuse", rounds, 1, form="{:.0f}", note=str(abuse["done"])),
    ]


def soak(minutes: float, folder: Path) -> tuple[dict[str, dict[str, Any]], list[Sample]]:
    """Start the server and all parts; what each has to tell."""
    server = Server(folder / "home", SETTINGS).start()
    parts: list[subprocess.Popen[bytes]] = []
    try:
        for name in PARTS:
            command = [sys.executable, "-m", f"benchmarks.{name}", server.url, str(60 * minutes), str(folder / f"{name}.json")]
            parts.append(subprocess.Popen(command, cwd=REPOSITORY))
        samples = watch(server, parts, 60 * minutes)
    finally:
        for part in parts:
            if part.poll() is None:
                part.kill()
        assert server.process is not None
        descendants = family(server.process.pid)[1:]  # the process of the studies would outlive the server
        server.stop()
        for process in descendants:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGTERM)
    told = {}
    for name in PARTS:
        file = folder / f"{name}.json"
        if not file.exists():
            raise SystemExit(f"{name} came to no end")
        told[name] = json.loads(file.read_text(encoding="utf-8"))
    return told, samples


def main(argv: list[str] | None = None) -> None:
    options = parser(__doc__)
    options.add_argument("--minutes", type=float, help="how long (10; 2 with --quick)")
    chosen = options.parse_args(argv)
    minutes = chosen.minutes or (2.0 if chosen.quick else 10.0)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    with tempfile.TemporaryDirectory(prefix="semf-soak-") as folder:
        told, samples = soak(minutes, Path(folder))
        failures = tracebacks(Path(folder))
    shown = "; ".join(f"{len(blocks)} × {line}" for line, blocks in failures.items())[:300]
    total = sum(map(len, failures.values()))
    found = [*rows(told, samples, minutes), at_most("tracebacks in the server's log", total, 0, form="{:.0f}", note=shown)]
    title = f"Soak: {VIEWERS} viewers, {VISITORS} visitors, two browsers and an abuser, {minutes:g} minutes"
    print_table(title, found)
    print("\nWhat the abuser was told last:", *(f"- {step}: {said}" for step, said in told["abuse"]["said"].items()), sep="\n")
    for line, blocks in failures.items():
        print(f"\n{len(blocks)} × {line}, for instance at\n{blocks[-1]}")
    if any(row.met is False for row in found):
        raise SystemExit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
