"""How quick, light and steady the dashboard is, seen from real Chromium: `python -m benchmarks.dashboard [--part PART]`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.browsing import DEMO, LIVE, REFRESHES, Studio, Visitor, endless, studio
from benchmarks.common import REPOSITORY, Row, at_least, at_most, parser, print_table
from benchmarks.teaching import follow_rows, stage_rows
from benchmarks.tuning import tuning_rows
from semf_core.runs.folder import RunFolder
from semf_core.service import RunHandle
from tests.browser.conftest import make_run

WATCH = """
window.semf = { frames: 0, dimmed: 0, missing: 0, moved: null, drawn: null, pressed: null, first: null };
(() => {
  const seen = window.semf;
  let start = null;
  const number = () => Number(document.querySelector(".semf-iteration")?.textContent.replace(/\\D/g, "") || 0);
  const points = () => document.querySelector(".semf-plot")?.data?.[1].x.length ?? 0;
  // What is drawn of the curves, by plotly.js and over its figure.
  const curve = (root) => {
    const paths = [...root.querySelectorAll(".semf-plot path.js-line, .semf-tail path")];
    return paths.map((path) => path.getAttribute("d") ?? "").join("");
  };
  const opacity = (node) => (node ? Number(getComputedStyle(node).opacity) * opacity(node.parentElement) : 1);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (/(Play|Run|Start again)$/.test(button?.ariaLabel ?? button?.innerText.trim())) {
      Object.assign(seen, { pressed: performance.now(), first: null });
    }
  }, true);
  const look = () => {
    const root = document.querySelector(".semf-live");
    if (root) {
      const now = performance.now();
      seen.frames += 1;
      seen.dimmed += opacity(root) < 0.99;
      seen.missing += [...root.querySelectorAll("img[src]")].some((i) => i.complete && !i.naturalWidth);
      const iteration = number();
      if (seen.moved === null) {
        const line = curve(root);
        if (line) start ??= line;
        if (start && line !== start) seen.moved = now;
      }
      if (root.dataset.drawn) seen.drawn ??= now;
      const fresh = seen.pressed && seen.first === null && !root.classList.contains("semf-compact");
      if (fresh && iteration && points()) seen.first = now;
    }
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})();
"""
"""Runs in a page that is measured: looks at every frame that the browser draws."""


def seen(visitor: Visitor, name: str) -> float:
    """A time (in seconds) or a number of frames that the page's own watch has noted."""
    visitor.page.wait_for_function("n => window.semf[n] !== null", arg=name)
    return float(visitor.page.evaluate("n => window.semf[n]", name))


# -- how quick -----------------------------------------------------------------------------------


def home_rows(made: Studio, repeats: int) -> list[Row]:
    """From opening Home, with nothing in the browser's cache, to a curve that has moved."""
    moved, drawn = [], []
    for _ in range(repeats):
        visitor = made.visitor(script=WATCH)
        moved.append(seen(visitor, "moved") / 1000)
        drawn.append(seen(visitor, "drawn") / 1000)
        visitor.close()
    note = f"median of {repeats}, best {min(moved):.2f}; all of the chart is there after {median(drawn):.2f} s"
    return [at_most("Home opened → first moving curve, s", median(moved), 2.0, form="{:.2f}", note=note)]


def play_rows(made: Studio, repeats: int) -> list[Row]:
    """From a click on Start again, and on a preset's card, to the first point of the curve."""
    card, play = [], []
    visitor = made.visitor(script=WATCH)
    for _ in range(repeats):
        visitor.page.goto(made.server.url)
        visitor.page.wait_for_selector(LIVE)
        visitor.page.wait_for_timeout(1000)
        visitor.page.locator(f".st-key-preset-{DEMO} button").first.click()
        card.append(pressed_to_first(visitor))
        visitor.state_is("Finished")
        visitor.page.wait_for_timeout(500)
        visitor.press("Start again")
        play.append(pressed_to_first(visitor))
    visitor.close()
    note = f"median of {repeats}, best {{:.2f}}"
    return [
        at_most("Start again pressed → first frame, s", median(play), 0.5, form="{:.2f}", note=note.format(min(play))),
        Row("card pressed on Home → first frame on the workbench, s", f"{median(card):.2f}", note=note.format(min(card))),
    ]


def pressed_to_first(visitor: Visitor) -> float:
    """Seconds from the last click on Play or Run to the first frame."""
    return (seen(visitor, "first") - seen(visitor, "pressed")) / 1000


# -- how light and steady ------------------------------------------------------------------------


def watched(made: Studio, run: RunHandle, script: str = "") -> Visitor:
    """The owner's page of a run."""
    visitor = made.visitor(f"/workbench?run={run.id}#key={run.key}", script)
    visitor.page.wait_for_selector(LIVE)
    return visitor


def live_rows(made: Studio, windows: int) -> list[Row]:
    """A running Swimmer with one viewer: pace, traffic, and whether the view stays as the user has it."""
    visitor = watched(made, make_run(made.server.home, endless(), pace=0), WATCH)
    visitor.press("Resume")
    visitor.state_is("Running")
    visitor.page.wait_for_function(f"{REFRESHES} > 10")
    before = dict(visitor.page.evaluate("window.semf"))
    paces, sizes = zip(*(pace(visitor, 4.0) for _ in range(windows)), strict=True)
    largest, socket = max(visitor.traffic.answers), visitor.traffic.socket
    rows = [
        at_least("refreshes a second, one viewer", median(paces), 4.0, note=f"median of {windows}, best {max(paces):.3g}"),
        at_most("kB a refresh", max(sizes), 30.0, note=f"everything received; largest answer {largest / 1e3:.1f} kB"),
        Row("Streamlit's own traffic since the page was opened, kB", f"{socket / 1e3:.1f}", note="websocket"),
        *kept_rows(visitor),
    ]
    after = visitor.page.evaluate("window.semf")
    frames = after["frames"] - before["frames"]
    for name, what in (("dimmed", "dimmed frames"), ("missing", "frames with a missing image")):
        rows.append(at_most(what, after[name] - before[name], 0, form="{:.0f}", note=f"of {frames}"))
    rows += rest_rows(visitor)
    failures = [*visitor.problems, *visitor.complaints()]
    rows.append(at_most("failed requests and script errors", len(failures), 0, form="{:.0f}", note="; ".join(failures)[:80]))
    visitor.close()
    return rows


def pace(visitor: Visitor, seconds: float) -> tuple[float, float]:
    """Refreshes a second, and kB for each of them."""
    first, bytes_before, began = visitor.page.evaluate(REFRESHES), visitor.traffic.received, time.perf_counter()
    visitor.page.wait_for_timeout(1000 * seconds)
    count = visitor.page.evaluate(REFRESHES) - first
    return count / (time.perf_counter() - began), (visitor.traffic.received - bytes_before) / 1e3 / max(count, 1)


def kept_rows(visitor: Visitor) -> list[Row]:
    """Zoom with the mouse, hide a curve, move the scrubber with the keyboard; then let the run go on for a while."""
    page = visitor.page
    area = page.locator(".semf-plot .nsewdrag").first.bounding_box()
    assert area is not None
    height = area["y"] + area["height"] / 2
    page.mouse.move(area["x"] + 0.2 * area["width"], height)
    page.mouse.down()
    page.mouse.move(area["x"] + 0.7 * area["width"], height, steps=5)
    page.mouse.up()
    page.locator(".semf-plot .legendtoggle").first.click()
    page.wait_for_function("document.querySelector('.semf-plot').data[0].visible === 'legendonly'")
    page.locator(".semf-scrubber input[type=range]").focus()
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    page.wait_for_timeout(1000)
    before, first = view_state(visitor), page.evaluate(REFRESHES)
    page.wait_for_function(f"n => {REFRESHES} > n + 20", arg=first)
    after = view_state(visitor)
    names = {"zoom": "zoom survives 20 refreshes", "hidden": "legend choice survives", "scrubber": "scrubber and cursor stay"}
    touched = {"zoom": not before["zoom"][0], "hidden": before["hidden"] == "legendonly", "scrubber": not before["scrubber"][0]}
    kept = {name: touched[name] and after[name] == before[name] for name in names}
    return [Row(what, "yes" if kept[name] else "no", "yes", kept[name]) for name, what in names.items()]


def view_state(visitor: Visitor) -> dict[str, Any]:
    """What the user has set, as plotly and the scrubber have it."""
    state: dict[str, Any] = visitor.page.evaluate(
        """() => {
          const plot = document.querySelector(".semf-plot");
          const axis = plot._fullLayout.xaxis;
          return {
            zoom: [axis.autorange, ...axis.range], hidden: plot.data[0].visible,
            scrubber: [
              document.querySelector(".semf-follow input").checked,
              document.querySelector(".semf-iteration").textContent,
              plot.layout.shapes.at(-1)?.x0,
            ],
          };
        }"""
    )
    return state


def rest_rows(visitor: Visitor) -> list[Row]:
    """End the run, and see that the page is quiet."""
    visitor.press("Stop")
    visitor.state_is("Stopped")
    visitor.page.wait_for_selector("text=Certificate")
    visitor.page.wait_for_timeout(1500)
    before = visitor.traffic.received
    visitor.page.wait_for_timeout(5000)
    return [at_most("bytes in 5 s after the end of the run", visitor.traffic.received - before, 0, form="{:.0f}")]


# -- what a viewer costs -------------------------------------------------------------------------


def speed_rows(made: Studio, repeats: int, seconds: float) -> list[Row]:
    """Iterations a second with one viewer and with three, each divided by the command line's just before."""
    ratios: dict[int, list[float]] = {1: [], 3: []}
    plain = []
    for _ in range(repeats):
        for viewers, found in ratios.items():
            alone = command_line_rate(seconds)
            found.append(watched_rate(made, viewers, seconds) / alone)
            plain.append(alone)
    note = f"median of {repeats} pairs in turn, {{}}; command line: {median(plain):.0f} iterations/s, one BLAS thread"
    return [
        at_least(f"watched / command line, {viewers} viewer{'s' if viewers > 1 else ''}", median(found), target, form="{:.2f}",
                 note=note.format(f"{min(found):.2f} to {max(found):.2f}"))
        for (viewers, found), target in zip(ratios.items(), (0.8, 0.6), strict=True)
    ]  # fmt: skip


def command_line_rate(seconds: float) -> float:
    """Iterations a second of `semf run`, by its own clock."""
    count = int(1500 * seconds)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(endless(count).to_json())
        file.flush()
        command = [sys.executable, "-m", "semf_core", "run", "--spec", file.name, "--json"]
        done = subprocess.run(command, cwd=REPOSITORY, env=single(), stdout=subprocess.PIPE, check=True)
    summary = json.loads(done.stdout)
    return float(summary["iterations"] / summary["seconds"])


def single() -> dict[str, str]:
    """This environment with one BLAS thread, as workers have it."""
    return {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def watched_rate(made: Studio, viewers: int, seconds: float) -> float:
    """Iterations a second of the wall clock, recording included, of a run that so many browsers look at."""
    run = make_run(made.server.home, endless(), pace=0)
    present = [watched(made, run)]
    present[0].press("Resume")
    present[0].state_is("Running")
    present += [watched(made, run) for _ in range(viewers - 1)]
    present[0].page.wait_for_timeout(1500)
    folder = RunFolder(Path(made.server.home) / "runs" / run.id)
    first, began = folder.iterations(), time.perf_counter()
    present[0].page.wait_for_timeout(1000 * seconds)
    rate = (folder.iterations() - first) / (time.perf_counter() - began)
    present[0].press("Stop")
    present[0].state_is("Stopped")
    for visitor in present:
        visitor.close()
    return rate


def main(argv: list[str] | None = None) -> None:
    options = parser(__doc__)
    options.add_argument("--part", choices=list(PARTS), help="only this part")
    chosen = options.parse_args(argv)
    before = os.getloadavg()[0]
    remark = f"Server, workers and Chromium (software rendering) share {os.cpu_count()} cores; load before: {before:.1f}."
    with studio() as made:
        for part in [chosen.part] if chosen.part else PARTS:
            title, rows = PARTS[part]
            print_table(f"Dashboard: {title}", rows(made, chosen.quick), remark)


PARTS: dict[str, tuple[str, Callable[[Studio, bool], list[Row]]]] = {
    "quick": ("how quick", lambda made, few: [*home_rows(made, 2 if few else 7), *play_rows(made, 2 if few else 7)]),
    "tuning": ("tuning on the workbench", lambda made, few: tuning_rows(made, 2 if few else 5)),
    "lesson": ("stages of a lesson", lambda made, few: stage_rows(made, 2 if few else 5)),
    "follow": ("a lecturer whom forty follow", lambda made, few: follow_rows(made, 12 if few else 30)),
    "live": ("a running Swimmer with one viewer", lambda made, few: live_rows(made, 2 if few else 5)),
    "viewers": ("what viewers cost a run", lambda made, few: speed_rows(made, 1 if few else 3, 4.0 if few else 10.0)),
}


if __name__ == "__main__":
    main(sys.argv[1:])
