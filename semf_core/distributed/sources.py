"""Where the rows of M come from: blocks that a worker reads by itself, or that are sent to it once."""

from __future__ import annotations

import mmap
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.sparse import issparse

from semf_core.common.errors import InvalidInput
from semf_core.distributed.connection import dask_module

Array = np.ndarray
BLOCK_BYTES = 1 << 25
"""Size of the blocks that a memory map is cut into."""


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows of M."""

    shape: tuple[int, int]
    dtype: np.dtype
    resident: ClassVar[bool] = False
    """The numbers are in memory wherever the block is, so there is nothing to let go."""

    def load(self) -> Array:
        """The rows."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class ArrayBlock(Block):
    """Rows that are sent to their worker once and stay there."""

    array: Array
    resident: ClassVar[bool] = True

    def load(self) -> Array:
        return self.array


@dataclass(frozen=True, eq=False)
class FileBlock(Block):
    """Rows that stand in a file, .npy or plain, which the worker can open."""

    path: str
    offset: int
    order: Literal["C", "F"] = "C"

    def load(self) -> Array:
        return np.memmap(self.path, self.dtype, "r", self.offset, self.shape, self.order)


@dataclass(frozen=True, eq=False)
class GraphBlock(Block):
    """Rows of a Dask array, as the tasks that read them. Pickled, so that no one computes them on the way."""

    tasks: bytes

    def load(self) -> Array:
        found: Array = pickle.loads(self.tasks).compute(scheduler="synchronous")
        return found


def blocks_of(M: Any) -> list[Block]:
    """M as blocks of rows: a Dask array cut along its rows alone, a memory map, or a list of arrays and .npy files."""
    blocks: list[Block]
    if hasattr(M, "__dask_graph__") and hasattr(M, "chunks"):
        blocks = _of_dask(M)
    elif isinstance(M, np.memmap):
        blocks = list(_of_map(M))
    elif isinstance(M, Sequence) and not isinstance(M, str):
        blocks = [_given(i, b) for i, b in enumerate(M)]
    else:
        kinds = "a Dask array, a memory map, or a list of arrays or of .npy files with the rows"
        raise InvalidInput("M", f"must be {kinds}, not {type(M).__name__}", "for a matrix in memory there is factorize")
    blocks = [b for b in blocks if b.shape[0]]
    if not blocks or not blocks[0].shape[1]:
        raise InvalidInput("M", "is empty")
    for i, b in enumerate(blocks):
        if b.shape[1] != blocks[0].shape[1]:
            raise InvalidInput("M", f"block {i} has {b.shape[1]} columns, but the first one has {blocks[0].shape[1]}", whole=True)
        if b.dtype.kind not in "fiub":
            raise InvalidInput("M", f"must hold real numbers, not {b.dtype} (block {i})")
    return blocks


def _of_dask(M: Any) -> list[Block]:
    if M.ndim != 2:
        raise InvalidInput("M", f"must be a matrix (two dimensions), not of shape {M.shape}")
    if np.isnan(np.array(M.shape, float)).any():
        raise InvalidInput("M", "has chunks of unknown size", "call compute_chunk_sizes() first")
    if len(M.chunks[1]) > 1:
        raise InvalidInput(
            "M", f"its rows are cut into {len(M.chunks[1])} pieces", "rechunk({1: -1}) makes blocks of whole rows", whole=True
        )
    if dask_module("distributed").client.futures_of(M):
        raise InvalidInput("M", "is already on a cluster", "pass the array as it was before persist(): the workers read it")
    if any(isinstance(getattr(task, "value", task), np.memmap) for task in dict(M.__dask_graph__()).values()):
        raise InvalidInput("M", "is made of a memory map, which would be sent as a whole", "pass the memory map itself")
    blocks = (M.blocks[i] for i in range(M.numblocks[0]))
    return [_graph(dask_module("dask").optimize(block)[0]) for block in blocks]


def _graph(block: Any) -> Block:
    try:
        tasks = dask_module("distributed").protocol.pickle.dumps(block)
    except (TypeError, pickle.PicklingError) as error:
        readers = "let the workers open the files themselves, as from_npy_stack, from_zarr or from_delayed do"
        raise InvalidInput("M", f"its chunks cannot be sent to workers ({error})", readers, whole=True) from None
    if len(tasks) > block.nbytes / 2:  # the numbers themselves are in there, in memory
        return _in_memory(np.asarray(block.compute(scheduler="synchronous")))
    return GraphBlock((int(block.shape[0]), int(block.shape[1])), block.dtype, tasks)


def _in_memory(array: Array) -> Block:
    return ArrayBlock((array.shape[0], array.shape[1]), array.dtype, array)


def _of_map(M: np.memmap) -> Iterator[Block]:
    """Blocks of about BLOCK_BYTES of a file."""
    if M.ndim != 2 or not isinstance(M.base, mmap.mmap) or not M.flags.c_contiguous or M.filename is None:
        raise InvalidInput("M", "must be a memory map of a whole matrix, row by row as in its file; not a part or a transpose")
    step = max(1, BLOCK_BYTES // max(1, M.shape[1] * M.itemsize))
    for first in range(0, M.shape[0], step):
        rows = min(step, M.shape[0] - first)
        yield FileBlock((rows, M.shape[1]), M.dtype, str(M.filename), M.offset + first * M.strides[0])


def _given(number: int, block: Any) -> Block:
    if issparse(block):
        raise InvalidInput("M", f"block {number} is sparse", "pass block.toarray(), or the whole matrix to factorize", whole=True)
    if not isinstance(block, str | Path):
        array = np.asarray(block)
    else:
        try:
            array = np.load(block, mmap_mode="r")
        except (OSError, ValueError) as error:
            raise InvalidInput(
                "M", f"block {number}: {block} is not a .npy file that can be read ({error})", whole=True
            ) from None
    if array.ndim != 2:
        raise InvalidInput("M", f"block {number} must be a matrix (two dimensions), not of shape {array.shape}", whole=True)
    if not isinstance(array, np.memmap):
        return _in_memory(array)
    order: Literal["C", "F"] = "C" if array.flags.c_contiguous else "F"
    return FileBlock((array.shape[0], array.shape[1]), array.dtype, str(array.filename), array.offset, order)
