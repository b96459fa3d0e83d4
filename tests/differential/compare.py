"""Two transcripts side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .normal import Plain, flat

__all__ = ["Comparison", "compare"]

Transcript = Sequence[tuple[str, Plain]]
MISSING = "nothing"
PROBABILITY_TOLERANCE = 2e-3


@dataclass(slots=True)
class Comparison:
    """How many fields agreed, and one line for each that did not."""

    agreed: int = 0
    differences: list[str] = field(default_factory=list)


def compare(real: Transcript, ours: Transcript) -> Comparison:
    """Compare step by step, field by field."""
    result = Comparison()
    for number, ((step, one), (other_step, other)) in enumerate(zip(real, ours, strict=False)):
        assert step == other_step, f"the scenario went another way: {step} / {other_step}"
        _compare_step(f"{number} {step}", flat(one), flat(other), result)
    if len(real) != len(ours):
        result.differences.append(f"steps: real {len(real)}, ours {len(ours)}")
    return result


def _compare_step(step: str, real: dict[str, object], ours: dict[str, object], result: Comparison) -> None:
    if real.get(".status") != ours.get(".status"):  # then the bodies have nothing in common
        told = [f"{_shown(side.get('.status'))} {_shown(side.get('.body.error.message', ''))}" for side in (real, ours)]
        result.differences.append(f"{step} .status: real {told[0]}, ours {told[1]}")
        return
    for path in {**real, **ours}:
        one, other = real.get(path, MISSING), ours.get(path, MISSING)
        if one == other or (path.endswith("prob") and _near(one, other)):
            result.agreed += 1
        else:
            result.differences.append(f"{step} {path}: real {_shown(one)}, ours {_shown(other)}")


def _near(one: object, other: object) -> bool:
    """Probabilities are compared to four digits."""
    match one, other:
        case (_, float() as a), (_, float() as b):
            return abs(a - b) <= PROBABILITY_TOLERANCE
    return False


def _shown(value: object) -> str:
    text = repr(value[1] if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str) else value)
    return text if len(text) < 300 else f"{text[:300]}…"
