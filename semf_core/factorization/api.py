"""factorize: the whole engine in one call."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from semf_core.common.parameters import InvalidInput, Param, params_of
from semf_core.common.threads import blas_threads
from semf_core.datasets import Dataset
from semf_core.datasets.base import as_image_shape
from semf_core.datasets.frames import from_frame
from semf_core.factorization.problem import ScaleAmbiguityWarning, make_problem, scale_warning
from semf_core.factorization.result import Result, make_result
from semf_core.sets import StructureSet, combine
from semf_core.solvers import DEFAULT, SOLVERS, Limits, Run, Solver

DATA_OPTIONS = ("mask", "dtype", "start_factors", "labels", "image_shape")
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
    solver: str | Solver = DEFAULT.name,
    **options: Any,
) -> Result:
    """Factorize M ≈ UV with U and V in sets of your choice: min ‖M − UV‖² over U ∈ 𝒳, V ∈ 𝒴 (SeMF eq. 1).

    Parameters
    ----------
    M : array, memory map, scipy.sparse matrix, Dataset or frame
        The data, one sample in each column. NaN entries count as missing. A `Dataset` or a frame (pandas,
        polars) brings the names of its rows and columns, which the result keeps.
    rank : int
        Number of components: U is m × rank, V is rank × n.
    X, Y : structure set or list of them
        What U (the components) and V (the coefficients) must satisfy; of a list, everything at once. Empty: anything.
    seed : int
        Number from which all randomness follows; the same seed gives the same result.
    callback : callable, optional
        `callback(run)` is called after each iteration and stops the run if it returns True.
    threads : int
        BLAS threads; one is fastest for most sizes.
    solver : str or Solver
        Another algorithm, by name (`semf solvers` lists them) or as an object with its options.
    **options
        `mask` (false where an entry is missing), `start_factors` (a pair X, Y to start from), `dtype` ("float32" or
        "float64"), `labels` (the class of each column) and `image_shape` (height and width of a sample) for solvers
        that use them. Every other option is a parameter of the solver (`scale`, `epsilon`, …) or of `Limits`
        (`max_iter`, `tol`, `restarts`, `kick`, `polish`, …).

    Returns
    -------
    Result
        The factors `U` and `V`, the history, and a certificate of what they satisfy.

    Raises
    ------
    InvalidInput
        If an argument is not usable; `field` names it and the message says what to do.

    Examples
    --------
    >>> import numpy as np
    >>> from semf_core import factorize
    >>> from semf_core.sets import Nonnegative, Sparse
    >>> M = np.array([[2.0, 0, 4, 0], [1, 0, 2, 0], [0, 3, 0, 6]])
    >>> result = factorize(M, 2, X=[Nonnegative(), Sparse(2)], Y=[Nonnegative()])
    >>> bool(np.abs(M - result.U @ result.V).max() < 1e-6)
    True
    >>> result.certificate.feasible
    True
    """
    M, known = _with_names(M)
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
    sides = as_image_shape(data.get("image_shape", known.get("image_shape")), problem.shape[0])
    problem = dataclasses.replace(problem, image_shape=sides)
    sentence = scale_warning(*sets)
    if sentence:
        warnings.warn(sentence, ScaleAmbiguityWarning, stacklevel=2)
    with blas_threads(THREADS.check(threads)):
        run = Run(problem, algorithm, limits, SEED.check(seed)).finish(callback)
        return dataclasses.replace(make_result(run), **known)


def _with_names(M: Any) -> tuple[Any, dict[str, Any]]:
    """The matrix itself, and what a Dataset or a frame tells of its rows and columns."""
    if isinstance(M, Dataset):
        return M.data, {"axes": M.axes, "image_shape": M.image_shape}
    found = from_frame(M)
    if found is not None:
        return found[0].to_numpy(), {"axes": found[1]}
    return M, {}


def split_options(solver: str | Solver | type[Solver], options: dict[str, Any]) -> tuple[Solver, Limits]:
    """The solver and the limits that named options describe; unknown names are rejected."""
    cls = type(solver) if isinstance(solver, Solver) else SOLVERS.get(solver) if isinstance(solver, str) else solver
    solver_names = {p.name for p in params_of(cls)}
    limit_names = {p.name for p in params_of(Limits)}
    for name in options:
        if name not in solver_names | limit_names:
            known = ", ".join(sorted(solver_names | limit_names | set(DATA_OPTIONS)))
            raise InvalidInput(name, "is not an option", f"known are {known}")
    own = {k: v for k, v in options.items() if k in solver_names}
    if isinstance(solver, Solver) and own:
        raise InvalidInput(next(iter(own)), "is already set by the solver that was passed", "change it there")
    limits = Limits.from_params({k: v for k, v in options.items() if k in limit_names})
    return (solver if isinstance(solver, Solver) else cls.from_params(own)), limits


def checked_dtype(dtype: Any) -> str | None:
    if dtype is None:
        return None
    name = getattr(dtype, "__name__", None) or str(dtype)
    if name not in {"float32", "float64"}:
        raise InvalidInput("dtype", f"must be float32 or float64, not {name}")
    return name
