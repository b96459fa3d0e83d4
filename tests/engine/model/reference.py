"""A slow llama network in float64 without cache, written to be read, for comparison with the engine's."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from slotview.engine.model.arrays import Floats
from slotview.engine.model.gguf.hparams import HParams, RopeScaling

Doubles = NDArray[np.float64]


def small_hparams(**changes: object) -> HParams:
    """Three layers, four query heads on two KV heads of 64."""
    values: dict[str, object] = {
        "n_layer": 3,
        "n_embd": 96,
        "n_head": 4,
        "n_head_kv": 2,
        "head_dim_k": 64,
        "head_dim_v": 64,
        "n_ff": 160,
        "n_vocab": 89,
        "n_ctx_train": 512,
        "rms_eps": 1e-5,
        "rope_dim": 64,
        "rope_base": 10000.0,
        "rope_scaling": RopeScaling(),
        "has_rope_freqs": False,
        "tied": True,
    }
    return HParams(**(values | changes))  # type: ignore[arg-type]


def random_weights(h: HParams, seed: int = 7) -> dict[str, Floats]:
    """Weights that keep activations near 1 and logits well apart."""
    rng = np.random.default_rng(seed)

    def matrix(n_out: int, n_in: int) -> Floats:
        weights: Floats = (rng.standard_normal((n_out, n_in)) / np.sqrt(n_in)).astype(np.float32)
        return weights

    def norm() -> Floats:
        return rng.uniform(0.5, 1.5, h.n_embd).astype(np.float32)

    weights = {"token_embd.weight": matrix(h.n_vocab, h.n_embd) * np.float32(8), "output_norm.weight": norm()}
    if not h.tied:
        weights["output.weight"] = matrix(h.n_vocab, h.n_embd)
    if h.has_rope_freqs:
        weights["rope_freqs.weight"] = rng.uniform(1, 8, h.rope_dim // 2).astype(np.float32)
    for number in range(h.n_layer):
        layer = {
            "attn_norm": norm(),
            "attn_q": matrix(h.n_head * h.head_dim_k, h.n_embd),
            "attn_k": matrix(h.n_head_kv * h.head_dim_k, h.n_embd),
            "attn_v": matrix(h.n_head_kv * h.head_dim_v, h.n_embd),
            "attn_output": matrix(h.n_embd, h.n_head * h.head_dim_v),
            "ffn_norm": norm(),
        }
        shapes = {"ffn_gate": (h.n_ff, h.n_embd), "ffn_up": (h.n_ff, h.n_embd), "ffn_down": (h.n_embd, h.n_ff)}
        if h.n_expert:
            layer["ffn_gate_inp"] = matrix(h.n_expert, h.n_embd)
            for name, shape in shapes.items():
                layer[f"{name}_exps"] = np.stack([matrix(*shape) for _ in range(h.n_expert)])
        else:
            layer |= {name: matrix(*shape) for name, shape in shapes.items()}
        weights.update({f"blk.{number}.{name}.weight": value for name, value in layer.items()})
    return weights


def random_biases(h: HParams, seed: int = 8) -> dict[str, Floats]:
    """A bias for each matrix of the layers except K's, as files may leave some out."""
    rng = np.random.default_rng(seed)
    return {
        name.replace("weight", "bias"): rng.standard_normal(len(matrix)).astype(np.float32)
        for name, matrix in random_weights(h).items()
        if matrix.ndim == 2 and name.startswith("blk.") and "attn_k" not in name
    }


def fused(weights: Mapping[str, Floats]) -> dict[str, Floats]:
    """The same weights with Q, K and V of the first layer in one matrix, and their biases, if any, in one too."""
    parts, found = [f"blk.0.attn_{one}" for one in "qkv"], dict(weights)
    matrices = [found.pop(f"{part}.weight") for part in parts]
    found["blk.0.attn_qkv.weight"] = np.concatenate(matrices)
    biases = [found.pop(f"{part}.bias", None) for part in parts]
    if any(bias is not None for bias in biases):
        none = [np.zeros(len(matrix), np.float32) for matrix in matrices]
        both = zip(none, biases, strict=True)
        found["blk.0.attn_qkv.bias"] = np.concatenate([zeros if bias is None else bias for zeros, bias in both])
    return found


def longrope_factors(h: HParams) -> dict[str, Floats]:
    """What divides the frequencies in short and in long contexts."""
    steps = np.linspace(1, 3, h.rope_dim // 2, dtype=np.float32)
    return {"rope_factors_short.weight": steps, "rope_factors_long.weight": steps**2}


def reference_logits(h: HParams, weights: Mapping[str, Floats], tokens: NDArray[np.int32]) -> Doubles:
    """Logits [n, V] after every token of one sequence that starts at position 0."""
    w = {name: value.astype(np.float64) for name, value in weights.items()}
    x = w["token_embd.weight"][tokens]
    for number in range(h.n_layer):
        start = f"blk.{number}."
        layer = {name.removeprefix(start): value for name, value in w.items() if name.startswith(start)}
        x = x + _attention(h, layer, _norm(h, x, layer["attn_norm.weight"]), w.get("rope_freqs.weight"))
        normed = _norm(h, x, layer["ffn_norm.weight"])
        x = x + (_mixture(h, layer, normed) if h.n_expert else _feed(layer, normed))
    logits: Doubles = _norm(h, x, w["output_norm.weight"]) @ w.get("output.weight", w["token_embd.weight"]).T
    return logits


def _feed(layer: Mapping[str, Doubles], x: Doubles) -> Doubles:
    gate = _linear(layer, "ffn_gate", x)
    return _linear(layer, "ffn_down", gate / (1 + np.exp(-gate)) * _linear(layer, "ffn_up", x))


def _mixture(h: HParams, layer: Mapping[str, Doubles], x: Doubles) -> Doubles:
    out = np.zeros_like(x)
    for row, values in enumerate(x):
        logits = _linear(layer, "ffn_gate_inp", values)
        best = sorted(range(h.n_expert), key=lambda expert: -logits[expert])[: h.n_expert_used]
        likely = np.exp(logits[best] - logits[best].max())
        for expert, weight in zip(best, likely / likely.sum(), strict=True):
            names = ("ffn_gate", "ffn_up", "ffn_down")
            own = {f"{name}.weight": layer[f"{name}_exps.weight"][expert] for name in names}
            out[row] += weight * _feed(own, values)
    return out


def _linear(layer: Mapping[str, Doubles], name: str, x: Doubles) -> Doubles:
    return x @ layer[f"{name}.weight"].T + layer.get(f"{name}.bias", 0.0)


def _norm(h: HParams, x: Doubles, weight: Doubles) -> Doubles:
    normed: Doubles = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + h.rms_eps) * weight
    return normed


def _attention(h: HParams, layer: Mapping[str, Doubles], x: Doubles, factors: Doubles | None) -> Doubles:
    q = _rope(h, _linear(layer, "attn_q", x).reshape(len(x), h.n_head, h.head_dim_k), factors)
    k = _rope(h, _linear(layer, "attn_k", x).reshape(len(x), h.n_head_kv, h.head_dim_k), factors)
    v = _linear(layer, "attn_v", x).reshape(len(x), h.n_head_kv, h.head_dim_v)
    out = np.zeros((len(x), h.n_head, h.head_dim_v))
    for head in range(h.n_head):
        shared = head // (h.n_head // h.n_head_kv)
        for i in range(len(x)):
            scores = k[: i + 1, shared] @ q[i, head] / np.sqrt(h.head_dim_k)
            weights = np.exp(scores - scores.max())
            out[i, head] = weights / weights.sum() @ v[: i + 1, shared]
    return _linear(layer, "attn_output", out.reshape(len(x), -1))


def _rope(h: HParams, heads: Doubles, factors: Doubles | None) -> Doubles:
    out = heads.copy()
    for position in range(len(heads)):
        for pair in range(h.rope_dim // 2):
            angle = position * h.rope_base ** (-2 * pair / h.rope_dim) / h.rope_scaling.factor
            if factors is not None:
                angle /= factors[pair]
            a, b = heads[position, :, 2 * pair], heads[position, :, 2 * pair + 1]
            out[position, :, 2 * pair] = a * np.cos(angle) - b * np.sin(angle)
            out[position, :, 2 * pair + 1] = a * np.sin(angle) + b * np.cos(angle)
    return out
