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

from semf_core.api import DATA_OPTIONS, SEED, checked_dtype, split_options
from semf_core.distributed.connection import VARIABLE, cluster_address, connect, dask_module
from semf_core.distributed.part import taken
from semf_core.distributed.plans import plan_for
from semf_core.distributed.solver import BlockADMM, RemoteMatrix, distance_from, slot_of
from semf_core.distributed.sources import Block, blocks_of
from semf_core.distributed.team import Team, Traffic
from semf_core.parameters import InvalidInput
from semf_core.problem import ScaleAmbiguityWarning, checked_rank, make_problem, scale_warning
from semf_core.result import Certificate, Result, certify, told_by, violation
from semf_core.sets import StructureSet, combine, members_of
from semf_core.solvers import Run

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
    **options: Any,
) -> BlockResult:
    """min ‖M − UV‖² over U ∈ 𝒳, V ∈ 𝒴 (SeMF eq. 1), with the iterates of `factorize`, on a Dask cluster.

    M is a Dask array whose chunks are whole rows, a memory map, or a list of arrays and .npy files that follow
    one another. Blocks of M, X, U and Λ stay on the workers, one run of blocks each; sums of the size of Y travel.
    A worker keeps the blocks of M that fit into its memory and reads the others again in every iteration.

    `client` is a `distributed.Client`; without one, the cluster that SEMF_DASK names is used, and `folder` must
    say where U and X go. This computer must be able to reach the workers, and the folder must be the same for all.
    With a folder the workers also write their state there every `checkpoint_every` iterations, so that a run goes
    on when a worker is lost; without one it then ends with `WorkerLost`. Other options are those of `factorize`
    with the solver SeMF, except `mask`, `labels`, `polish`, an X to start from, and start="svd".
    """
    data = {name: options.pop(name) for name in DATA_OPTIONS if name in options}
    _refuse(data, options)
    solver, limits = split_options(BlockADMM, options)
    x_set, y_set = (combine(tuple(s)) if not isinstance(s, StructureSet) else s for s in (X, Y))
    blocks, rank = blocks_of(M), checked_rank(rank)
    shape = (sum(b.shape[0] for b in blocks), blocks[0].shape[1])
    dtype = _working(blocks, checked_dtype(data.get("dtype")))
    plan = plan_for(x_set, (shape[0], rank))
    place = Path(folder).resolve() if folder is not None else None
    if place is not None:
        place.mkdir(parents=True, exist_ok=True)
    with _direct(client, place) as direct, closing(Team(direct, blocks, rank, dtype, place)) as team:
        matrix = RemoteMatrix(team, plan, shape, dtype, rank)
        problem = make_problem(matrix, rank, x_set, y_set, start=data.get("start_factors"), solver=solver)
        sentence = scale_warning(x_set, y_set)
        if sentence:
            warnings.warn(sentence, ScaleAmbiguityWarning, stacklevel=2)
        run = Run(problem, solver, limits, SEED.check(seed))
        before = replace(team.traffic)
        run.finish(callback)
        traffic = team.traffic.since(before)
        return _result(run, traffic, _Keeper(client, team, place))


def _refuse(data: dict[str, Any], options: dict[str, Any]) -> None:
    for name in ("mask", "labels"):
        if data.get(name) is not None:
            raise InvalidInput(name, "is not possible on blocks of rows; use factorize")
    if options.get("polish"):
        raise InvalidInput("polish", "is not possible on blocks of rows; leave it out")


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
    team: Team
    folder: Path | None

    def factors(self, slot: int, columns: int, dtype: np.dtype) -> dict[str, Any]:
        """U and X as Dask arrays of the blocks."""
        kept = self._on_cluster if self.folder is None else self._in_folder
        return {name: kept(name, slot, columns, dtype) for name in ("U", "X")}

    def _in_folder(self, name: str, slot: int, columns: int, dtype: np.dtype) -> Any:
        """A stack of .npy files, which the workers write."""
        rows = [b.shape[0] for member in self.team.members for b in member.share.blocks]
        stack = (self.folder or Path()) / name
        stack.mkdir(exist_ok=True)
        names = (str(stack / f"{i}.npy") for i in count())
        paths = [[next(names) for _ in member.share.blocks] for member in self.team.members]
        self.team.ask_each("write", [(slot, name == "X", part) for part in paths])
        with (stack / "info").open("wb") as file:
            pickle.dump({"chunks": (tuple(rows), (columns,)), "dtype": dtype, "axis": 0}, file)
        return dask_module("dask.array").from_npy_stack(str(stack))

    def _on_cluster(self, name: str, slot: int, columns: int, dtype: np.dtype) -> Any:
        """Data of the workers that the parts are on."""
        arrays, futures, blocks = dask_module("dask.array"), [], []
        for member in self.team.members:
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
        certificate=_certificate(run, keeper.team, slot, Z),
        traffic=traffic,
        **keeper.factors(slot, p, run.problem.matrix.dtype),
        **told_by(run),
    )


def _certificate(run: Run, team: Team, slot: int, Z: np.ndarray) -> Certificate:
    """As `certify`, where U is measured by the workers."""
    problem, p = run.problem, run.problem.rank
    counts, squares, gaps = zip(*team.ask("facts", slot), strict=True)
    norm = float(np.sqrt(sum(squares)))
    of_u = [
        violation("U", member, distance_from(team, plan_for(member, (problem.shape[0], p)), slot), norm)
        for member in members_of(problem.x_set)
    ]
    V = Z[p:]
    gap_y = float(np.linalg.norm(Z[:p] - V))
    of_v = certify({"V": problem.y_set}, {"U": np.empty((0, p)), "V": V}, (float(np.sqrt(sum(gaps))), gap_y))
    return replace(of_v, violations=(*of_u, *of_v.violations), nonzeros_u=np.sum(counts, axis=0))
