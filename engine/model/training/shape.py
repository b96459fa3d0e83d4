"""The sizes of the model."""

from __future__ import annotations

from msgspec import Struct

__all__ = ["SHAPE", "Shape"]


class Shape(Struct, frozen=True):
    """Sizes of a llama-architecture model with tied embeddings."""

    vocab: int = 1024
    width: int = 128
    layers: int = 6
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 32
    ffn: int = 384
    context: int = 8192
    rope_base: float = 50000.0
    norm_eps: float = 1e-5


SHAPE = Shape()
