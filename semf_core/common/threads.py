"""How many threads the linear algebra may use."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from threadpoolctl import ThreadpoolController, threadpool_limits


@contextmanager
def blas_threads(count: int) -> Iterator[None]:
    """This many BLAS threads inside the block; scipy's own copy of BLAS always gets one.

    numpy and scipy wheels bring a library each. With two pools the idle threads of one spin on the
    cores that the other wants, which makes an iteration several times slower.
    """
    with threadpool_limits(count, user_api="blas"):
        for library in ThreadpoolController().lib_controllers:
            if "scipy.libs" in library.filepath:
                library.set_num_threads(1)
        yield


class _OneThread:
    """How many blocks want a single BLAS thread now; the limit is that of the whole process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.limit = ExitStack()


_ONE = _OneThread()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """`blas_threads(1)` for several Python threads at a time: the first sets the limit, the last to leave takes it away."""
    with _ONE.lock:
        if not _ONE.users:
            _ONE.limit.enter_context(blas_threads(1))
        _ONE.users += 1
    try:
        yield
    finally:
        with _ONE.lock:
            _ONE.users -= 1
            if not _ONE.users:
                _ONE.limit.close()
