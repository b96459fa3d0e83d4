"""How long a step takes on another device."""

from __future__ import annotations

import pytest

from slotview.engine.pace import DeviceProfile, UnknownProfileError, profile
from slotview.engine.slots.decode.batch import Piece
from tests.engine.slots.desk import Desk

DEVICE = DeviceProfile("d", "a device", step=50.0, per_slot=10.0, per_prompt=400.0, per_prompt_token=4.0)


@pytest.mark.parametrize(
    ("prompts", "n_decode", "milliseconds"),
    [((), 1, 60), ((), 3, 80), ((100,), 0, 800), ((60, 40), 0, 1200), ((100,), 2, 870), ((), 0, 0)],
)
def test_a_step_takes_the_sum_of_its_parts(prompts: tuple[int, ...], n_decode: int, milliseconds: int) -> None:
    desk = Desk(parallel=8, ctx_size=2048)
    parts = [(slot, 0, n, True, True) for slot, n in zip(desk.core.slots, prompts, strict=False)]
    n_busy = 8  # that others wait for their turn takes no time
    piece = Piece(sum(prompts) + n_decode, sum(prompts), n_busy, n_decode, parts)
    assert DEVICE.step_us(piece) == 1000 * milliseconds


def test_profiles_have_names_and_off_is_none() -> None:
    found = profile("m4-9b")
    assert found is not None
    assert found.name == "m4-9b"
    assert profile("") is profile("off") is None
    with pytest.raises(UnknownProfileError, match=r"^no such profile; use off or one of m4-9b$"):
        profile("x")
