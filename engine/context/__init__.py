"""From launch flags to what each slot gets, and the bytes that takes (spec §2). No NumPy."""

from .plan import (
    AUTO_PARALLEL,
    MAX_SLOTS,
    ContextError,
    ContextLine,
    ContextPlan,
    LaunchFlags,
    ModelFacts,
    pad256,
    plan_context,
    slots_for_each,
)

__all__ = [
    "AUTO_PARALLEL",
    "MAX_SLOTS",
    "ContextError",
    "ContextLine",
    "ContextPlan",
    "LaunchFlags",
    "ModelFacts",
    "pad256",
    "plan_context",
    "slots_for_each",
]
