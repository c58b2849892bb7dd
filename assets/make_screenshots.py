"""Takes the README's pictures of Home, Model and Run into assets/screenshots: python assets/make_screenshots.py"""

from __future__ import annotations

import io
import sys
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.browsing import LIVE, Studio, Visitor, studio  # noqa: E402

FOLDER = ROOT / "assets" / "screenshots"
LARGEST = 250_000
SHOWN = "swimmer-groups-equal"
"""A preset whose run passes through several cases of Algorithm 2."""
SCROLLED = 215
"""Pixels: to the formulas and the constraints below them."""
ALL_FOUND = "document.querySelector('.semf-badges')?.textContent.includes('17 of 17 parts found5 of 5 groups right')"


def home(made: Studio) -> Visitor:
    """The demo, recovered."""
    visitor = made.visitor()
    finished(visitor)
    return visitor


def model(made: Studio) -> Visitor:
    """The demo's model, which a newcomer finds on the page: formulas and stacks of constraints."""
    visitor = made.visitor("/model")
    page = visitor.page
    page.wait_for_selector(".katex-display")
    page.wait_for_selector('[data-testid="stSkeleton"]', state="detached")
    page.wait_for_timeout(4000)
    page.mouse.move(720, 600)
    page.mouse.wheel(0, SCROLLED)
    page.wait_for_timeout(1000)
    return visitor


def run(made: Studio) -> Visitor:
    """A run with its curves, the cases of Algorithm 2 and all groups found, in the dark theme."""
    visitor = made.visitor(scheme="dark")
    visitor.page.locator(f".st-key-preset-{SHOWN} button").first.click()
    visitor.page.wait_for_url("**/run?run=*")
    finished(visitor)
    return visitor


def finished(visitor: Visitor) -> None:
    """Wait for the end of the run or of its replay."""
    page = visitor.page
    page.wait_for_selector(LIVE)
    page.wait_for_function("document.querySelector('.semf-state').textContent.startsWith('Finished')", timeout=90_000)
    page.wait_for_function(ALL_FOUND)
    page.mouse.move(5, 300)
    page.wait_for_timeout(1500)


def save(visitor: Visitor, name: str) -> None:
    """What the page shows, in as many colours as fit into LARGEST bytes."""
    shot = Image.open(io.BytesIO(visitor.page.screenshot(animations="disabled"))).convert("RGB")
    path = FOLDER / f"{name}.png"
    shot.save(path, optimize=True)
    if path.stat().st_size > LARGEST:
        shot.quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    if path.stat().st_size > LARGEST:
        raise RuntimeError(f"{path.name} has {path.stat().st_size} bytes, more than {LARGEST}")
    visitor.close()


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with studio() as made:
        save(home(made), "home")
        save(model(made), "model")
        save(run(made), "run")


if __name__ == "__main__":
    main()
