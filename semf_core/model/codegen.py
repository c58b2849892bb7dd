"""A model as text: the Python code that does the same, and JSON that people can read."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

from semf_core.common.parameters import Parametrized, params_of
from semf_core.datasets import DATASETS, DatasetSource
from semf_core.model import ModelSpec
from semf_core.sets import Intersection, StructureSet
from semf_core.solvers import DEFAULT

WIDTH = 100
BUILT_IN = "semf_core.datasets."


def python_code(spec: ModelSpec) -> str:
    """Python code that runs a model and leaves its outcome in `result`; the same seed gives the same numbers.

    Parameters
    ----------
    spec : ModelSpec
        The model.

    Returns
    -------
    str
        A script. Uploaded data is named as a file to be filled in.

    Examples
    --------
    >>> from semf_core.model import preset
    >>> from semf_core.model.codegen import python_code
    >>> print(python_code(preset("lsi")))
    # Titles in a space of concepts
    ...
    from semf_core import factorize
    from semf_core.datasets import Titles
    <BLANKLINE>
    M = Titles().load()
    result = factorize(
        M,
        rank=4,
        solver='lsi',
    ...
    """
    imports: dict[str, set[str]] = {"semf_core": {"factorize"}}
    load = _data_lines(spec.dataset, spec.solver.uses_labels, imports)
    arguments = [f"rank={spec.rank}"] + ["labels=labels"] * spec.solver.uses_labels
    arguments += [f"{name}={_sets(sets, imports)}" for name, sets in (("X", spec.x), ("Y", spec.y)) if sets]
    if spec.solver.name != DEFAULT.name:
        arguments.append(f"solver={spec.solver.name!r}")
    arguments += _options(spec.solver, imports) + _options(spec.limits, imports)
    if spec.dtype is not None:
        arguments.append(f"dtype={spec.dtype!r}")
    arguments.append(f"seed={spec.seed}")
    call = "result = factorize(\n    M,\n" + "".join(f"    {a},\n" for a in arguments) + ")"
    head = [f"# {line}" for line in (spec.title, spec.watch) if line and line.isprintable()]
    tail = 'print(f"{result.iterations} iterations, relative error {result.relative_error:.4g}. {result.ending.text}")'
    lines = [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(imports.items()) if names]
    if any("np." in a for a in [*arguments, *load]):
        lines.insert(0, "import numpy as np\n")
    return "\n".join([*head, *lines, "", *load, call, tail]) + "\n"


def readable_json(value: Any, margin: str = "") -> str:
    """JSON in which a list or object stands on one line where it is short.

    Parameters
    ----------
    value : dict, list, str, number, bool or None
        What is to be written.
    margin : str
        Blanks before each further line.

    Returns
    -------
    str
        JSON.

    Examples
    --------
    >>> from semf_core.model.codegen import readable_json
    >>> print(readable_json({"rank": 2, "x": [{"name": "sparse", "k": 3}]}))
    {"rank": 2, "x": [{"name": "sparse", "k": 3}]}
    """
    line = json.dumps(value, ensure_ascii=False)
    if len(margin) + len(line) <= WIDTH or not isinstance(value, dict | list) or not value:
        return line
    deeper = margin + "  "
    if isinstance(value, dict):
        inner = [f"{json.dumps(k, ensure_ascii=False)}: {readable_json(v, deeper)}" for k, v in value.items()]
        return "{\n" + ",\n".join(deeper + piece for piece in inner) + f"\n{margin}}}"
    if not any(isinstance(v, dict | list) for v in value):
        return line
    return "[\n" + ",\n".join(deeper + readable_json(v, deeper) for v in value) + f"\n{margin}]"


def _data_lines(source: DatasetSource, labels: bool, imports: dict[str, set[str]]) -> list[str]:
    if type(source) in DATASETS.everything() and type(source).__module__.startswith(BUILT_IN):
        if labels:
            return [f"dataset = {_call(source, imports)}.load()", "M, labels = dataset, dataset.labels"]
        return [f"M = {_call(source, imports)}.load()"]
    lines = ["# The data was uploaded: put the path of your own file here (samples in columns).", 'M = np.load("data.npy")']
    return lines + ['labels = np.load("labels.npy")  # the class of each sample'] * labels


def _sets(sets: tuple[StructureSet, ...], imports: dict[str, set[str]]) -> str:
    calls = [_call(s, imports) for s in sets]
    one_line = f"[{', '.join(calls)}]"
    if len(one_line) <= WIDTH:
        return one_line
    return "[\n" + "".join(f"        {c},\n" for c in calls) + "    ]"


def _call(value: Parametrized, imports: dict[str, set[str]]) -> str:
    """The constructor call that makes an equal value."""
    cls = type(value)
    package = cls.__module__.rpartition(".")[0]
    exported = getattr(sys.modules.get(package), cls.__name__, None) is cls
    imports.setdefault(package if exported else cls.__module__, set()).add(cls.__name__)
    arguments = _options(value, imports)
    if isinstance(value, Intersection):
        arguments.insert(0, f"({''.join(_call(s, imports) + ', ' for s in value.sets)})")
    return f"{cls.__name__}({', '.join(arguments)})"


def _options(value: Parametrized, imports: dict[str, set[str]]) -> list[str]:
    changed = value.to_dict()
    return [f"{p.name}={_literal(getattr(value, p.name))}" for p in params_of(type(value)) if p.name in changed]


def _literal(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"np.array({value.astype(int).tolist() if value.dtype == bool else value.tolist()})"
    return repr(value)
