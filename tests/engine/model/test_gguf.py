"""Reading model files: values of every tensor type, one line for a file that cannot be used, safe templates."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import pytest

from slotview.engine.model.chat.template import ChatTemplateError, render_chat
from slotview.engine.model.gguf.file import ModelFileError, load_model_file
from slotview.engine.model.gguf.quants import QUANTS_BY_NAME, dequantize

NAMES = ["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K"]


@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_the_reference_reader(name: str) -> None:
    quant = QUANTS_BY_NAME[name]
    raw = np.random.default_rng(1).integers(0, 60, 32 * quant.block_bytes, dtype=np.uint8)
    out = np.empty(32 * quant.block_values, np.float32)
    dequantize(name, raw, out)
    expected = gguf.quants.dequantize(raw.reshape(1, -1), gguf.GGMLQuantizationType[name]).reshape(-1)
    assert np.any(expected)
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no model", b"GGUF", b"GGUF\x03\0\0\0" + b"\xff" * 16])
def test_a_file_that_is_no_model_gets_one_line_with_its_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(content)
    with pytest.raises(ModelFileError) as caught:
        load_model_file(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_a_template_cannot_reach_out_of_its_sandbox() -> None:
    with pytest.raises(ChatTemplateError):
        render_chat("{{ messages.__class__.__mro__[1].__subclasses__() }}", [])
