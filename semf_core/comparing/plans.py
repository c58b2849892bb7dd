"""Ready comparisons: one dataset, several models, started together with one click."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from semf_core.model import ModelSpec, preset
from semf_core.parameters import InvalidInput


@dataclass(frozen=True)
class Comparison:
    """Models of the same data, and a sentence that says what to look at."""

    title: str
    watch: str
    models: tuple[ModelSpec, ...]

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Comparison:
        """`models` lists presets ({"preset": name}) and models; what `base` says holds for those that do not say otherwise."""
        base = values.get("base", {})
        models = tuple(_model(entry, base) for entry in values["models"])
        if len({model.dataset for model in models}) != 1:
            raise InvalidInput("models", "of a comparison share one dataset")
        return cls(values["title"], values["watch"], models)


def _model(entry: Mapping[str, Any], base: Mapping[str, Any]) -> ModelSpec:
    if "preset" in entry:
        return preset(entry["preset"])
    return ModelSpec.from_dict({**base, **entry})


@cache
def comparison_names() -> tuple[str, ...]:
    """Names of the comparisons that come with the library, Swimmer's first."""
    found = (f.name.removesuffix(".json") for f in _folder().iterdir() if f.name.endswith(".json"))
    return tuple(sorted(found, key=lambda name: (name != "swimmer", name)))


def comparison(name: str) -> Comparison:
    """The comparison of this name."""
    if name not in comparison_names():
        raise InvalidInput("comparison", f"there is no {name!r}; known are {', '.join(comparison_names())}")
    return Comparison.from_dict(json.loads((_folder() / f"{name}.json").read_text(encoding="utf-8")))


def _folder() -> Any:
    return resources.files("semf_core") / "comparing" / "ready"
