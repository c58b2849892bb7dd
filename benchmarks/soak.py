"""Ten browsers, each with a run of its own, for a while: `python -m benchmarks.soak [--minutes 10]`."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.browsing import LIVE, REFRESHES, Studio, Visitor, endless, studio
from benchmarks.common import Row, at_most, parser, print_table
from semf_core.runs.folder import RunFolder
from semf_core.service import RunHandle
from tests.browser.conftest import make_run

SESSIONS = 10
WARM_MINUTES = 2.0
SHARE = 0.3
"""Of a short soak, how much counts as warm-up."""
ALIVE = ("Running", "Paused", "Waiting", "Queued")


def memory_mb(process: int) -> float:
    """Resident memory of a process."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("the server has gone")


def arrive(made: Studio) -> tuple[RunHandle, Visitor]:
    """One more browser, with a run that does not end by itself."""
    run = make_run(made.server.home, endless())
    visitor = made.visitor(f"/run?run={run.id}&key={run.key}")
    visitor.page.wait_for_selector(LIVE)
    visitor.press("Resume")
    return run, visitor


def stroll(visitor: Visitor, run: RunHandle, turn: int) -> None:
    """What a visitor does from time to time: look back, leave for another page and return, reload, pause and play."""
    page = visitor.page
    action = turn % 4
    if action == 0:
        slide = "e => { e.value = e.max / 2; e.dispatchEvent(new Event('input')); }"
        page.locator(".semf-scrubber input[type=range]").evaluate(slide)
        page.locator(".semf-follow input").check()
    elif action == 1:
        page.get_by_role("link", name="Model").first.click()
        page.wait_for_url("**/model*")
        page.get_by_role("link", name="Run").first.click()
        page.wait_for_url("**/run?run=*")
    elif action == 2:
        page.reload()
    elif page.locator("button:enabled", has_text="Pause").count():
        visitor.press("Pause")
        visitor.state_is("Paused")
        visitor.press("Play")
    page.wait_for_selector(LIVE)


def soak(
    made: Studio, present: Sequence[tuple[RunHandle, Visitor]], minutes: float
) -> tuple[list[tuple[float, float]], list[str]]:
    """Let all of them stroll until the time is over; (minute, memory) again and again, and what went wrong."""
    assert made.server.process is not None
    began, memory, wrong = time.monotonic(), [], []
    for turn, (run, visitor) in zip(itertools.count(), itertools.cycle(present)):
        minute = (time.monotonic() - began) / 60
        if minute > minutes:
            return memory, wrong
        try:
            stroll(visitor, run, turn // len(present) + turn)
        except Exception as problem:
            wrong.append(f"minute {minute:.1f}: {str(problem).splitlines()[0]}")
        wrong += [f"minute {minute:.1f}: {text}" for text in visitor.complaints()]
        visitor.page.wait_for_timeout(1000)
        memory.append((minute, memory_mb(made.server.process.pid)))
    raise AssertionError("a cycle has no end")


def lost(made: Studio, present: Sequence[tuple[RunHandle, Visitor]], counts: Sequence[int]) -> list[str]:
    """Runs that are in no state to go on, or have not gone on since they began."""
    found = []
    for (run, visitor), before in zip(present, counts, strict=True):
        state = visitor.page.locator(".semf-state").inner_text()
        if not state.startswith(ALIVE) or iterations(made, run) <= before:
            found.append(state)
    return found


def iterations(made: Studio, run: RunHandle) -> int:
    return RunFolder(made.server.home / "runs" / run.id).row_count()


def growth_row(memory: Sequence[tuple[float, float]], minutes: float) -> Row:
    """Median memory of the last tenth beside that just after the warm-up."""
    warm = min(WARM_MINUTES, SHARE * minutes)
    early = sorted(mb for minute, mb in memory if warm <= minute <= warm + 0.1 * minutes) or [memory[0][1]]
    late = sorted(mb for minute, mb in memory if minute >= 0.9 * minutes) or [memory[-1][1]]
    first, last = early[len(early) // 2], late[len(late) // 2]
    note = f"{memory[0][1]:.0f} MB at first, {first:.0f} MB after {warm:.1f} minutes, {last:.0f} MB at the end"
    return at_most("growth of the server's memory after the warm-up, %", 100 * (last / first - 1), 10, form="{:.1f}", note=note)


def main(argv: list[str] | None = None) -> None:
    options = parser(__doc__)
    options.add_argument("--minutes", type=float, help="how long (10; 2 with --quick)")
    chosen = options.parse_args(argv)
    minutes = chosen.minutes or (2.0 if chosen.quick else 10.0)
    with studio() as made:
        present = [arrive(made) for _ in range(SESSIONS)]
        counts = [iterations(made, run) for run, _ in present]
        memory, wrong = soak(made, present, minutes)
        refreshes = [visitor.page.evaluate(REFRESHES) for _, visitor in present]
        gone = lost(made, present, counts)
        done = [iterations(made, run) for run, _ in present]
        failures = [problem for _, visitor in present for problem in visitor.problems]
    rows = [
        at_most("errors on pages", len(wrong), 0, form="{:.0f}", note="; ".join(wrong)[:200]),
        at_most(
            "failed requests and script errors", len(failures), 0, form="{:.0f}", note="; ".join(sorted(set(failures)))[:200]
        ),
        at_most("lost runs", len(gone), 0, form="{:.0f}", note="; ".join(gone)[:200]),
        growth_row(memory, minutes),
        Row("iterations of the runs", f"{min(done)} to {max(done)}", note="two run at a time, the others wait their turn"),
        Row("refreshes of the pages since they were last opened", f"{min(refreshes)} to {max(refreshes)}"),
    ]
    print_table(f"Soak: {SESSIONS} browsers, {minutes:g} minutes", rows, f"{len(memory)} visits.")


if __name__ == "__main__":
    main(sys.argv[1:])
