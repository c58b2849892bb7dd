"""The pages and the ways between them. A page is named by its file, wherever the main script is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

PAGES = Path(__file__).parents[1]
ASSETS = PAGES.parent / "assets"
TABLE: dict[str, tuple[str, str]] = {
    "home": ("Home", ":material/home:"),
    "data": ("Data", ":material/database:"),
    "model": ("Model", ":material/tune:"),
    "run": ("Run", ":material/play_circle:"),
    "compare": ("Compare", ":material/compare:"),
    "studies": ("Studies", ":material/experiment:"),
    "snapshots": ("Snapshots", ":material/photo_library:"),
}


def place(name: str) -> Any:
    """A page as Streamlit knows it."""
    title, icon = TABLE[name]
    return st.Page(PAGES / f"{name}.py", title=title, icon=icon, url_path=name, default=name == "home")


def exists(name: str) -> bool:
    return name in TABLE and (PAGES / f"{name}.py").exists()


def page_table() -> list[Any]:
    return [place(name) for name in TABLE if exists(name)]


def go(name: str, **query: str) -> None:
    """Leave for another page."""
    st.switch_page(place(name), query_params=query or None)


def link(name: str, label: str) -> None:
    """A link to another page."""
    st.page_link(place(name), label=label, icon=TABLE[name][1])
