"""How long a watcher waits for a server elsewhere."""

from __future__ import annotations

from msgspec import Struct

__all__ = ["PATIENT", "Patience"]


class Patience(Struct, frozen=True):
    """Seconds. ``direct`` is for an answer that any HTTP thread gives, ``queued`` for one that waits for the main loop:
    before August 2026 /slots waits for the whole batch in work, and a question given up still holds an HTTP thread.
    """

    direct: float = 4.0
    queued: float = 300.0
    metrics: float = 8.0
    """As queued, but counters that never come must not keep us from the slots."""

    overdue: float = 1.5
    """After which an open question is a sign of trouble, at an endpoint that any HTTP thread answers."""

    pulse: float = 2.0
    """That a queued question may take before the server is asked whether it is alive."""

    slow: float = 6.0
    """Of silence, after which a connection that died unseen has been replaced."""

    first_retry: float = 0.5
    last_retry: float = 8.0

    def doubled(self, times: int) -> float:
        """Seconds until the next try after so many vain ones."""
        return min(self.first_retry * float(2 ** min(times, 9)), self.last_retry)


PATIENT = Patience()
