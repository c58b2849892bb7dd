"""The pages and the ways between them. A page is named by its file, wherever the main script is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

PAGES = Path(__file__).parents[1]
ASSETS = PAGES.parent / "assets"
_OURS: dict[str, tuple[str, str]] = {
    "home": ("Home", ":material/home:"),
    "learn": ("Learn", ":material/school:"),
    "data": ("Data", ":material/database:"),
    "workbench": ("Workbench", ":material/tune:"),
    "compare": ("Compare", ":material/compare:"),
    "studies": ("Studies", ":material/experiment:"),
    "snapshots": ("Snapshots", ":material/photo_library:"),
}


def _added() -> dict[str, tuple[str, str]]:
    """Pages that are a file alone: the title is what stands before the colon in the first line."""
    files = (file for file in sorted(PAGES.glob("*.py")) if file.stem not in {*_OURS, "main", "__init__"})
    first_lines = {file.stem: file.read_text(encoding="utf-8").partition("\n")[0] for file in files}
    return {name: (line.strip('"').partition(":")[0], ":material/article:") for name, line in first_lines.items()}


TABLE = _OURS | _added()
"""Title and sign of each page, in the order of the menu."""


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


def link(name: str, label: str, **query: str) -> None:
    """A link to another page."""
    st.page_link(place(name), label=label, icon=TABLE[name][1], query_params=query or None)
