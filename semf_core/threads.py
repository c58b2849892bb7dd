"""How many threads the linear algebra may use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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
