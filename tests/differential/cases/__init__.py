"""The scenarios, by subject."""

from . import (
    actions,
    bodies,
    chat,
    choice,
    edges,
    limits,
    pairs,
    pool,
    queue,
    random_bodies,
    reuse,
    routes,
    streams,
    templates,
    thoughts,
    wire,
)

__all__ = [
    "actions",
    "bodies",
    "chat",
    "choice",
    "edges",
    "limits",
    "pairs",
    "pool",
    "queue",
    "random_bodies",
    "reuse",
    "routes",
    "streams",
    "templates",
    "thoughts",
    "wire",
]
