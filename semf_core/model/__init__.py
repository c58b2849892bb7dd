"""ModelSpec: everything that makes a run, as data. The same spec gives the same run anywhere."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any

from semf_core.common.errors import InvalidInput, parsed_json
from semf_core.datasets import DATASETS, Dataset, DatasetSource
from semf_core.factorization.api import SEED, checked_dtype
from semf_core.factorization.problem import checked_rank, make_problem, scale_warning
from semf_core.sets import StructureSet, combine, set_from_dict
from semf_core.solvers import DEFAULT, SOLVERS, Limits, Problem, Run, Solver

FIELDS = ("title", "watch", "dataset", "rank", "x", "y", "solver", "limits", "seed", "dtype")


@dataclass(frozen=True)
class ModelSpec:
    """Everything that makes a run, as data: the same model gives the same numbers anywhere, and has a JSON form.

    Parameters
    ----------
    dataset : DatasetSource
        Where the data comes from.
    rank : int
        Number of components.
    x, y : tuple of StructureSet
        What the components and the coefficients must satisfy.
    solver : Solver
        The algorithm with its options.
    limits : Limits
        When it stops.
    seed : int
        Number from which all randomness follows.
    dtype : {'float32', 'float64'}, optional
        The precision; by default that of the data.
    title, watch : str
        What it is called, and a sentence that says what to look at while it runs.

    Examples
    --------
    >>> from semf_core.datasets import Swimmer
    >>> from semf_core.model import ModelSpec
    >>> from semf_core.sets import Nonnegative, Sparse
    >>> model = ModelSpec(Swimmer(), 17, x=(Nonnegative(),), y=(Nonnegative(), Sparse(5)), seed=1)
    >>> ModelSpec.from_json(model.to_json()) == model
    True
    >>> run = model.run()
    >>> frame = run.advance()
    >>> run.iterations, [A.shape for A in run.factors()[:2]]
    (1, [(1024, 17), (17, 256)])
    """

    dataset: DatasetSource
    rank: int
    x: tuple[StructureSet, ...] = ()
    y: tuple[StructureSet, ...] = ()
    solver: Solver = field(default_factory=DEFAULT)
    limits: Limits = field(default_factory=Limits)
    seed: int = 0
    dtype: str | None = None
    title: str = ""
    watch: str = ""
    """A sentence that says what to look at while it runs."""

    def __post_init__(self) -> None:
        checked_rank(self.rank)
        SEED.check(self.seed)
        checked_dtype(self.dtype)

    @property
    def x_set(self) -> StructureSet:
        return combine(self.x)

    @property
    def y_set(self) -> StructureSet:
        return combine(self.y)

    def enforced_sets(self, shape: tuple[int, int]) -> tuple[StructureSet, StructureSet]:
        """The sets that U and V are in: those of the model, or the algorithm's own for an M of this shape."""
        if self.solver.takes_sets:
            return self.x_set, self.y_set
        x, y = self.solver.structure(shape, self.rank)
        return combine(x), combine(y)

    def warnings(self) -> list[str]:
        """What a user should know before running this."""
        sentence = scale_warning(self.x_set, self.y_set)
        return [sentence] if sentence else []

    def problem(self, dataset: Dataset, start: tuple[Any, Any] | None = None) -> Problem:
        """The problem that a solver is given, checked.

        Parameters
        ----------
        dataset : Dataset
            The data, loaded.
        start : (array, array), optional
            Factors X and Y to start from.

        Returns
        -------
        Problem
            M with the sets.
        """
        problem = make_problem(
            dataset.data, self.rank, self.x, self.y, dtype=self.dtype, start=start, labels=dataset.labels, solver=self.solver
        )
        return replace(problem, image_shape=dataset.image_shape)

    def run(self, dataset: Dataset | None = None, start: tuple[Any, Any] | None = None, bounded: bool = False) -> Run:
        """A run at its starting point.

        Parameters
        ----------
        dataset : Dataset, optional
            The data, if it is loaded already.
        start : (array, array), optional
            Factors X and Y to start from.
        bounded : bool
            Keep ever fewer rows of a long history.

        Returns
        -------
        Run
            To be advanced or finished.
        """
        return Run(self.problem(dataset or self.dataset.load(), start), self.solver, self.limits, self.seed, bounded)

    def to_dict(self) -> dict[str, Any]:
        """The spec as JSON types; what is at its default is left out."""
        values: dict[str, Any] = {"title": self.title, "watch": self.watch, "dataset": self.dataset.to_dict(), "rank": self.rank}
        values |= {"x": [s.to_dict() for s in self.x], "y": [s.to_dict() for s in self.y]}
        values |= {"solver": self.solver.to_dict(), "limits": _without_name(self.limits.to_dict())}
        values |= {"seed": self.seed, "dtype": self.dtype}
        return {k: v for k, v in values.items() if v not in ("", None, {})}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    @classmethod
    def from_dict(cls, values: object) -> ModelSpec:
        if not isinstance(values, Mapping):
            raise InvalidInput("spec", "must be a JSON object")
        for name in values:
            if name not in FIELDS:
                raise InvalidInput(str(name), "is not part of a model", f"known are {', '.join(FIELDS)}")
        for name in ("dataset", "rank"):
            if name not in values:
                raise InvalidInput(name, "is missing from the model")
        return cls(
            dataset=DATASETS.build(values["dataset"]),
            rank=checked_rank(values["rank"]),
            x=_sets("x", values.get("x", [])),
            y=_sets("y", values.get("y", [])),
            solver=SOLVERS.build(values.get("solver", {"name": DEFAULT.name})),
            limits=Limits.from_params(_mapping("limits", values.get("limits", {}))),
            seed=values.get("seed", 0),
            dtype=values.get("dtype"),
            title=_text("title", values.get("title", "")),
            watch=_text("watch", values.get("watch", "")),
        )

    @classmethod
    def from_json(cls, text: str) -> ModelSpec:
        return cls.from_dict(parsed_json("spec", text))


@cache
def preset_names() -> tuple[str, ...]:
    """Names of the presets that come with the library: a file each, those that order.json names first.

    Returns
    -------
    tuple of str
        What `preset` takes.

    Examples
    --------
    >>> from semf_core.model import preset_names
    >>> "swimmer-groups" in preset_names()
    True
    """
    folder = resources.files("semf_core") / "presets"
    order = json.loads((folder / "order.json").read_text(encoding="utf-8"))
    found = {file.name.removesuffix(".json") for file in folder.iterdir() if file.name.endswith(".json")} - {"order"}
    return (*order, *sorted(found.difference(order)))


@cache
def preset(name: str) -> ModelSpec:
    """A model that comes with the library.

    Parameters
    ----------
    name : str
        One of `preset_names()`.

    Returns
    -------
    ModelSpec
        The model; it is read once.

    Examples
    --------
    >>> from semf_core.model import preset
    >>> model = preset("swimmer-groups")
    >>> model.rank, [s.name for s in model.y]
    (17, ['nonnegative', 'group_sparse'])
    """
    if name not in preset_names():
        raise InvalidInput("preset", f"there is no {name!r}", f"known are {', '.join(preset_names())}", whole=True)
    text = (resources.files("semf_core") / "presets" / f"{name}.json").read_text(encoding="utf-8")
    return ModelSpec.from_json(text)


def _without_name(values: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in values.items() if k != "name"}


def _sets(field_name: str, values: object) -> tuple[StructureSet, ...]:
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise InvalidInput(field_name, "must be a list of sets")
    return tuple(set_from_dict(v) for v in values)


def _mapping(field_name: str, values: object) -> Mapping[str, Any]:
    if not isinstance(values, Mapping):
        raise InvalidInput(field_name, "must be an object")
    return values


def _text(field_name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidInput(field_name, "must be text")
    return value
