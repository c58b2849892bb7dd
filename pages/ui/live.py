"""The live view of a run as one Components-v2 element; its data comes over HTTP from pages/ui/server.py."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from typing import Any

import plotly
import streamlit as st

from pages.ui.places import ASSETS
from pages.ui.workbench_state import ACTED, SPEED, Bench
from semf_core.exports import curves
from semf_core.exports.document import CHART_MODULES, SHARED
from semf_core.lessons import Highlight
from semf_core.model.variants import imposed
from semf_core.runs.variant_strips import Strip
from semf_core.service import RunStatus, get_service
from semf_core.solvers.penalties import CASE_WORDS

FOLDER = ASSETS / "live"
DESCRIPTION = "description.js"
"""What the charts show, a module that is made from `semf_core.exports.curves`."""
INLINE = {"boot", "memory", "navigation", "presenter", "follow", "notes", "presentation"}
"""Entries of components, which Streamlit sends by itself, and scripts of pages that are not Streamlit's."""


def address(tail: str) -> str:
    """Where the server has something beside Streamlit's own pages."""
    base = st.get_option("server.baseUrlPath").strip("/")
    return f"/{base}/studio/{tail}" if base else f"/studio/{tail}"


def plotly_address(bundle: str = "basic") -> str:
    """Of the bundle that the charts of runs need, which is small, or of the `full` one, for every figure of a page."""
    return address(f"plotly/{_revision()}/{bundle}.js")


def is_data(path: str) -> bool:
    """Whether this is an address of what visitors have (runs, files, commands), not of scripts and empty pages for all."""
    shared = (address("assets/"), address("follow/"), address("notes/"), address("plotly/"))
    return path.startswith(address("")) and not path.startswith(shared)


@cache
def _component() -> Any:
    return st.components.v2.component(
        "semf_live",
        css=(FOLDER / "live.css").read_text(encoding="utf-8"),
        js=(FOLDER / "boot.js").read_text(encoding="utf-8"),
        isolate_styles=False,
    )


@cache
def _revision() -> str:
    """Changes whenever a script or style sheet of the view does, so that no browser mixes two revisions."""
    digest = hashlib.sha256()
    for path in sorted((*FOLDER.glob("*.js"), *FOLDER.glob("*.css"), *SHARED.glob("*.js"))):
        digest.update(path.read_bytes())
    digest.update(curves.script().encode() + plotly.__version__.encode())
    return digest.hexdigest()[:12]


def modules() -> list[str]:
    """Addresses of the scripts of the view."""
    own = (path.name for path in sorted(FOLDER.glob("*.js")) if path.stem not in INLINE)
    return [plotly_address(), script(DESCRIPTION), *map(script, (*CHART_MODULES, *own))]


def script(name: str) -> str:
    """The address of a script or a style sheet of the view."""
    return address(f"assets/{_revision()}/live/{name}")


def live_view(status: RunStatus, *, compact: bool = False, autoplay: bool = False, key: str = "live") -> None:
    """Draw a run as it goes; the page runs again when its state is no longer that of `status`."""
    data = _data(status) | {"compact": compact, "autoplay": autoplay, "notify": not compact}
    _component()(key=f"{key}-{data['splits']}", data=data, on_state_change=lambda: None)


def bench_view(shown: Bench, *, autoplay: bool, key: str, on_act: Callable[[Any], None]) -> None:
    """The live view with everything that the workbench has: controls, penalties, before and after, the strip.

    `on_act` gets what a press in it asks of the page.
    """
    status, strip = shown.status, shown.strip
    data = _furnished(status, shown.run_key) | {
        "autoplay": autoplay,
        "owner": bool(shown.key) and not get_service().read_only,
        "tries": shown.changeable,
        "follow": strip is not None and not shown.key and "run" not in st.query_params,
        "strip": strip.id if strip else "",
        "revision": strip.revision if strip else 0,
        "before": shown.before,
        "pace": st.session_state.get(SPEED, 0),
    }
    _acting(f"{key}-{data['splits']}-{bool(data['key'])}-{data['owner']}", data, on_act)


def _acting(name: str, data: dict[str, Any], on_act: Callable[[Any], None]) -> None:
    def act() -> None:
        on_act((st.session_state.get(name) or {}).get("act"))

    _component()(key=name, data=data, on_state_change=lambda: None, on_act_change=act)


def snapshot_view(status: RunStatus, strip: Strip | None, place: dict[str, str], *, on_act: Callable[[Any], None]) -> None:
    """The same for what nobody changes: a snapshot, or one of its variants. `place` is what the address says of it."""
    known = {"still": True, "place": place, "strip": strip.id if strip else "", "before": strip.before if strip else ""}
    data = _furnished(status) | known | {"onlooker": False}
    _acting(f"snapshot-{data['splits']}", data, on_act)


@cache
def _presenter() -> Any:
    return st.components.v2.component("semf_presenter", js=(FOLDER / "presenter.js").read_text(encoding="utf-8"))


def presenter(page: str, **shown: Any) -> None:
    """The presenter's view of a page (F, Escape, the keys of a clicker), and what others can follow of it.

    `shown` says what a presentation is told beside what the live view shows: lesson, stage, answer.
    """
    st.html(ASSETS / "present.css")
    data = {
        "module": script("present.js"),
        "page": page,
        "shown": shown,
        "presentations": address("presentations"),
        "follow": address("follow"),
        "plotly": plotly_address("full"),
        "off": get_service().read_only,
    }
    _presenter()(key="presenter", data=data, height=1)


def lesson_view(
    status: RunStatus, highlight: Highlight, run_key: str, *, autoplay: bool, on_state_change: Callable[[], None]
) -> None:
    """The live view of a stage: what it points at is lit up, and a run of one's own has its controls.

    `on_state_change` is called before the page runs again because the run has another state.
    """
    nowhere = {"bench": "", "run": ""}
    data = _furnished(status, run_key) | {"autoplay": autoplay, "lesson": True, "place": nowhere, "highlight": _lit(highlight)}
    _component()(key=f"lesson-{data['splits']}-{bool(run_key)}", data=data, on_state_change=on_state_change)


def _lit(highlight: Highlight) -> dict[str, Any]:
    """What a stage points at."""
    return {"components": highlight.components, "iterations": highlight.iterations, "factor": highlight.factor}


def follower_data(status: RunStatus, highlight: Highlight | None) -> dict[str, Any]:
    """What the view of somebody who follows is told: it shows what the lecturer's shows, and controls nothing."""
    lit = {"highlight": _lit(highlight)} if highlight is not None else {}
    return _data(status) | lit | {"follower": True, "autoplay": False, "notify": False, "onlooker": True}


def _data(status: RunStatus) -> dict[str, Any]:
    """What every view of a run is told."""
    return {
        "run": status.id,
        "state": status.state,
        "splits": status.spec.solver.splits,
        "live": address("live"),
        "module": script("view.js"),
        "plotly": plotly_address(),
        "words": address("words.json"),
        "learn": address("").removesuffix("studio/") + "learn",
        "cases": {int(number): words for number, words in CASE_WORDS.items()},
        "names": list(get_service().component_names(status.id)),
    }


def _furnished(status: RunStatus, run_key: str = "") -> dict[str, Any]:
    """What a view with controls, keys and a strip is told; as it is without them."""
    return _data(status) | {
        "autoplay": False,
        "notify": True,
        "bench": True,
        "key": run_key,
        "owner": False,
        "onlooker": not run_key,
        "strip": "",
        "revision": 0,
        "before": "",
        "control": address("control"),
        "stripFeed": address("strip"),
        "beforeFeed": address("before"),
        "pace": 0,
        "acted": st.session_state.get(ACTED, 0),
        "imposed": f"{imposed(status.spec)} · {get_service().data_title(status.id)}, rank {status.spec.rank}",
    }


def compare_view(run_ids: list[str], moving: bool) -> None:
    """Overlaid curves and aligned components of several runs; the page runs again when all of them have come to rest."""
    data = {
        "runs": run_ids,
        "moving": moving,
        "feed": address("compare"),
        "module": script("compare.js"),
        "plotly": plotly_address(),
    }
    _component()(key="compare", data=data, on_state_change=lambda: None)


def beside_view(statuses: list[RunStatus], on_state_change: Callable[[], None]) -> None:
    """Two runs side by side under one scrubber."""
    module = address(f"assets/{_revision()}/live/beside.js")
    data = {"compact": True, "module": module, "runs": [_data(status) for status in statuses]}
    _component()(key="beside", data=data, on_state_change=on_state_change)
