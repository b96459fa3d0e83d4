"""The numbers that fix a llama-architecture network, read from a file's metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, cast, get_args

from msgspec import Struct

from .header import GgufHeader, ModelFileError, Scalar

__all__ = ["HParams", "RopeScaling", "read_hparams"]

ARCHITECTURE = "llama"
RopeScalingType = Literal["none", "linear", "yarn", "longrope"]
MAX_DIMENSION = 1 << 31


class RopeScaling(Struct, frozen=True):
    """How positions are stretched. ``factor`` 1 = not at all; ``n_ctx_orig`` matters for ``yarn`` and ``longrope``.

    With ``longrope`` one of two tensors divides the frequencies: "rope_factors_long.weight" in contexts longer than
    ``n_ctx_orig``, else "rope_factors_short.weight". ``attn_factor`` lengthens rotated q and k. The keys ``yarn_*`` are
    not read, as llama.cpp reads them for other architectures only.
    """

    type: RopeScalingType = "none"
    factor: float = 1.0
    n_ctx_orig: int = 0
    attn_factor: float = 1.0


class HParams(Struct, frozen=True):
    """Sizes of the network.

    ``rope_dim`` leading values of each head are rotated in neighbouring pairs (2i, 2i+1). ``tied``: the output layer is
    the embedding. ``has_rope_freqs``: the tensor "rope_freqs.weight" [rope_dim/2] divides the frequencies.
    ``n_expert``: feed-forward networks of a layer, of which a token uses ``n_expert_used``; 0 = one, and no choice.
    """

    n_layer: int
    n_embd: int
    n_head: int
    n_head_kv: int
    head_dim_k: int
    head_dim_v: int
    n_ff: int
    n_vocab: int
    n_ctx_train: int
    rms_eps: float
    rope_dim: int
    rope_base: float
    rope_scaling: RopeScaling
    has_rope_freqs: bool
    tied: bool
    n_expert: int = 0
    n_expert_used: int = 0


class _Keys:
    """Typed access to ``llama.*``, with errors that name the key."""

    def __init__(self, header: GgufHeader) -> None:
        self._scalars: Mapping[str, Scalar] = header.scalars
        self._arrays = header.arrays

    def find(self, key: str) -> Scalar | None:
        """The value, or the one value that all elements of an array share."""
        full = f"{ARCHITECTURE}.{key}"
        if full in self._scalars:
            return self._scalars[full]
        if full not in self._arrays:
            return None
        values = {_plain(item) for item in self._arrays[full]}
        if len(values) != 1:
            raise ModelFileError(f"{full} differs between layers, which is not supported")
        return values.pop()

    def count(self, key: str, default: int | None = None) -> int:
        value = self.find(key)
        if value is None:
            value = default
        if value is None:
            raise ModelFileError(f"{ARCHITECTURE}.{key} is missing")
        if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < MAX_DIMENSION:
            raise ModelFileError(f"{ARCHITECTURE}.{key} is {value!r}, not a positive whole number")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        value = self.find(key)
        if value is None:
            value = default
        if value is None:
            raise ModelFileError(f"{ARCHITECTURE}.{key} is missing")
        if isinstance(value, (bool, str)) or not abs(value) < float("inf"):
            raise ModelFileError(f"{ARCHITECTURE}.{key} is {value!r}, not a finite number")
        return float(value)


def _plain(item: object) -> Scalar:
    if isinstance(item, bytes):
        return item.decode(errors="replace")
    value: Scalar = item.item()  # type: ignore[attr-defined]
    return value


def read_hparams(header: GgufHeader) -> HParams:
    """Raises `ModelFileError` for another architecture and for missing or impossible values."""
    _check_architecture(header)
    keys = _Keys(header)
    n_embd, n_head = keys.count("embedding_length"), keys.count("attention.head_count")
    head_dim_k = keys.count("attention.key_length", n_embd // n_head)
    n_expert, n_expert_used = _experts(keys)
    hparams = HParams(
        n_layer=keys.count("block_count"),
        n_embd=n_embd,
        n_head=n_head,
        n_head_kv=keys.count("attention.head_count_kv", n_head),
        head_dim_k=head_dim_k,
        head_dim_v=keys.count("attention.value_length", n_embd // n_head),
        n_ff=keys.count("feed_forward_length"),
        n_vocab=_vocabulary_size(header, keys),
        n_ctx_train=keys.count("context_length"),
        rms_eps=keys.number("attention.layer_norm_rms_epsilon"),
        rope_dim=keys.count("rope.dimension_count", head_dim_k),
        rope_base=keys.number("rope.freq_base", 10000.0),
        rope_scaling=_rope_scaling(keys),
        has_rope_freqs="rope_freqs.weight" in header.tensors,
        tied="output.weight" not in header.tensors,
        n_expert=n_expert,
        n_expert_used=n_expert_used,
    )
    _check_consistency(hparams)
    return hparams


def _check_architecture(header: GgufHeader) -> None:
    parts = header.scalars.get("split.count", 0)
    if isinstance(parts, int) and parts > 1:
        raise ModelFileError(f"one of {parts} parts of a split model; join them with llama-gguf-split --merge")
    architecture = header.scalars.get("general.architecture")
    if architecture is None:
        raise ModelFileError("general.architecture is missing")
    if architecture != ARCHITECTURE:
        raise ModelFileError(f'the architecture "{architecture}" is not supported, only "{ARCHITECTURE}"')


def _vocabulary_size(header: GgufHeader, keys: _Keys) -> int:
    tokens = header.arrays.get("tokenizer.ggml.tokens")
    return len(tokens) if tokens is not None and len(tokens) else keys.count("vocab_size")


def _experts(keys: _Keys) -> tuple[int, int]:
    """How many experts there are, and how many of them a token uses."""
    if keys.find("expert_count") in (None, 0):
        return 0, 0
    n_expert, n_used = keys.count("expert_count"), keys.count("expert_used_count")
    if n_used > n_expert:
        raise ModelFileError(f"{ARCHITECTURE}.expert_used_count is {n_used}, but there are {n_expert} experts")
    if keys.find("expert_group_count") not in (None, 0, 1):
        raise ModelFileError(
            f"{n_expert} experts in groups, from a few of which they are chosen, which is not supported"
        )
    return n_expert, n_used


def _rope_scaling(keys: _Keys) -> RopeScaling:
    """How the file stretches positions; a factor of 0 or 1 with linear stretching is none."""
    factor = keys.number("rope.scaling.factor", keys.number("rope.scale_linear", 1.0))
    kind = keys.find("rope.scaling.type")
    if kind is None:
        kind = "linear"
    if kind not in get_args(RopeScalingType):
        raise ModelFileError(f'{ARCHITECTURE}.rope.scaling.type "{kind}" is not supported')
    if factor < 0:
        raise ModelFileError(f"{ARCHITECTURE}.rope.scaling.factor is {factor}, not a positive number")
    attn_factor = keys.number("rope.scaling.attn_factor", 1.0)
    if kind == "none" or (kind == "linear" and factor in (0.0, 1.0)):
        return RopeScaling(attn_factor=attn_factor)
    return RopeScaling(
        type=cast(RopeScalingType, kind),
        factor=factor or 1.0,
        n_ctx_orig=keys.count("rope.scaling.original_context_length", keys.count("context_length")),
        attn_factor=attn_factor,
    )


def _check_consistency(h: HParams) -> None:
    if h.n_head % h.n_head_kv:
        raise ModelFileError(f"{h.n_head} heads cannot share {h.n_head_kv} KV heads evenly")
    if h.rope_dim % 2 or h.rope_dim != h.head_dim_k:
        raise ModelFileError(
            f"{ARCHITECTURE}.rope.dimension_count is {h.rope_dim}, not the even size of a head, {h.head_dim_k}"
        )
    if h.rms_eps < 0:
        raise ModelFileError(f"{ARCHITECTURE}.attention.layer_norm_rms_epsilon is {h.rms_eps}, less than 0")
    if h.rope_base <= 0:
        raise ModelFileError(f"{ARCHITECTURE}.rope.freq_base is {h.rope_base}, not a positive number")
