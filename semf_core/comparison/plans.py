"""Ready comparisons: one dataset, several models, started together with one click."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from semf_core.common.errors import InvalidInput
from semf_core.model import ModelSpec, preset


@dataclass(frozen=True)
class Comparison:
    """Models of the same data, and a sentence that says what to look at."""

    title: str
    watch: str
    models: tuple[ModelSpec, ...]

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Comparison:
        """`models` lists presets ({"preset": name}) and models; what `base` says holds for those that do not say otherwise.

        All begin with the same random X and Y (`limits.common_start`), unless the plan says `"own_starts": true`.
        """
        base, same = values.get("base", {}), not values.get("own_starts", False)
        models = tuple(_model(entry, base) for entry in values["models"])
        models = tuple(replace(model, limits=replace(model.limits, common_start=same)) for model in models)
        if len({model.dataset for model in models}) != 1:
            raise InvalidInput("models", "of a comparison share one dataset")
        return cls(values["title"], values["watch"], models)


def _model(entry: Mapping[str, Any], base: Mapping[str, Any]) -> ModelSpec:
    if "preset" in entry:
        return preset(entry["preset"])
    return ModelSpec.from_dict({**base, **entry})


@cache
def comparison_names() -> tuple[str, ...]:
    """Names of the comparisons that come with the library, Swimmer's first.

    Returns
    -------
    tuple of str
        What `comparison` takes.

    Examples
    --------
    >>> from semf_core.comparison import comparison_names
    >>> comparison_names()[0]
    'swimmer'
    """
    found = (f.name.removesuffix(".json") for f in _folder().iterdir() if f.name.endswith(".json"))
    return tuple(sorted(found, key=lambda name: (name != "swimmer", name)))


def comparison(name: str) -> Comparison:
    """A comparison that comes with the library.

    Parameters
    ----------
    name : str
        One of `comparison_names()`.

    Returns
    -------
    Comparison
        Models of the same data, and what to look at.

    Examples
    --------
    >>> from semf_core.comparison import comparison
    >>> len({model.dataset for model in comparison("swimmer").models})
    1
    """
    if name not in comparison_names():
        raise InvalidInput("comparison", f"there is no {name!r}", f"known are {', '.join(comparison_names())}", whole=True)
    return Comparison.from_dict(json.loads((_folder() / f"{name}.json").read_text(encoding="utf-8")))


def _folder() -> Any:
    return resources.files("semf_core") / "comparison" / "ready"
