"""How long a step takes on another device."""

from __future__ import annotations

import pytest

from slotview.engine.pace import DeviceProfile, UnknownProfileError, profile
from slotview.engine.slots.batch import Piece

DEVICE = DeviceProfile("d", "a device", step=50.0, per_slot=10.0, per_prompt=400.0, per_prompt_token=4.0)


@pytest.mark.parametrize(
    ("n_prompt", "n_decode", "n_busy", "milliseconds"),
    [(0, 1, 1, 60), (0, 3, 3, 80), (100, 0, 1, 800), (100, 0, 2, 1200), (100, 2, 3, 870), (0, 0, 1, 0)],
)
def test_a_step_takes_the_sum_of_its_parts(n_prompt: int, n_decode: int, n_busy: int, milliseconds: int) -> None:
    piece = Piece(n_prompt + n_decode, n_prompt, n_busy, n_decode)
    assert DEVICE.step_us(piece) == 1000 * milliseconds


def test_profiles_have_names_and_off_is_none() -> None:
    found = profile("m4-9b")
    assert found is not None
    assert found.name == "m4-9b"
    assert profile("") is profile("off") is None
    with pytest.raises(UnknownProfileError, match=r"^no such profile; use off or one of m4-9b$"):
        profile("x")
