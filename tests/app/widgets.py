"""How page tests drive generated widgets: from a parameter and its value to what a user would type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest

from pages.ui import session
from semf_core.common.notation import FIRST, spell
from semf_core.common.parameters import Param, params_of
from semf_core.model import ModelSpec

PAGES = Path(__file__).parents[2] / "pages"


def open_page(name: str, spec: ModelSpec | None = None) -> AppTest:
    page = AppTest.from_file(str(PAGES / f"{name}.py"), default_timeout=60)
    if spec is not None:
        page.session_state[session.SPEC] = spec
    page.run()
    assert not page.exception
    return page


def open_panel(spec: ModelSpec | None = None, *boxes: str) -> AppTest:
    """The panel alone, some of its boxes open: what is typed becomes a model, and nothing is run."""
    page = AppTest.from_file(str(Path(__file__).with_name("panel_script.py")), default_timeout=60)
    if spec is not None:
        page.session_state[session.SPEC] = spec
    for box in boxes:
        page.session_state[box] = True
    page.run()
    assert not page.exception
    return page


def is_ready(page: AppTest) -> bool:
    """Whether the panel's model could be run."""
    return bool(page.session_state["ready"])


def spec_of(page: AppTest) -> ModelSpec:
    return page.session_state[session.SPEC]


def errors(page: AppTest) -> list[str]:
    """Sentences without the escapes of Markdown."""
    assert not page.exception
    return [e.value.replace("\\", "") for e in page.error]


def type_in(page: AppTest, key: str, p: Param, value: Any) -> None:
    """Put a value into the widget of a parameter, in the way that its kind is typed."""
    if p.kind in {"matrix", "mask"}:
        rows = "\n".join(",".join(str(v) for v in row) for row in np.asarray(value).tolist())
        page.text_area(key=f"{key}.paste").set_value(rows)
    elif p.kind in {"integer", "number"}:
        page.number_input(key=key).set_value(value + FIRST if p.index else value)
    elif p.kind == "boolean" and p.optional:
        page.selectbox(key=key).set_value({None: "automatic", True: "on", False: "off"}[value])
    elif p.kind == "boolean":
        page.toggle(key=key).set_value(value)
    elif p.kind == "choice":
        (page.segmented_control if len(p.choices) <= 3 else page.selectbox)(key=key).set_value(value)
    else:
        page.text_input(key=key).set_value(spell(p, p.check(value), FIRST))


def fill(page: AppTest, key: str, cls: type, values: dict[str, Any]) -> None:
    for p in params_of(cls):
        if p.name in values:
            type_in(page, f"{key}.{p.name}", p, values[p.name])
    page.run()


def block_keys(page: AppTest, factor: str) -> list[str]:
    """Keys of the blocks of a stack, from the top."""
    keys = [b.key or "" for b in page.button]
    return [k.removesuffix(".remove") for k in keys if k.startswith(f"{factor}.") and k.endswith(".remove")]
