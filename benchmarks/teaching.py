"""Teaching: how soon a stage of a lesson is there, and a lecturer whom forty follow.

    python -m benchmarks.teaching [--quick]

The followers are a process of their own that speaks what assets/live/follow.js speaks; the lecturer is real Chromium.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from statistics import median
from typing import Any

import httpx

from benchmarks.browsing import LIVE, REFRESHES, Studio, Visitor, endless, studio
from benchmarks.common import REPOSITORY, Row, at_least, at_most, parser, print_table
from benchmarks.visiting import LiveView
from tests.browser.conftest import make_run

FOLLOWERS = 40
EVERY_SECONDS = 0.4
"""Between two questions of a follower's live view, as in assets/live/follow.js."""
LESSON = "/learn?lesson=structure"
WATCH = """
window.semfLesson = { readable: null, moving: null, curves: null, pressed: null, title: null, picture: null };
(() => {
  const seen = window.semfLesson;
  let first = null;
  let before = "";
  document.addEventListener("keydown", () => Object.assign(seen, { pressed: performance.now(), title: null }), true);
  document.addEventListener("click", () => Object.assign(seen, { pressed: performance.now(), picture: null }), true);
  const look = () => {
    const now = performance.now();
    const words = document.querySelector(".st-key-lesson-words .stMarkdown p")?.textContent;
    const image = document.querySelector(".semf-basis img")?.naturalWidth;
    const iteration = document.querySelector(".semf-iteration")?.textContent;
    if (words) seen.readable ??= now;
    if (document.querySelector(".semf-plot .js-line")?.getAttribute("d")) seen.curves ??= now;
    if (words && words !== before) {
      before = words;
      if (seen.pressed) seen.title ??= now;
    }
    if (image && iteration) {
      first ??= iteration;
      if (iteration !== first) seen.moving ??= now;
      if (seen.pressed) seen.picture ??= now;
    }
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})();
"""
"""Runs in a page that is measured: looks at every frame that the browser draws."""


def noted(visitor: Visitor, name: str) -> float:
    """Seconds at which the page's own watch has seen something."""
    visitor.page.wait_for_function("n => window.semfLesson[n] !== null", arg=name)
    return float(visitor.page.evaluate("n => window.semfLesson[n]", name)) / 1000


# -- stages --------------------------------------------------------------------------------------


def stage_rows(made: Studio, repeats: int) -> list[Row]:
    """A lesson opened by its link with nothing in the browser's cache; then the next stage, and the answer to its question."""
    visit_stages(made)  # the runs of the lesson are stored by then
    found = [visit_stages(made) for _ in range(repeats)]
    readable, moving, curves, following, shown = (sorted(column) for column in zip(*found, strict=True))
    note = f"median of {repeats}, best {{:.2f}}"
    first = (
        note.format(moving[0]) + f"; its words are there after {median(readable):.2f} s, its curves after {median(curves):.2f} s"
    )
    return [
        at_most("lesson opened → first stage readable and moving, s", median(moving), 2.0, form="{:.2f}", note=first),
        at_most("Next pressed → next stage, s", median(following), 1.0, form="{:.2f}", note=note.format(following[0])),
        at_most("question answered → run on show, s", median(shown), 1.0, form="{:.2f}", note=note.format(shown[0])),
    ]


def visit_stages(made: Studio) -> tuple[float, ...]:
    visitor = made.visitor(LESSON, script=WATCH)
    first = [noted(visitor, name) for name in ("readable", "moving", "curves")]
    visitor.page.wait_for_selector(LIVE)
    visitor.page.wait_for_timeout(1500)
    visitor.page.keyboard.press("n")
    following = noted(visitor, "title") - noted(visitor, "pressed")
    choice = visitor.page.locator(".st-key-lesson-question button").first
    choice.wait_for()
    visitor.page.wait_for_timeout(800)
    choice.click()
    shown = noted(visitor, "picture") - noted(visitor, "pressed")
    visitor.close()
    return *first, following, shown


# -- followers -----------------------------------------------------------------------------------


def follow_rows(made: Studio, seconds: float) -> list[Row]:
    """A running model that a lecturer presents, alone and with forty followers."""
    run = make_run(made.server.home, endless())
    lecturer = made.visitor(f"/workbench?run={run.id}#key={run.key}")
    page = lecturer.page
    page.wait_for_selector(LIVE)
    lecturer.press("Resume")
    lecturer.state_is("Running")
    page.keyboard.press("q")
    page.wait_for_selector(".semf-code")
    page.keyboard.press("Escape")
    alone = pace(lecturer, seconds / 4)
    session = page.evaluate("JSON.parse(sessionStorage.getItem('semf-presentation'))")
    command = [sys.executable, "-m", "benchmarks.teaching", "--follow", made.server.url, session["id"], run.id, str(seconds)]
    class_ = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE)
    assert class_.stdout is not None
    class_.stdout.readline()  # all have arrived
    began, first, changes = time.time(), page.evaluate(REFRESHES), []
    for component in range(int(seconds // 2) - 1):
        changes.append(time.time())
        page.evaluate("c => document.querySelector('.semf-live').view.pictures.pin(c)", component)
        page.wait_for_timeout(2000)
    refreshes = (page.evaluate(REFRESHES) - first) / (time.time() - began)
    told = json.loads(class_.communicate(timeout=120)[0])
    failures = [*lecturer.problems, *lecturer.complaints(), *told["errors"]]
    lecturer.press("Stop")
    lecturer.close()
    heard = sorted(when - changes[c] for c, when in told["heard"] if c < len(changes))
    answers = sorted(told["answers"])
    without = f"{alone:.3g} without followers"
    everybody = f"{len(heard)} of {FOLLOWERS * len(changes)} heard, median {median(heard):.2f} s"
    return [
        at_least(f"refreshes a second of the lecturer, {FOLLOWERS} followers", refreshes, 4.0, note=without),
        at_most("a component chosen → followers know, p95, s", heard[int(0.95 * len(heard))], 1.0, form="{:.2f}", note=everybody),
        at_most("p95 of live answers to followers, s", answers[int(0.95 * len(answers))], 1.0, form="{:.2f}",
                note=f"{len(answers) / seconds:.0f} a second, median {median(answers):.3f} s"),
        at_most("errors", len(failures), 0, form="{:.0f}", note="; ".join(failures)[:120]),
    ]  # fmt: skip


def pace(visitor: Visitor, seconds: float) -> float:
    first, began = visitor.page.evaluate(REFRESHES), time.perf_counter()
    visitor.page.wait_for_timeout(1000 * seconds)
    return (visitor.page.evaluate(REFRESHES) - first) / (time.perf_counter() - began)


async def follow(url: str, presentation: str, run: str, seconds: float) -> dict[str, Any]:
    """Forty who look at the run and wait for what the lecturer chooses."""
    told: dict[str, Any] = {"heard": [], "answers": [], "errors": []}
    async with asyncio.TaskGroup() as group, asyncio.timeout(seconds + 60):
        arrived = [group.create_task(_one(url, presentation, run, seconds, told)) for _ in range(FOLLOWERS)]
        await asyncio.sleep(2)
        assert not any(one.done() for one in arrived)
        print("here", flush=True)
    return told


async def _one(url: str, presentation: str, run: str, seconds: float, told: dict[str, Any]) -> None:
    async with httpx.AsyncClient(base_url=url, timeout=30) as client:
        await client.get("/_stcore/host-config")
        await client.get(f"/studio/follow/{presentation}")
        cookies = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
        view, end = LiveView(url, run, cookies), time.monotonic() + seconds + 2
        try:
            await asyncio.gather(_hear(client, presentation, end, told), _look(view, end, told))
        except Exception as error:  # one who cannot follow is a figure in the table
            told["errors"].append(f"{type(error).__name__}: {error}")
        finally:
            told["answers"] += view.seconds
            view.close()


async def _hear(client: httpx.AsyncClient, presentation: str, end: float, told: dict[str, Any]) -> None:
    revision, content, component = "", "", None
    while time.monotonic() < end:
        reply = (await client.get(f"/studio/presentations/{presentation}?revision={revision}")).raise_for_status()
        news = reply.json()
        if news["content"] != content:
            (await client.get(f"/studio/presentations/{presentation}/content")).raise_for_status()
        if revision != "" and news["component"] not in (None, component):
            told["heard"].append((news["component"], time.time()))
        revision, content, component = news["revision"], news["content"], news["component"]


async def _look(view: LiveView, end: float, told: dict[str, Any]) -> None:
    while time.monotonic() < end:
        began = time.monotonic()
        await view.ask()
        await asyncio.sleep(max(0.02, EVERY_SECONDS - (time.monotonic() - began)))


def main(argv: list[str] | None = None) -> None:
    arguments = sys.argv[1:] if argv is None else argv
    if arguments[:1] == ["--follow"]:
        url, presentation, run, seconds = arguments[1:]
        print(json.dumps(asyncio.run(follow(url, presentation, run, float(seconds)))))
        return
    quick = parser(__doc__).parse_args(arguments).quick
    with studio() as made:
        print_table("Teaching: stages of a lesson", stage_rows(made, 2 if quick else 5), f"{os.cpu_count()} cores for all.")
        print_table("Teaching: a lecturer and 40 followers", follow_rows(made, 12 if quick else 30))


if __name__ == "__main__":
    main()
