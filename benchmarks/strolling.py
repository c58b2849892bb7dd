"""Real browsers in the soak: they look at a run, go to other pages and come back, and note every error.

python -m benchmarks.strolling URL SECONDS OUT.json
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from benchmarks.browsing import LIVE, Studio, Visitor
from tests.browser.conftest import CHROMIUM, FLAGS, Server

BROWSERS = 2
NICENESS = 5
"""In a course browsers run on other computers: here they give way to the server."""
PAGES = ("Data", "Studies", "Snapshots", "Compare", "Home")


def arrive(made: Studio) -> Visitor:
    """Somebody who starts a preset from Home and looks at it."""
    visitor = made.visitor()
    visitor.page.wait_for_selector(LIVE)
    visitor.press("Run")
    visitor.page.wait_for_url("**/workbench*")
    visitor.page.wait_for_selector(LIVE)
    return visitor


def stroll(visitor: Visitor, turn: int) -> None:
    """To another page and back; now and then a reload, now and then the run once more."""
    page = visitor.page
    name = PAGES[turn % len(PAGES)]
    page.get_by_role("link", name=name, exact=True).first.click()
    page.wait_for_function(f"document.title.startsWith('{name}')")
    if turn % 5 == 4:
        page.reload()
    page.wait_for_selector("h1")
    page.get_by_role("link", name="Workbench", exact=True).first.click()
    page.wait_for_url("**/workbench*")
    page.wait_for_selector(LIVE)
    if turn % 3 == 2 and page.locator(".semf-state").inner_text().startswith("Finished"):
        visitor.press("Start again")


def strolls(url: str, seconds: float) -> dict[str, Any]:
    os.nice(NICENESS)
    server = Server(Path(), port=int(url.rpartition(":")[2]))
    wrong: list[str] = []
    turn = 0
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        made, until = Studio(server, browser), time.monotonic() + seconds
        present = [arrive(made) for _ in range(BROWSERS)]
        while time.monotonic() < until:
            visitor = present[turn % BROWSERS]
            try:
                stroll(visitor, turn)
            except Exception as problem:
                shown = " ".join(visitor.page.locator("body").inner_text().split()[:30])
                wrong.append(
                    f"{' '.join(str(problem).split()[:30])} at {visitor.page.url.partition('?')[0]}, which shows: {shown!r}"
                )
            wrong += visitor.complaints()
            turn += 1
            visitor.page.wait_for_timeout(1000)
        wrong += [problem for visitor in present for problem in visitor.problems]
        browser.close()
    return {"errors": wrong, "visits": turn}


def main(url: str, seconds: str, out: str) -> None:
    Path(out).write_text(json.dumps(strolls(url, float(seconds))), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
