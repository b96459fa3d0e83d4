"""In which order llama-server cancels the tasks of a request.

It keeps their ids in a hash set (libstdc++'s `unordered_set`), made for as many as there are prompts, and cancels in
the order in which the set lists them. An id goes to the front; when there are more ids than buckets, the buckets become
more and the list turns round. Ids of one request follow each other, so that no two of them share a bucket. (From about
200 tasks on it leaves out some primes, which nobody will see.)
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

__all__ = ["cancel_order"]


def cancel_order(tasks: Sequence[int], n_prompts: int) -> list[int]:
    """The order of asking; each cancel overtakes those before it, so that the last comes first."""
    listed: list[int] = []
    n_buckets = _buckets(n_prompts)
    for n, task in enumerate(tasks):
        if n == n_buckets:
            n_buckets = _buckets(2 * n)
            listed.reverse()
        listed.insert(0, task)
    return listed


def _buckets(n: int) -> int:
    """The next prime."""
    return next(number for number in count(max(n, 2)) if all(number % part for part in range(2, int(number**0.5) + 1)))
