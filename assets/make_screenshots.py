"""Takes the README's pictures of Home and of the workbench into assets/screenshots: python assets/make_screenshots.py"""

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
ALL_FOUND = "document.querySelector('.semf-badges')?.textContent.includes('17 of 17 parts found5 of 5 groups right')"


def home(made: Studio) -> Visitor:
    """The demo, recovered."""
    visitor = made.visitor()
    finished(visitor)
    return visitor


def workbench(made: Studio) -> Visitor:
    """A change and what it did: fewer pixels for each part of the digits."""
    visitor = made.visitor()
    page = visitor.page
    page.locator(".st-key-preset-digits-parts button").first.click()
    at_rest(visitor)
    field = page.get_by_label("k", exact=True).first
    field.fill("8")
    field.press("Enter")
    page.wait_for_function("document.querySelector('.semf-line')?.textContent.includes('nonzeros')", timeout=90_000)
    at_rest(visitor)
    return visitor


def groups(made: Studio) -> Visitor:
    """Curves, the cases of Algorithm 2 and all groups found, in the dark theme."""
    visitor = made.visitor(scheme="dark")
    visitor.page.locator(f".st-key-preset-{SHOWN} button").first.click()
    finished(visitor)
    return visitor


def at_rest(visitor: Visitor) -> None:
    """Wait for the end of a run on the workbench, of its replay and of the page's script."""
    page = visitor.page
    page.wait_for_selector('.semf-live:not(.semf-compact)[data-drawn="yes"]')
    page.wait_for_function("document.querySelector('.semf-state')?.textContent.startsWith('Finished')", timeout=90_000)
    page.wait_for_selector('[data-testid="stSkeleton"]', state="detached")
    page.mouse.move(700, 5)
    page.wait_for_timeout(2000)


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
        save(workbench(made), "workbench")
        save(groups(made), "groups")


if __name__ == "__main__":
    main()
