"""The studies that come with the library, each with the claim of its paper beside it."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources

from semf_core.parameters import InvalidInput
from semf_core.studies.study import Study


@cache
def builtin_names() -> tuple[str, ...]:
    """Names of the built-in studies."""
    folder = resources.files("semf_core.studies") / "builtin"
    return tuple(json.loads((folder / "order.json").read_text(encoding="utf-8")))


@cache
def builtin_study(name: str) -> Study:
    """The built-in study of this name, with all its sizes."""
    if name not in builtin_names():
        raise InvalidInput("study", f"there is no {name!r}; known are {', '.join(builtin_names())}")
    text = (resources.files("semf_core.studies") / "builtin" / f"{name}.json").read_text(encoding="utf-8")
    return Study.from_json(text)


@cache
def builtin_sized(name: str, size: str) -> Study:
    """A built-in study at one of its sizes."""
    return builtin_study(name).sized(size)
