"""Which tensors a llama network has, and whether a file has just these."""

from __future__ import annotations

from collections.abc import Container

from msgspec.structs import replace

from .header import GgufHeader, ModelFileError, TensorInfo
from .hparams import HParams

__all__ = ["check_tensors"]

Shapes = dict[str, tuple[int, ...]]


def check_tensors(header: GgufHeader, hparams: HParams) -> dict[str, TensorInfo]:
    """The tensors of a file, each with the shape it has in the network: files may put dimensions of 1 before it.

    Raises `ModelFileError` where one is missing, has another shape, or is not part of the network.
    """
    if hparams.n_layer > len(header.tensors):
        raise ModelFileError(
            f"{hparams.n_layer:,} layers are announced, but the file has {len(header.tensors)} tensors"
        )
    tensors = dict(header.tensors)
    required = _expected_tensors(hparams, tensors)
    optional = _biases(required) | _factors(hparams)
    expected = required | {name: shape for name, shape in optional.items() if name in tensors}
    for name, shape in expected.items():
        info = tensors.get(name)
        if info is None:
            raise ModelFileError(f'the tensor "{name}" is missing')
        if _without_ones(info.shape) != _without_ones(shape):
            raise ModelFileError(f'the tensor "{name}" has the shape {list(info.shape)}, expected {list(shape)}')
        tensors[name] = replace(info, shape=shape)
    for name in tensors:
        if name not in expected and not name.endswith(".attn_rot_embd"):
            raise ModelFileError(
                f'the tensor "{name}" is not part of a plain llama network, so the model cannot be run'
            )
    return tensors


def _expected_tensors(h: HParams, present: Container[str]) -> Shapes:
    """Name and shape of every tensor a llama network of this size has; Q, K and V may be one."""
    shapes: Shapes = {
        "token_embd.weight": (h.n_vocab, h.n_embd),
        "output_norm.weight": (h.n_embd,),
    }
    if not h.tied:
        shapes["output.weight"] = (h.n_vocab, h.n_embd)
    if h.has_rope_freqs and h.rope_scaling.type != "longrope":
        shapes["rope_freqs.weight"] = (h.rope_dim // 2,)
    n_q, n_k, n_v = h.n_head * h.head_dim_k, h.n_head_kv * h.head_dim_k, h.n_head_kv * h.head_dim_v
    parted = {"attn_q": (n_q, h.n_embd), "attn_k": (n_k, h.n_embd), "attn_v": (n_v, h.n_embd)}
    fused = {"attn_qkv": (n_q + n_k + n_v, h.n_embd)}
    rest: Shapes = {
        "attn_norm": (h.n_embd,),
        "attn_output": (h.n_embd, h.n_head * h.head_dim_v),
        "ffn_norm": (h.n_embd,),
    } | (_expert_tensors(h) if h.n_expert else _feed_tensors(h))
    for number in range(h.n_layer):
        layer = rest | (fused if f"blk.{number}.attn_qkv.weight" in present else parted)
        shapes.update({f"blk.{number}.{name}.weight": shape for name, shape in layer.items()})
    return shapes


def _feed_tensors(h: HParams) -> Shapes:
    return {"ffn_gate": (h.n_ff, h.n_embd), "ffn_up": (h.n_ff, h.n_embd), "ffn_down": (h.n_embd, h.n_ff)}


def _expert_tensors(h: HParams) -> Shapes:
    """The matrix that chooses experts, and those of all experts on top of each other."""
    experts: Shapes = {f"{name}_exps": (h.n_expert, *shape) for name, shape in _feed_tensors(h).items()}
    return {"ffn_gate_inp": (h.n_expert, h.n_embd)} | experts


def _biases(matrices: Shapes) -> Shapes:
    """Name and shape of the biases that each matrix of a layer may have, except those of experts: one for each row."""
    return {
        name.removesuffix("weight") + "bias": shape[:1]
        for name, shape in matrices.items()
        if name.startswith("blk.") and len(shape) == 2 and "ffn_gate_inp" not in name
    }


def _factors(h: HParams) -> Shapes:
    """Name and shape of what may divide the frequencies of positions."""
    if h.rope_scaling.type != "longrope":
        return {}
    return {f"rope_factors_{length}.weight": (h.rope_dim // 2,) for length in ("long", "short")}


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape without dimensions of 1 at its beginning."""
    while shape[0] == 1 and len(shape) > 1:
        shape = shape[1:]
    return shape
