"""One HTML file that needs nothing else: no network, no server, no other file.

Every text goes through the template's escaping; the numbers are JSON that cannot end its script element; and a
content security policy allows only this file's own script and style, by their hashes, and no connection at all.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from semf_core.common.notation import number
from semf_core.drawing.components import STYLE as COMPONENTS_STYLE
from semf_core.drawing.pictures import RAMPS
from semf_core.exports import curves

SHARED = Path(__file__).parent / "charts"
"""What draws a run's chart, here and in the live view."""
PLOTLY = "plotly-basic.min.js"
CHART_MODULES = ("curves.js", "layout.js", "traces.js", "cases.js", "run_figure.js")
"""Modules of that folder, each after those that it imports."""


def document(template: str, scripts: tuple[str, ...], styles: tuple[str, ...], content: dict[str, Any]) -> bytes:
    """A template of the folder `page`, with its scripts and style sheets inside."""
    style, script = _style(styles), "\n".join(("", plotly_script(), chart_script(), *map(page_file, scripts)))
    # plotly.js puts its rules into a style element that it finds empty.
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}' '{_hash('')}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return _environment().get_template(template).render(policy=policy, style=style, script=script, **content).encode()


def plotly_script() -> str:
    """The bundle of plotly.js that draws lines, for a file that needs no network."""
    return (SHARED / PLOTLY).read_text(encoding="utf-8")


def chart_script(modules: tuple[str, ...] = CHART_MODULES) -> str:
    """The description of the charts and modules that draw them as one script: imports and exports are left out."""
    texts = [curves.script(), *((SHARED / name).read_text(encoding="utf-8") for name in modules)]
    return re.sub(r"(?m)^(import .*\n|export )", "", "\n".join(texts))


def page_file(name: str) -> str:
    """A file of the folder `page`."""
    return (resources.files("semf_core.exports") / "page" / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    made = Environment(loader=PackageLoader("semf_core.exports", "page"), autoescape=True, undefined=StrictUndefined)
    made.filters["number"] = number
    return made


@cache
def _style(styles: tuple[str, ...]) -> str:
    """The sheets, after the colours of curves and pictures in both themes."""
    light, dark = (_variables(theme) for theme in ("light", "dark"))
    dark_only = f"@media (prefers-color-scheme: dark) {{ @media not print {{ :root {{ {dark} }} }} }}"
    sheets = "\n".join(page_file(name) for name in styles)
    return f"\n:root {{ {light} }}\n{dark_only}\n{sheets}\n{COMPONENTS_STYLE}"


def _variables(theme: str) -> str:
    ramps = {f"{name}-ramp": ", ".join(f"rgb{stop}" for stop in stops) for name, stops in RAMPS[theme].items()}
    return " ".join(f"--{name}: {value};" for name, value in {**curves.COLOURS[theme], **ramps}.items())


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
