"""What NumPy's BLAS is, and keeping it to one thread while our own threads share the work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

__all__ = ["has_small_kernel", "kernel_name", "one_thread"]

WITH_SMALL_KERNEL = frozenset({"SkylakeX", "Cooperlake", "SapphireRapids"})


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


@cache
def kernel_name() -> str:
    """Kernel the BLAS chose for this processor, such as "SkylakeX", "" where it is unknown."""
    names = [library.info().get("architecture") for library in _controller().lib_controllers]
    return next((name for name in names if isinstance(name, str)), "")


@cache
def has_small_kernel() -> bool:
    """Whether small products are computed straight from their operands, without copying them into packed form first.

    OpenBLAS does so on processors with AVX-512. Such a product also rounds alike whatever its number of rows.
    """
    return kernel_name() in WITH_SMALL_KERNEL


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep BLAS calls inside to the calling thread."""
    libraries = _controller().lib_controllers
    before = [library.get_num_threads() for library in libraries]
    for library in libraries:
        library.set_num_threads(1)
    try:
        yield
    finally:
        for library, n in zip(libraries, before, strict=True):
            library.set_num_threads(n)
