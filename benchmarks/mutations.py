"""Broken and hostile snapshot files without end: damaged bytes, and files that are whole but lie."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable
from typing import Any

import numpy as np

from semf_core.snapshots.archive import packed
from semf_core.snapshots.content import npy_bytes

Members = dict[str, bytes]
ODD: tuple[Any, ...] = (
    None, True, -1, 0, 3, 10**30, 1e308, -1e-9, float("nan"), float("inf"),
    "", "custom", "../../x", "\ud800", "<script>alert(1)</script>",
    "x" * 6000, [], {}, [[]], [1, 2], {"name": "custom"}, {"name": "nothing"}, {"name": "file", "path": "/etc/hostname"},
)  # fmt: skip
DTYPES = ("<f8", "<f4", "<i8", "<i2", "|u1", "<c16", "|O", "<U3", "|b1", "<M8[s]", "<f2", ">f8", "|V4")


def mutated(members: Members, seed: int) -> bytes:
    """A file made from a good one by one to three changes; the seed decides which."""
    rng = random.Random(seed)
    if rng.random() < 0.3:
        return damaged(packed(members), rng)
    changed = dict(members)
    for _ in range(rng.choice((1, 1, 2, 3))):
        change, ending = rng.choice(CHANGES)
        whole = [name for name in changed if changed[name] is members.get(name) and name.endswith(ending)]
        change(changed, rng.choice(whole), rng)
    data = packed(changed)
    return damaged(data, rng) if rng.random() < 0.05 else data


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Bytes flipped, cut off, repeated or exchanged."""
    broken = bytearray(data)
    way = rng.randrange(4)
    if way == 0:
        for _ in range(rng.choice((1, 2, 10))):
            broken[rng.randrange(len(broken))] ^= 1 << rng.randrange(8)
    elif way == 1:
        del broken[rng.randrange(len(broken)) :]
    elif way == 2:
        at = rng.randrange(len(broken))
        broken[at:at] = rng.randbytes(rng.randrange(1, 40))
    else:
        at = rng.randrange(len(broken))
        del broken[at : at + rng.randrange(1, 40)]
    return bytes(broken)


def change_json(members: Members, name: str, rng: random.Random) -> None:
    """Another value somewhere in a JSON member."""
    value = json.loads(members[name])
    holder, key = _somewhere(value, rng)
    if holder is None:
        value = rng.choice(ODD)
    elif rng.random() < 0.2:
        del holder[key]
    else:
        holder[key] = rng.choice(ODD)
    members[name] = json.dumps(value).encode()


def _somewhere(value: Any, rng: random.Random) -> tuple[Any, Any]:
    """A random place below a JSON value: its container and the key there."""
    holder, key = None, None
    while isinstance(value, dict | list) and value and (holder is None or rng.random() < 0.7):
        holder, key = value, rng.choice(list(value)) if isinstance(value, dict) else rng.randrange(len(value))
        value = holder[key]
    return holder, key


def _change_array(members: Members, name: str, rng: random.Random) -> None:
    """Another shape, type or content of an array."""
    shape = tuple(rng.randrange(6) for _ in range(rng.randrange(4)))
    dtype = np.dtype(rng.choice(DTYPES))
    way = rng.randrange(3)
    if way == 0:
        head = repr({"descr": dtype.str, "fortran_order": bool(rng.randrange(2)), "shape": rng.choice((shape, (10**9, 10**9)))})
        text = head.encode().ljust(118) + b"\n"
        members[name] = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + rng.randbytes(rng.randrange(200))
    elif way == 1:
        members[name] = npy_bytes(np.full(shape, rng.choice((0.0, 1.0, np.nan, np.inf, -1.0, 1e300))))
    else:
        array = np.lib.format.read_array(io.BytesIO(members[name]), allow_pickle=False).copy()
        if array.size and array.dtype.kind == "f":
            array.reshape(-1)[rng.randrange(array.size)] = rng.choice((np.nan, np.inf, -5.0, 1e200))
        members[name] = npy_bytes(array.reshape(array.shape[::-1]) if rng.random() < 0.3 else array)


def _change_bytes(members: Members, name: str, rng: random.Random) -> None:
    members[name] = rng.randbytes(rng.randrange(300)) if rng.random() < 0.5 else damaged(members[name] + b" ", rng)


def _drop(members: Members, name: str, rng: random.Random) -> None:
    del members[name]


def _add(members: Members, name: str, rng: random.Random) -> None:
    outside = ("../evil", "/etc/passwd", "a//b", "evil.py")
    inside = ("history/x.npy", "checkpoint/x.npy", "result/U.npy", "data/x.npy")
    members[rng.choice(outside + inside)] = rng.choice((b"", b"x" * 50, npy_bytes(np.zeros((3, 3)))))


CHANGES: tuple[tuple[Callable[[Members, str, random.Random], None], str], ...] = (
    *[(change_json, ".json")] * 3, *[(_change_array, ".npy")] * 3, (_change_bytes, ""), (_drop, ""), (_add, ""),
)  # fmt: skip
"""What may be changed, and how the name of the member must end; no member is changed twice."""
