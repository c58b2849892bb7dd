"""The same in Python: generated code runs, and gives the numbers of the spec's own run."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from semf_core.datasets import SparseCodes
from semf_core.model import ModelSpec, preset, preset_names
from semf_core.model.codegen import python_code, readable_json
from semf_core.sets import SETS, Intersection, Nonnegative, Sparse
from semf_core.solvers import ADMM, Limits

SMALL = SparseCodes(rows=6, atoms=4, samples=30, nonzeros=2)


def short(spec: ModelSpec) -> ModelSpec:
    """The same model for a few iterations."""
    return dataclasses.replace(spec, limits=dataclasses.replace(spec.limits, max_iter=4, restarts=1, polish=0))


def finished(spec: ModelSpec):
    """The spec's own run, with one BLAS thread as `factorize` has: the order of sums decides the last digits."""
    with threadpool_limits(1, user_api="blas"):
        return spec.run().finish()


def executed(spec: ModelSpec):
    names: dict = {}
    exec(compile(python_code(spec), "generated", "exec"), names)  # the code is the product under test
    return names["result"]


@pytest.mark.parametrize("name", preset_names())
def test_generated_code_repeats_the_run(name, capsys):
    spec = short(preset(name))
    own = finished(spec)
    again = executed(spec)
    assert np.array_equal(again.history.residual_uv, own.history.residual_uv)
    assert np.array_equal(again.history.residual_xy, own.history.residual_xy)
    assert str(again.iterations) in capsys.readouterr().out


@pytest.mark.parametrize("cls", list(SETS), ids=lambda cls: cls.name)
def test_every_set_has_code_that_makes_it(cls):
    spec = ModelSpec(SMALL, 4, (cls.from_params(cls.example),), limits=Limits(max_iter=3))
    names: dict = {}
    head, _, call = python_code(spec).partition("result = ")
    exec(head, names)
    arguments = eval(call.partition("\nprint")[0].replace("factorize(\n    M,", "dict("), names)
    assert tuple(arguments["X"]) == spec.x


def test_options_precision_and_nested_sets_are_kept():
    both = Intersection((Nonnegative(), Sparse(k=2)), method="successive", rounds=3)
    spec = ModelSpec(SMALL, 4, (both,), solver=ADMM(penalty="scale"), limits=Limits(max_iter=20), seed=3, dtype="float32")
    result = executed(spec)
    assert result.U.dtype == np.float32
    assert np.array_equal(result.history.residual_uv, finished(spec).history.residual_uv)


@pytest.mark.parametrize("name", preset_names())
def test_readable_json_is_the_same_json(name):
    text = readable_json(preset(name).to_dict())
    assert ModelSpec.from_json(text) == preset(name)
    assert text.count("\n") < 30


def test_a_title_cannot_smuggle_code():
    spec = dataclasses.replace(short(ModelSpec(SMALL, 4)), title="x\nraise SystemExit", watch="y\u2028raise SystemExit")
    assert "SystemExit" not in python_code(spec)
    executed(spec)
