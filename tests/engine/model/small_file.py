"""Small model files for tests: a llama network of one layer with any vocabulary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import gguf
import numpy as np

__all__ = ["BPE", "SCORES", "SPM", "add_key", "vocabulary_keys", "write_model"]

WIDTH, FEED, KV = 8, 16, 4
SIZES = {
    "context_length": 64,
    "embedding_length": WIDTH,
    "block_count": 1,
    "feed_forward_length": FEED,
    "attention.head_count": 2,
    "attention.head_count_kv": 1,
}
LAYER = {
    "attn_norm": (WIDTH,),
    "attn_q": (WIDTH, WIDTH),
    "attn_k": (KV, WIDTH),
    "attn_v": (KV, WIDTH),
    "attn_output": (WIDTH, WIDTH),
    "ffn_norm": (WIDTH,),
    "ffn_gate": (FEED, WIDTH),
    "ffn_up": (FEED, WIDTH),
    "ffn_down": (WIDTH, FEED),
}

BPE: tuple[tuple[str, int], ...] = (
    ("<|endoftext|>", 3),
    ("<|im_end|>", 3),
    ("[T]", 4),
    *((letter, 1) for letter in "abcdĠ1Ã©Ċ"),
    ("ab", 1),
    ("Ġab", 1),
    ("abc", 1),
)
"""Spelling and type of each token; the merges below make the last three."""
MERGES = ("a b", "Ġ ab", "ab c")

SPM: tuple[tuple[str, int], ...] = (
    ("<unk>", 2),
    ("<s>", 3),
    ("</s>", 3),
    *((f"<0x{byte:02X}>", 6) for byte in range(256)),
    *((letter, 1) for letter in "▁abc"),
    ("▁a", 1),
    ("ab", 1),
    ("bc", 1),
    ("abc", 1),
    ("▁abc", 1),
)
SCORES = {"▁a": -3.0, "ab": -2.0, "bc": -2.0, "abc": -4.0, "▁abc": -1.0}


def write_model(
    path: Path,
    vocabulary: Sequence[tuple[str, int]] = BPE,
    *,
    leave_out: Sequence[str] = (),
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    architecture: str = "llama",
    **metadata: object,
) -> Path:
    """Write a file. ``metadata``: further keys, "__" for "."; None leaves one out. ``shapes``: of tensors, by name."""
    writer = gguf.GGUFWriter(path, architecture)
    keys: dict[str, object] = {f"{architecture}.{name}": size for name, size in SIZES.items()}
    keys[f"{architecture}.attention.layer_norm_rms_epsilon"] = 1e-5
    keys |= vocabulary_keys(vocabulary)
    keys |= {name.replace("__", "."): value for name, value in metadata.items()}
    for name, value in keys.items():
        add_key(writer, name, value)
    tensors = {"token_embd.weight": (len(vocabulary), WIDTH), "output_norm.weight": (WIDTH,)}
    tensors |= {f"blk.0.{name}.weight": shape for name, shape in LAYER.items()} | dict(shapes or {})
    rng = np.random.default_rng(1)
    for name, shape in tensors.items():
        if name not in leave_out:
            writer.add_tensor(name, rng.standard_normal(shape).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def vocabulary_keys(vocabulary: Sequence[tuple[str, int]]) -> dict[str, object]:
    """The metadata of a vocabulary: SPM where it has byte tokens, else BPE."""
    texts = [text for text, _ in vocabulary]
    spm = "<0x00>" in texts
    keys: dict[str, object] = {
        "tokenizer.ggml.model": "llama" if spm else "gpt2",
        "tokenizer.ggml.tokens": texts,
        "tokenizer.ggml.token_type": [kind for _, kind in vocabulary],
    }
    if spm:
        return keys | {"tokenizer.ggml.scores": [SCORES.get(text, -9.0) for text in texts]}
    return keys | {"tokenizer.ggml.pre": "gpt-2", "tokenizer.ggml.merges": list(MERGES)}


def add_key(writer: gguf.GGUFWriter, name: str, value: object) -> None:
    """Add a key of the value's own type; None leaves it out."""
    match value:
        case None:
            pass
        case bool():
            writer.add_bool(name, value)
        case int():
            writer.add_uint32(name, value)
        case float():
            writer.add_float32(name, value)
        case str():
            writer.add_string(name, value)
        case _:
            writer.add_array(name, value)
