"""Frequencies of plain, linear and YaRN positions."""

from __future__ import annotations

import numpy as np
import pytest

from slotview.engine.model.gguf.hparams import RopeScaling
from slotview.engine.model.network.rope import Rope, rope_frequencies

from .reference import small_hparams


def test_plain_and_linear_frequencies() -> None:
    plain, length = rope_frequencies(small_hparams())
    stretched, _ = rope_frequencies(small_hparams(rope_scaling=RopeScaling("linear", 4.0)))
    assert (plain[0], length) == (1.0, 1.0)
    assert plain[16] == pytest.approx(10000**-0.5)
    np.testing.assert_allclose(stretched, plain / 4)


def test_yarn_keeps_fast_pairs_and_stretches_slow_ones() -> None:
    plain, _ = rope_frequencies(small_hparams())
    yarn, length = rope_frequencies(small_hparams(rope_scaling=RopeScaling("yarn", 4.0, n_ctx_orig=2048)))
    np.testing.assert_allclose(yarn[:5], plain[:5])
    np.testing.assert_allclose(yarn[-5:], plain[-5:] / 4)
    assert (np.diff(yarn / plain) <= 1e-12).all()
    assert length == pytest.approx(1 + 0.1 * np.log(4))


def test_moving_by_a_delta_is_rotating_further() -> None:
    rope = Rope(small_hparams())
    heads = np.random.default_rng(0).standard_normal((3, 2, 64)).astype(np.float32)
    direct, moved = heads.copy(), heads.copy()
    rope.rotate(direct, rope.at(np.array([90, 1500, 5])))
    rope.rotate(moved, rope.at(np.array([100, 1400, 5])))
    rope.rotate(moved, rope.by(np.array([-10, 100, 0])))
    np.testing.assert_allclose(moved, direct, atol=1e-4)
