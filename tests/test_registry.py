"""Named families: registered, looked up, built from data and from words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import pytest

from semf_core.common.parameters import InvalidInput, Parametrized, param
from semf_core.common.registry import Registry


class Circle(Parametrized):
    name: ClassVar[str] = "circle"

    radius: float = param("number", low=0, help="how wide")
    groups: Sequence[Sequence[int]] | None = param("groups", None, optional=True)


class Drawing(Parametrized):
    name: ClassVar[str] = "drawing"
    storable: ClassVar[bool] = False


@pytest.fixture
def shapes() -> Registry[Parametrized]:
    registry: Registry[Parametrized] = Registry("shape")
    registry.register(Circle)
    registry.register(Drawing)
    return registry


def test_what_cannot_be_data_is_listed_apart(shapes: Registry[Parametrized]) -> None:
    assert list(shapes) == [Circle] and shapes.names() == ["circle"]
    assert list(shapes.everything()) == [Circle, Drawing]
    for attempt in (lambda: shapes.build({"name": "drawing"}), lambda: shapes.parse("drawing")):
        with pytest.raises(InvalidInput, match="make a Drawing in Python"):
            attempt()


def test_names_are_unique(shapes: Registry[Parametrized]) -> None:
    for cls in (Circle, Drawing, Parametrized):
        with pytest.raises(ValueError, match="name of its own"):
            shapes.register(cls)


def test_building(shapes: Registry[Parametrized]) -> None:
    built = shapes.build({"name": "circle", "radius": 2})
    assert built == Circle(2) == shapes.parse("circle:radius=2") == shapes.parse(" circle : radius = 2 ")
    assert shapes.parse("circle:radius=1,groups=[[0, 1], [2]]") == Circle(1, [[0, 1], [2]])
    assert shapes.parse("circle:groups=0-1|2,radius=1") == Circle(1, [[0, 1], [2]])


@pytest.mark.parametrize("values", [None, [], "circle", {}, {"radius": 1}, {"name": "square"}, {"name": 3}, {"name": ["circle"]}])
def test_descriptions_that_name_nothing(shapes: Registry[Parametrized], values: object) -> None:
    with pytest.raises(InvalidInput, match=r"^shape: .*circle"):
        shapes.build(values)


@pytest.mark.parametrize(
    ("word", "field"),
    [
        ("square", "shape"),
        ("circle", "radius"),
        ("circle:2", "shape"),
        ("circle:radius=2,colour=red", "colour"),
        ("circle:radius=2,radius=3", "radius"),
        ("circle:radius=-1", "radius"),
    ],
)
def test_words_that_build_nothing(shapes: Registry[Parametrized], word: str, field: str) -> None:
    with pytest.raises(InvalidInput) as error:
        shapes.parse(word)
    assert error.value.field == field
