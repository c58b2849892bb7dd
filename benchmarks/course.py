"""A course in the soak: forty look at one run, ten run models of their own, again and again.

python -m benchmarks.course URL SECONDS OUT.json
"""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.browsing import endless
from benchmarks.visiting import LiveView, Visitor, arrive

VIEWERS, VISITORS = 40, 10
REFRESH_SECONDS = 0.21
"""Between two questions of a live view, as in assets/live/view.js."""
ITERATIONS = 3000
"""Of a visitor's run: a second or two of one core."""
ENDLESS = 10_000_000
BESIDE = ("data", "snapshots", "studies", "compare", "")
"""Pages that visitors look at between two runs."""
OVER = {"finished", "stopped", "failed", "interrupted", "paused"}
SEEDS = itertools.count(1)


@dataclass
class Record:
    """What was measured, and everything that went wrong."""

    answers: list[float] = field(default_factory=list)
    """Seconds of every answer to a viewer."""
    errors: list[str] = field(default_factory=list)
    work: list[int] = field(default_factory=list)
    """Iterations of each visitor's runs."""
    runs: list[int] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    """Seconds that a visitor's run stood in line."""
    lengths: list[float] = field(default_factory=list)
    """Seconds from its start to its end."""


async def start_run(visitor: Visitor, iterations: int) -> str:
    """Paste a model on the Workbench, which acts on it at once; the id of the run."""
    await visitor.open("workbench")
    before = visitor.run
    model = dataclasses.replace(endless(iterations), seed=next(SEEDS))  # the model on show would change nothing
    await visitor.write("text_area", "semf_paste", json.dumps(model.to_dict()))
    await visitor.press("paste.use")
    if visitor.run in ("", before):
        raise RuntimeError(f"no run was started: {visitor.complaints() + visitor.warnings()}")
    return visitor.run


async def look(url: str, run_id: str, until: float, record: Record) -> None:
    """A viewer, as long as the soak lasts."""
    async with arrive(url) as visitor:
        cookies = visitor.cookies
    view = LiveView(url, run_id, cookies)
    while time.monotonic() < until:
        began = time.monotonic()
        try:
            reply = await view.ask()
            if reply["state"] in OVER:
                raise RuntimeError(f"the run that all look at is {reply['state']}: {reply['words']}")
        except Exception as problem:
            record.errors.append(f"viewer: {problem!r}"[:200])
            view.close()
            await asyncio.sleep(1)
        await asyncio.sleep(max(0.02, REFRESH_SECONDS - (time.monotonic() - began)))
    record.answers += view.seconds
    view.close()


async def work(url: str, number: int, until: float, record: Record) -> None:
    """A visitor with runs of his own."""
    record.work.append(0)
    record.runs.append(0)
    while time.monotonic() < until:
        try:
            async with arrive(url) as visitor:
                while time.monotonic() < until:
                    await one_run(url, visitor, number, until, record)
        except Exception as problem:
            record.errors.append(f"visitor {number}: {problem!r}"[:300])
            await asyncio.sleep(1)


async def one_run(url: str, visitor: Visitor, number: int, until: float, record: Record) -> None:
    """Start it, follow it, delete it, look at another page."""
    run_id = await start_run(visitor, ITERATIONS)
    began, waited = time.monotonic(), 0.0
    view = LiveView(url, run_id, visitor.cookies)
    done, reply = 0, await view.ask()
    while reply["state"] not in OVER and time.monotonic() < until:
        await asyncio.sleep(REFRESH_SECONDS)
        waited = time.monotonic() - began if reply["state"] == "queued" else waited
        reply = await view.ask()
        record.work[number] += max(0, reply["since"] - done)
        done = max(done, reply["since"])
    view.close()
    record.waits.append(waited)
    if reply["state"] == "finished":
        record.work[number] += ITERATIONS - done
        record.runs[number] += 1
        record.lengths.append(time.monotonic() - began)
    elif reply["state"] in OVER:
        record.errors.append(f"visitor {number}: {reply['words']}")
    await visitor.open("workbench", f"run={run_id}")
    await visitor.press("run-delete")
    await visitor.open(BESIDE[record.runs[number] % len(BESIDE)])
    record.errors += [f"visitor {number}: {text}" for text in visitor.complaints()]


async def course(url: str, seconds: float) -> dict[str, Any]:
    record, until = Record(), time.monotonic() + seconds
    async with arrive(url) as lecturer:
        shown = await start_run(lecturer, ENDLESS)
        viewers = [look(url, shown, until, record) for _ in range(VIEWERS)]
        await asyncio.gather(*viewers, *(work(url, number, until, record) for number in range(VISITORS)))
    return dataclasses.asdict(record)


def main(url: str, seconds: str, out: str) -> None:
    Path(out).write_text(json.dumps(asyncio.run(course(url, float(seconds)))), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
