"""Model files of whole llama networks: any sizes, random weights whose logits lie well apart, any further keys."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray

from slotview.engine.model.gguf.hparams import HParams

from .reference import random_weights, small_hparams
from .small_file import SPM, add_key, vocabulary_keys

__all__ = ["network", "write_network"]


def network(**changes: object) -> HParams:
    """Two layers of width 256, as wide as K-quants need, and four heads on two KV heads; a context of 512."""
    sizes = {"n_layer": 2, "n_embd": 256, "n_ff": 512, "n_vocab": len(SPM)}
    return small_hparams(**(sizes | changes))


def write_network(
    path: Path,
    h: HParams,
    *,
    vocabulary: Mapping[str, object] | None = None,
    weights: Mapping[str, NDArray[np.float32]] | None = None,
    **metadata: object,
) -> Path:
    """Write a float32 file. ``vocabulary``: its keys, else those of SPM. ``metadata`` as in `write_model`.

    Keys of rope scaling are written only where ``metadata`` names them.
    """
    writer = gguf.GGUFWriter(path, "llama")
    keys = _size_keys(h) | dict(vocabulary_keys(SPM) if vocabulary is None else vocabulary)
    keys |= {name.replace("__", "."): value for name, value in metadata.items()}
    for name, value in keys.items():
        add_key(writer, name, value)
    for name, values in (random_weights(h) if weights is None else weights).items():
        writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _size_keys(h: HParams) -> dict[str, object]:
    keys: dict[str, object] = {
        "context_length": h.n_ctx_train,
        "embedding_length": h.n_embd,
        "block_count": h.n_layer,
        "feed_forward_length": h.n_ff,
        "attention.head_count": h.n_head,
        "attention.head_count_kv": h.n_head_kv,
        "attention.key_length": h.head_dim_k,
        "attention.value_length": h.head_dim_v,
        "attention.layer_norm_rms_epsilon": h.rms_eps,
        "rope.dimension_count": h.rope_dim,
        "rope.freq_base": h.rope_base,
    }
    if h.n_expert:
        keys |= {"expert_count": h.n_expert, "expert_used_count": h.n_expert_used}
    return {f"llama.{name}": value for name, value in keys.items()}
