"""A bounded history for charts: one point per answer, the oldest forgotten."""

from __future__ import annotations

from collections import deque

from .observation import Point

__all__ = ["CAPACITY", "History"]

CAPACITY = 600


class History:
    """A ring of `Point`. ``points`` is rebuilt only after something was added."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._ring: deque[Point] = deque(maxlen=capacity)
        self._points: tuple[Point, ...] | None = ()

    def add(self, point: Point) -> None:
        """Add the newest point."""
        self._ring.append(point)
        self._points = None

    @property
    def points(self) -> tuple[Point, ...]:
        """All points, oldest first."""
        if self._points is None:
            self._points = tuple(self._ring)
        return self._points
