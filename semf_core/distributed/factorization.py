"""factorize_blocks: the engine on a matrix whose rows are spread over a cluster."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from itertools import count
from operator import getitem
from pathlib import Path
from typing import Any

import numpy as np

from semf_core.common.errors import InvalidInput
from semf_core.distributed.block_worker import taken
from semf_core.distributed.cluster import Cluster, Traffic
from semf_core.distributed.connection import VARIABLE, cluster_address, connect, dask_module
from semf_core.distributed.plans import plan_for
from semf_core.distributed.solver import BLOCK_SOLVERS, RemoteMatrix, distance_from, slot_of
from semf_core.distributed.sources import Block, blocks_of
from semf_core.factorization.api import DATA_OPTIONS, SEED, checked_dtype, split_options
from semf_core.factorization.ending import ending, finish_of
from semf_core.factorization.problem import ScaleAmbiguityWarning, checked_rank, make_problem, scale_warning
from semf_core.factorization.result import Certificate, Result, certify, told_by, violation
from semf_core.sets import StructureSet, combine, members_of
from semf_core.solvers import DEFAULT, Run

Sets = Sequence[StructureSet] | StructureSet


@dataclass(frozen=True)
class BlockResult(Result):
    """As `Result`, with U and X as Dask arrays whose chunks are the blocks of M.

    With a folder they are read from there, by any scheduler and at any time; without one they are on the
    cluster as long as its client is open.
    """

    traffic: Traffic
    """What travelled between the client and the workers, from the first to the last iteration."""


def factorize_blocks(
    M: Any,
    rank: int,
    X: Sets = (),
    Y: Sets = (),
    *,
    client: Any = None,
    folder: str | Path | None = None,
    seed: int = 0,
    callback: Callable[[Run], object] | None = None,
    solver: str = DEFAULT.name,
    **options: Any,
) -> BlockResult:
    """Factorize a matrix in blocks of rows on a Dask cluster, with the iterates of `factorize` (SeMF eq. 1).

    Blocks of M, X, U and Λ stay on the workers, one run of blocks each; sums of the size of Y travel. A worker keeps
    the blocks of M that fit into its memory and reads the others again in every iteration. This computer must be able
    to reach the workers, and a folder must be the same for all.

    Parameters
    ----------
    M : dask.array, memory map, or list of arrays and .npy files
        The data; chunks are whole rows, and what a list names follows one another.
    rank : int
        Number of components.
    X, Y : structure set or list of them
        What U and V must satisfy.
    client : distributed.Client, optional
        The cluster; without one, that which SEMF_DASK names, and then `folder` is needed.
    folder : str or Path, optional
        Where U and X go. The workers also write their state there every `checkpoint_every` iterations, so that a run
        goes on when a worker is lost; without a folder it then ends with `WorkerLost`.
    seed : int
        Number from which all randomness follows.
    callback : callable, optional
        `callback(run)` is called after each iteration and stops the run if it returns True.
    solver : {'semf-relative', 'semf'}
        The algorithm.
    **options
        Those of `factorize`, except `mask`, `labels`, `polish`, an X to start from, and start="svd". There is no descent
        at the end, so the iterates are those of `factorize` with descend=False.

    Returns
    -------
    BlockResult
        As `Result`, with U and X as Dask arrays.

    Examples
    --------
    >>> from distributed import Client, LocalCluster
    >>> from semf_core.distributed import factorize_blocks
    >>> from semf_core.sets import Nonnegative
    >>> M = np.random.default_rng(0).random((40, 12))
    >>> with LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as cluster:
    ...     with Client(cluster) as client:
    ...         result = factorize_blocks([M[:20], M[20:]], 3, X=[Nonnegative()], client=client, max_iter=20)
    ...         U = result.U.compute()
    >>> U.shape, result.certificate.feasible
    ((40, 3), True)
    """
    data = {name: options.pop(name) for name in DATA_OPTIONS if name in options}
    _check_options(data, options)
    if solver not in BLOCK_SOLVERS:
        raise InvalidInput(
            "solver", f"{solver} does not work on blocks of rows", f"known are {', '.join(BLOCK_SOLVERS)}", whole=True
        )
    algorithm, limits = split_options(BLOCK_SOLVERS[solver], options)
    x_set, y_set = (combine(tuple(s)) if not isinstance(s, StructureSet) else s for s in (X, Y))
    blocks, rank = blocks_of(M), checked_rank(rank)
    shape = (sum(b.shape[0] for b in blocks), blocks[0].shape[1])
    dtype = _working(blocks, checked_dtype(data.get("dtype")))
    plan = plan_for(x_set, (shape[0], rank))
    place = Path(folder).resolve() if folder is not None else None
    if place is not None:
        place.mkdir(parents=True, exist_ok=True)
    with _direct(client, place) as direct, closing(Cluster(direct, blocks, rank, dtype, place)) as cluster:
        matrix = RemoteMatrix(cluster, plan, shape, dtype, rank)
        problem = make_problem(matrix, rank, x_set, y_set, start=data.get("start_factors"), solver=algorithm)
        sentence = scale_warning(x_set, y_set)
        if sentence:
            warnings.warn(sentence, ScaleAmbiguityWarning, stacklevel=2)
        run = Run(problem, algorithm, limits, SEED.check(seed))
        before = replace(cluster.traffic)
        run.finish(callback)
        traffic = cluster.traffic.since(before)
        return _result(run, traffic, _Keeper(client, cluster, place))


def _check_options(data: dict[str, Any], options: dict[str, Any]) -> None:
    for name in ("mask", "labels"):
        if data.get(name) is not None:
            raise InvalidInput(name, "is not possible on blocks of rows", "use factorize")
    if options.get("polish"):
        raise InvalidInput("polish", "is not possible on blocks of rows", "leave it out")


def _working(blocks: Sequence[Block], dtype: str | None) -> np.dtype:
    """The precision asked for, or that of the blocks."""
    if dtype is not None:
        return np.dtype(dtype)
    return np.dtype(np.float32 if all(b.dtype == np.float32 for b in blocks) else np.float64)


@contextmanager
def _direct(client: Any, folder: Path | None) -> Iterator[Any]:
    """A connection that talks to the workers themselves: what passes through the scheduler takes several times as long."""
    address = cluster_address() if client is None else client.scheduler.address
    if not address:
        raise InvalidInput("client", f"is missing: pass a distributed.Client, or set {VARIABLE} to a scheduler's address")
    if client is None and folder is None:
        raise InvalidInput("folder", "is missing: say where the workers put U and X, since the connection is closed afterwards")
    security = {} if client is None else {"security": client.security}
    with connect(address, direct_to_workers=True, **security) as direct, direct.as_current():
        yield direct


@dataclass(frozen=True)
class _Keeper:
    """Where U and X are put so that they outlive the parts."""

    client: Any
    cluster: Cluster
    folder: Path | None

    def factors(self, slot: int, columns: int, dtype: np.dtype) -> dict[str, Any]:
        """U and X as Dask arrays of the blocks."""
        kept = self._on_cluster if self.folder is None else self._in_folder
        return {name: kept(name, slot, columns, dtype) for name in ("U", "X")}

    def _in_folder(self, name: str, slot: int, columns: int, dtype: np.dtype) -> Any:
        """A stack of .npy files, which the workers write."""
        rows = [b.shape[0] for member in self.cluster.members for b in member.share.blocks]
        stack = (self.folder or Path()) / name
        stack.mkdir(exist_ok=True)
        names = (str(stack / f"{i}.npy") for i in count())
        paths = [[next(names) for _ in member.share.blocks] for member in self.cluster.members]
        self.cluster.ask_each("write", [(slot, name == "X", part) for part in paths])
        with (stack / "info").open("wb") as file:
            pickle.dump({"chunks": (tuple(rows), (columns,)), "dtype": dtype, "axis": 0}, file)
        return dask_module("dask.array").from_npy_stack(str(stack))

    def _on_cluster(self, name: str, slot: int, columns: int, dtype: np.dtype) -> Any:
        """Data of the workers that the parts are on."""
        arrays, futures, blocks = dask_module("dask.array"), [], []
        for member in self.cluster.members:
            here = {"workers": [member.address], "pure": False}
            whole = self.client.submit(taken, member.name, slot, name == "X", **here)
            for number, block in enumerate(member.share.blocks):
                futures.append(self.client.submit(getitem, whole, number, **here))
                blocks.append(arrays.from_delayed(futures[-1], (block.shape[0], columns), dtype))
        with self.client.as_current():  # a wait by another client notices only after seconds
            dask_module("distributed").wait(futures)
        return arrays.concatenate(blocks)


def _result(run: Run, traffic: Traffic, keeper: _Keeper) -> BlockResult:
    """The best factors of a run with their certificate."""
    W, Z = run.best
    p, slot = run.problem.rank, slot_of(W)
    return BlockResult(
        V=Z[p:].copy(),
        Y=Z[:p].copy(),
        certificate=_certificate(run, keeper.cluster, slot, Z),
        traffic=traffic,
        ending=ending(finish_of(run, np.ones((1, p)), Z[p:])),
        **keeper.factors(slot, p, run.problem.matrix.dtype),
        **told_by(run),
    )


def _certificate(run: Run, cluster: Cluster, slot: int, Z: np.ndarray) -> Certificate:
    """As `certify`, where U is measured by the workers."""
    problem, p = run.problem, run.problem.rank
    counts, squares, gaps = zip(*cluster.ask("facts", slot), strict=True)
    norm = float(np.sqrt(sum(squares)))
    of_u = [
        violation("U", member, distance_from(cluster, plan_for(member, (problem.shape[0], p)), slot), norm)
        for member in members_of(problem.x_set)
    ]
    V = Z[p:]
    gap_y = float(np.linalg.norm(Z[:p] - V))
    of_v = certify({"V": problem.y_set}, {"U": np.empty((0, p)), "V": V}, (float(np.sqrt(sum(gaps))), gap_y))
    return replace(of_v, violations=(*of_u, *of_v.violations), nonzeros_u=np.sum(counts, axis=0))
