"""Waiting for another thread for microseconds rather than for the operating system's wake-up.

A wake-up of a sleeping thread takes 10 to 100 µs, and a step of a small model has a hundred hand-overs. A gate
therefore spins inside the C library, where it does not hold the interpreter's lock. Where there is no such call, a
plain lock serves.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from functools import cache
from typing import Protocol

__all__ = ["Gate", "new_gate"]


class Gate(Protocol):
    """Closed at first. One thread waits, another one opens; a passed gate is closed again."""

    def open(self) -> None:
        """Let the waiting thread pass, now or when it comes."""

    def wait(self) -> None:
        """Wait until the gate is open and close it."""


class _LockGate:
    """A gate that sleeps."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def open(self) -> None:
        self._lock.release()

    def wait(self) -> None:
        self._lock.acquire()


class _SpinGate:
    """A gate that keeps its core busy while it waits, on POSIX spin locks."""

    def __init__(self) -> None:
        self._memory = ctypes.create_string_buffer(64)
        self._lock = ctypes.c_void_p(ctypes.addressof(self._memory))
        # CDLL lets go of the interpreter's lock during a call, PyDLL keeps it, which is quicker for what never waits
        self._spin = ctypes.CDLL(None).pthread_spin_lock
        self._try = ctypes.PyDLL(None).pthread_spin_trylock
        self._unlock = ctypes.PyDLL(None).pthread_spin_unlock
        ctypes.CDLL(None).pthread_spin_init(self._lock, 0)
        self._spin(self._lock)

    def open(self) -> None:
        self._unlock(self._lock)

    def wait(self) -> None:
        if self._try(self._lock):
            self._spin(self._lock)


@cache
def _can_spin() -> bool:
    return sys.platform == "linux" and hasattr(ctypes.CDLL(None), "pthread_spin_lock")


def new_gate() -> Gate:
    """The quickest kind of gate there is here."""
    return _SpinGate() if _can_spin() else _LockGate()
