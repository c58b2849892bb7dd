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
ITERATIONS = 20_000
"""Of one run, some 15 s of one core: then it is the turn of another, and its visitor starts it again."""
ALIVE = ("Running", "Ready", "Paused", "Queued", "Finished")
Present = Sequence[tuple[RunHandle, Visitor]]


def memory_mb(process: int) -> float:
    """Resident memory of a process."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("the server has gone")


def arrive(made: Studio) -> tuple[RunHandle, Visitor]:
    """One more browser, with a run of its own."""
    run = make_run(made.server.home, endless(ITERATIONS))
    visitor = made.visitor(f"/run?run={run.id}&key={run.key}")
    visitor.page.wait_for_selector(LIVE)
    visitor.press("Resume")
    return run, visitor


def stroll(visitor: Visitor, turn: int) -> None:
    """What a visitor does from time to time: look back, go to another page and return, reload, pause and play, start again."""
    page = visitor.page
    if page.locator(".semf-state").inner_text().startswith("Finished"):
        visitor.press("Reset")
        visitor.state_is("Ready")
        visitor.press("Play")
    elif turn % 4 == 0:
        slide = "e => { e.value = e.max / 2; e.dispatchEvent(new Event('input')); }"
        page.locator(".semf-scrubber input[type=range]").evaluate(slide)
        page.locator(".semf-follow input").check()
    elif turn % 4 == 1:
        page.get_by_role("link", name="Model").first.click()
        page.wait_for_url("**/model*")
        page.get_by_role("link", name="Run").first.click()
        page.wait_for_url("**/run?run=*")
    elif turn % 4 == 2:
        page.reload()
    elif page.get_by_role("button", name="Pause", exact=True, disabled=False).count():
        visitor.press("Pause")
        visitor.state_is("Paused")
        visitor.press("Play")
    page.wait_for_selector(LIVE)


def soak(
    made: Studio, present: Sequence[tuple[RunHandle, Visitor]], minutes: float
) -> tuple[list[tuple[float, float]], list[str]]:
    """Let all of them stroll until the time is over; (minute, memory) again and again, and what went wrong."""
    assert made.server.process is not None
    memory: list[tuple[float, float]] = []
    wrong: list[str] = []
    began = time.monotonic()
    for turn, (_, visitor) in enumerate(itertools.cycle(present)):
        minute = (time.monotonic() - began) / 60
        if minute > minutes:
            return memory, wrong
        try:
            stroll(visitor, turn // len(present) + turn)
        except Exception as problem:
            wrong.append(f"minute {minute:.1f}: {str(problem).splitlines()[0]}")
        wrong += [f"minute {minute:.1f}: {text}" for text in visitor.complaints()]
        visitor.page.wait_for_timeout(1000)
        memory.append((minute, memory_mb(made.server.process.pid)))
    raise AssertionError("a cycle has no end")


def lost(present: Present) -> list[str]:
    """What is said of runs that are in no state to go on."""
    said = [visitor.page.locator(".semf-state").inner_text() for _, visitor in present]
    return [text for text in said if not text.startswith(ALIVE)]


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
        memory, wrong = soak(made, present, minutes)
        refreshes = [visitor.page.evaluate(REFRESHES) for _, visitor in present]
        gone = lost(present)
        done = [iterations(made, run) for run, _ in present]
        failures = [problem for _, visitor in present for problem in visitor.problems]
    rows = [
        at_most("errors on pages", len(wrong), 0, form="{:.0f}", note="; ".join(wrong)[:200]),
        at_most(
            "failed requests and script errors", len(failures), 0, form="{:.0f}", note="; ".join(sorted(set(failures)))[:200]
        ),
        at_most("lost runs", len(gone), 0, form="{:.0f}", note="; ".join(gone)[:200]),
        growth_row(memory, minutes),
        Row("iterations of the runs", f"{min(done)} to {max(done)}", note="since each was last started; two run at a time"),
        Row("refreshes of the pages since they were last opened", f"{min(refreshes)} to {max(refreshes)}"),
    ]
    print_table(f"Soak: {SESSIONS} browsers, {minutes:g} minutes", rows, f"{len(memory)} visits.")


if __name__ == "__main__":
    main(sys.argv[1:])
