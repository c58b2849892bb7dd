"""factorize: the whole engine in one call."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from semf_core.parameters import InvalidInput, Param, params_of
from semf_core.problem import ScaleAmbiguityWarning, make_problem, scale_warning
from semf_core.result import Result, make_result
from semf_core.sets import StructureSet, combine
from semf_core.solvers import SOLVERS, Limits, Run, Solver
from semf_core.threads import blas_threads

DATA_OPTIONS = ("mask", "dtype", "start_factors", "labels")
SEED = Param("integer", 0, low=0, high=2**63 - 1, help="number from which all randomness follows", name="seed")
THREADS = Param("integer", 1, low=1, high=1024, help="BLAS threads; one is fastest for most sizes", name="threads")


def factorize(
    M: Any,
    rank: int,
    X: Sequence[StructureSet] | StructureSet = (),
    Y: Sequence[StructureSet] | StructureSet = (),
    *,
    seed: int = 0,
    callback: Callable[[Run], object] | None = None,
    threads: int = 1,
    solver: str | Solver = "semf",
    **options: Any,
) -> Result:
    """min ‖M − UV‖² over U ∈ 𝒳, V ∈ 𝒴 (SeMF eq. 1); X and Y list the sets whose intersections these are.

    M may be dense, memory-mapped or scipy.sparse; NaN entries, or those where `mask` is false, count as
    missing. `start_factors=(X, Y)` starts from given factors, `dtype` sets the precision, `labels` gives the
    class of each column to a solver that uses it, and `solver` names another algorithm. Every other
    option is a parameter of the solver (`alpha0`, `penalty`, …) or of `Limits` (`max_iter`, `restarts`,
    `kick`, `polish`, …). `callback(run)` is called after each iteration and stops the run if it returns True.
    """
    data = {name: options.pop(name) for name in DATA_OPTIONS if name in options}
    algorithm, limits = split_options(solver, options)
    sets = tuple(combine(tuple(s)) if not isinstance(s, StructureSet) else s for s in (X, Y))
    problem = make_problem(
        M,
        rank,
        sets[0],
        sets[1],
        mask=data.get("mask"),
        dtype=checked_dtype(data.get("dtype")),
        start=data.get("start_factors"),
        labels=data.get("labels"),
        solver=algorithm,
    )
    sentence = scale_warning(*sets)
    if sentence:
        warnings.warn(sentence, ScaleAmbiguityWarning, stacklevel=2)
    with blas_threads(THREADS.check(threads)):
        run = Run(problem, algorithm, limits, SEED.check(seed)).finish(callback)
        return make_result(run)


def split_options(solver: str | Solver | type[Solver], options: dict[str, Any]) -> tuple[Solver, Limits]:
    """The solver and the limits that named options describe; unknown names are refused."""
    cls = type(solver) if isinstance(solver, Solver) else SOLVERS.get(solver) if isinstance(solver, str) else solver
    solver_names = {p.name for p in params_of(cls)}
    limit_names = {p.name for p in params_of(Limits)}
    for name in options:
        if name not in solver_names | limit_names:
            known = ", ".join(sorted(solver_names | limit_names | set(DATA_OPTIONS)))
            raise InvalidInput(name, f"is not an option; known are {known}")
    own = {k: v for k, v in options.items() if k in solver_names}
    if isinstance(solver, Solver) and own:
        raise InvalidInput(next(iter(own)), "is already set by the solver that was passed; change it there")
    limits = Limits.from_params({k: v for k, v in options.items() if k in limit_names})
    return (solver if isinstance(solver, Solver) else cls.from_params(own)), limits


def checked_dtype(dtype: Any) -> str | None:
    if dtype is None:
        return None
    name = getattr(dtype, "__name__", None) or str(dtype)
    if name not in {"float32", "float64"}:
        raise InvalidInput("dtype", f"must be float32 or float64, not {name}")
    return name
