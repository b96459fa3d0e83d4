"""How much memory this machine has, on any system and without a dependency."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

__all__ = ["available_memory", "total_memory"]


def total_memory() -> int | None:
    """Bytes of memory; None if the system does not say."""
    if sys.platform == "win32":
        return _windows_memory()[0]
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def available_memory() -> int | None:
    """Bytes that can be used without swapping; the total if the system says no more, None if it says nothing."""
    if sys.platform == "win32":
        return _windows_memory()[1]
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return total_memory()


class _MemoryStatus(ctypes.Structure):
    """MEMORYSTATUSEX of the Windows API."""

    _fields_ = (
        ("length", ctypes.c_ulong),
        ("load", ctypes.c_ulong),
        ("total", ctypes.c_ulonglong),
        ("available", ctypes.c_ulonglong),
        ("rest", ctypes.c_ulonglong * 5),
    )


def _windows_memory() -> tuple[int | None, int | None]:
    status = _MemoryStatus(length=ctypes.sizeof(_MemoryStatus))
    library = getattr(ctypes, "windll", None)
    if library is None or not library.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
        return None, None
    return int(status.total), int(status.available)
