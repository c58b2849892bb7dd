"""What the tests let the child do."""

from __future__ import annotations

import ctypes
import logging
import os
import time

import numpy as np

from semf_core.common.errors import InvalidInput

STATE: list[int] = []


def double(value: int) -> int:
    return 2 * value


def remember(value: int) -> list[int]:
    STATE.append(value)
    return STATE


def reject(index: int) -> None:
    raise InvalidInput("column", "{i} is wrong; take another than {i}", i=index)


def take_memory(megabytes: int) -> int:
    return int(np.ones(megabytes << 17).sum()) >> 17


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def compute() -> None:
    while True:
        pass


def crash() -> None:
    ctypes.string_at(0)


def be_killed() -> None:
    os.kill(os.getpid(), 9)


def fail() -> None:
    raise ZeroDivisionError("a defect")


def talk() -> str:
    print("a library prints this")
    os.write(1, b"and this\n")
    return "quiet"


def complain() -> str:
    logging.getLogger("a reader").error("part 1 of the file is damaged")
    return "quiet"


def large(size: int) -> str:
    return "x" * size
