"""The live view of a run as one Components-v2 element; its data comes over HTTP from pages/ui/server.py."""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any

import plotly
import streamlit as st

from pages.ui.places import ASSETS
from semf_core.service import RunStatus
from semf_core.solvers.penalties import CASE_WORDS

FOLDER = ASSETS / "live"
INLINE = {"boot", "memory"}
"""Entries of components, which Streamlit sends by itself."""


def address(tail: str) -> str:
    """Where the server has something beside Streamlit's own pages."""
    base = st.get_option("server.baseUrlPath").strip("/")
    return f"/{base}/studio/{tail}" if base else f"/studio/{tail}"


def plotly_address() -> str:
    return address(f"plotly-{plotly.__version__}.js")


@cache
def _component() -> Any:
    return st.components.v2.component(
        "semf_live",
        css=(FOLDER / "live.css").read_text(encoding="utf-8"),
        js=(FOLDER / "boot.js").read_text(encoding="utf-8"),
        isolate_styles=False,
    )


@cache
def _edition() -> str:
    """Changes whenever a script of the view does, so that no browser mixes two editions."""
    digest = hashlib.sha256()
    for path in sorted(FOLDER.glob("*.js")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def modules() -> list[str]:
    """Addresses of the scripts of the view."""
    return [address(f"assets/{_edition()}/live/{path.name}") for path in sorted(FOLDER.glob("*.js")) if path.stem not in INLINE]


def live_view(status: RunStatus, *, compact: bool = False, autoplay: bool = False, key: str = "live") -> None:
    """Draw a run as it goes; the page runs again when its state is no longer that of `status`."""
    data = {
        "run": status.id,
        "state": status.state,
        "splits": status.spec.solver.splits,
        "live": address("live"),
        "module": address(f"assets/{_edition()}/live/view.js"),
        "plotly": plotly_address(),
        "cases": {int(number): words for number, words in CASE_WORDS.items()},
        "compact": compact,
        "autoplay": autoplay,
        "notify": not compact,
    }
    _component()(key=f"{key}-{data['splits']}", data=data, on_state_change=lambda: None)


def compare_view(run_ids: list[str], moving: bool) -> None:
    """Overlaid curves and aligned components of several runs; the page runs again when all of them have come to rest."""
    data = {
        "runs": run_ids,
        "moving": moving,
        "feed": address("compare"),
        "module": address(f"assets/{_edition()}/live/compare.js"),
        "plotly": plotly_address(),
    }
    _component()(key="compare", data=data, on_state_change=lambda: None)
