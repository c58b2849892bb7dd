"""Tuning on the workbench: clicks and page changes of each walk, and how soon a change is seen."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from statistics import median

from benchmarks.browsing import LIVE, Studio, Visitor
from benchmarks.common import Row, at_most
from semf_core.datasets import Digits
from semf_core.model import ModelSpec, preset
from semf_core.sets import Nonnegative, Sparse
from semf_core.solvers import ADMM, Limits
from tests.browser.conftest import make_finished_run

COUNT = """
window.walk = { clicks: 0, frames: 0, dimmed: 0, wanted: null };
addEventListener("click", () => (window.walk.clicks += 1), true);
addEventListener("keydown", (event) => {
  if (event.key === "Enter") Object.assign(window.walk, { pressed: performance.now(), panel: null, frame: null });
}, true);
(() => {
  const { walk } = window;
  const run = () => document.querySelector(".semf-live")?.dataset.run;
  const iteration = () => Number((document.querySelector(".semf-iteration")?.textContent ?? "").replace(/\\D/g, ""));
  const formula = (value) => [...document.querySelectorAll('[class*="st-key-formula_"] .katex-html')]
    .some((one) => new RegExp(`≤\\\\s*${value}(?!\\\\d)`).test(one.textContent));
  const opacity = (node) => (node ? Number(getComputedStyle(node).opacity) * opacity(node.parentElement) : 1);
  const look = () => {
    const root = document.querySelector(".semf-live");
    walk.frames += Boolean(root);
    walk.dimmed += root ? opacity(root) < 0.99 : 0;
    if (walk.pressed && walk.wanted) {
      if (formula(walk.wanted.value)) walk.panel ??= performance.now() - walk.pressed;
      if (run() !== walk.wanted.run && iteration() > 0) walk.frame ??= performance.now() - walk.pressed;
    }
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})();
"""
"""Counts clicks and frames; looks in every frame whether the panel has the new k in its formula, and the new run a row."""
CURRENT = "document.querySelector('.semf-variants .semf-current .semf-name')?.textContent"
DIGITS = ModelSpec(Digits(), 16, (Nonnegative(), Sparse(k=16)), (Nonnegative(),), ADMM(), Limits(max_iter=400, tol=0))
SWIMMER = replace(preset("swimmer-sparse"), y=(Nonnegative(), Sparse(k=16)), limits=Limits(max_iter=400, tol=0))


def opened(made: Studio, spec: ModelSpec) -> Visitor:
    """The owner's workbench with a finished run."""
    run = make_finished_run(made.server, spec)
    visitor = made.visitor(f"/workbench?run={run.id}#key={run.key}", COUNT)
    visitor.page.wait_for_selector(LIVE)
    rest(visitor)
    return visitor


def rest(visitor: Visitor) -> None:
    visitor.page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')
    visitor.page.wait_for_timeout(400)


def shown(visitor: Visitor, name: str) -> None:
    visitor.page.wait_for_function(f"n => {CURRENT} === n", arg=name)


def choose(visitor: Visitor, label: str, option: str) -> None:
    visitor.page.get_by_label(label, exact=True).first.click()
    visitor.page.get_by_role("option", name=re.compile(option)).first.click()


def set_k(visitor: Visitor, value: int) -> None:
    """One click into the field, the number, Enter."""
    field = visitor.page.get_by_label("k", exact=True).first
    field.click()
    field.fill(str(value))
    field.press("Enter")


def walk(visitor: Visitor, action: Callable[[], None]) -> tuple[int, int]:
    """Clicks of a walk, and page changes."""
    pages: list[str] = []
    visitor.page.on("framenavigated", lambda frame: pages.append(frame.url.partition("?")[0]))
    before, here = visitor.page.evaluate("window.walk.clicks"), visitor.page.url.partition("?")[0]
    action()
    rest(visitor)
    return visitor.page.evaluate("window.walk.clicks") - before, sum(url != here for url in pages)


def walk_rows(made: Studio) -> list[Row]:
    """Clicks and page changes of what is done most often."""
    visitor = opened(made, SWIMMER)

    def sparser() -> None:
        set_k(visitor, 8)
        shown(visitor, "k = 8")

    def grouped() -> None:
        choose(visitor, "Add a constraint on Y", "k per group")
        shown(visitor, "+ k per group on Y")

    def undone() -> None:
        visitor.press("Undo")
        shown(visitor, "k = 8")

    def several() -> None:
        choose(visitor, "Try several", "k of k-sparse on Y")
        visitor.page.wait_for_function("document.querySelectorAll('.semf-film img[src]').length >= 5")

    walks = (("k 16 → 8 seen", sparser, 1), ("groups on Y", grouped, 3), ("undo", undone, 1), ("a sweep of six", several, 2))
    rows = []
    for name, action, most in walks:
        clicks, pages = walk(visitor, action)
        rows.append(at_most(f"{name}: clicks", clicks, most, form="{:.0f}"))
        rows.append(at_most(f"{name}: page changes", pages, 0, form="{:.0f}"))
    rows += [*before_rows(visitor), dimmed_row(visitor, "in these walks")]
    visitor.close()
    return rows


def before_rows(visitor: Visitor) -> list[Row]:
    """The last two variants: what the change did stands there in words and as grey curves, and pointing flicks between them."""

    def pointed() -> None:
        visitor.page.locator(".semf-tile").first.hover()
        visitor.page.wait_for_function("document.querySelector('.semf-live').dataset.when === 'before'")

    clicks, pages = walk(visitor, pointed)
    seen = visitor.page.evaluate(
        """document.querySelector('.semf-line').textContent.includes('→')
        && document.querySelector('.semf-plot').data.some((line) => line.name === 'before' && line.x.length)"""
    )
    return [
        at_most("before and after: clicks", clicks, 0, form="{:.0f}"),
        at_most("before and after: page changes", pages, 0, form="{:.0f}"),
        Row("before and after: said, drawn in grey, flicked", "yes" if seen else "no", "yes", seen),
    ]


def dimmed_row(visitor: Visitor, when: str) -> Row:
    """Frames in which the result was not at its full strength."""
    watched = visitor.page.evaluate("window.walk")
    return at_most(f"dimmed frames {when}", watched["dimmed"], 0, form="{:.0f}", note=f"of {watched['frames']}")


def change_rows(made: Studio, repeats: int) -> list[Row]:
    """From Enter in a field to the first new frame, and to a panel that has been drawn again."""
    rows = []
    for name, spec in (("Swimmer", SWIMMER), ("digits", DIGITS)):
        visitor, frame, panel = opened(made, spec), [], []
        for turn in range(repeats):
            value = 15 - turn
            field = visitor.page.get_by_label("k", exact=True).first
            field.fill(str(value))
            wanted = "v => (window.walk.wanted = { value: v, run: document.querySelector('.semf-live').dataset.run })"
            visitor.page.evaluate(wanted, value)
            field.press("Enter")
            visitor.page.wait_for_function("window.walk.panel && window.walk.frame")
            seen = visitor.page.evaluate("window.walk")
            panel.append(seen["panel"] / 1000)
            frame.append(seen["frame"] / 1000)
            rest(visitor)
            visitor.state_is("Finished")
            visitor.page.wait_for_timeout(3200)  # a quicker change would take the place of this one
        for what, seconds, most in (("change → first new frame", frame, 1.0), ("panel redrawn", panel, 0.3)):
            note = f"median of {repeats}, best {min(seconds):.2f}"
            rows.append(at_most(f"{name}: {what}, s", median(seconds), most, form="{:.2f}", note=note))
        rows.append(dimmed_row(visitor, f"while {name} was changed"))
        visitor.close()
    return rows


def tuning_rows(made: Studio, repeats: int) -> list[Row]:
    """All of it."""
    return [*walk_rows(made), *change_rows(made, repeats)]
