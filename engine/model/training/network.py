"""The model in PyTorch, with the rotary pairs interleaved as GGUF's llama architecture wants them."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from .shape import SHAPE, Shape

__all__ = ["Network"]


def _rotations(shape: Shape, length: int) -> tuple[Tensor, Tensor]:
    """Cosine and sine, each ``[length, head_dim / 2]``."""
    exponents = torch.arange(0, shape.head_dim, 2, dtype=torch.float64) / shape.head_dim
    angles = torch.outer(torch.arange(length, dtype=torch.float64), shape.rope_base**-exponents)
    return angles.cos().float(), angles.sin().float()


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn the pairs (0, 1), (2, 3), … of ``x: [B, H, T, D]``."""
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2)


class _Attention(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        q_width, kv_width = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
        self.attn_q = nn.Linear(shape.width, q_width, bias=False)
        self.attn_k = nn.Linear(shape.width, kv_width, bias=False)
        self.attn_v = nn.Linear(shape.width, kv_width, bias=False)
        self.attn_output = nn.Linear(q_width, shape.width, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        b, t, _ = x.shape
        dim, groups = self.shape.head_dim, self.shape.heads // self.shape.kv_heads
        q = _rotate(self.attn_q(x).view(b, t, -1, dim).transpose(1, 2), cos, sin)  # [B, H, T, D]
        k = _rotate(self.attn_k(x).view(b, t, -1, dim).transpose(1, 2), cos, sin)
        v = self.attn_v(x).view(b, t, -1, dim).transpose(1, 2)
        k, v = k.repeat_interleave(groups, dim=1), v.repeat_interleave(groups, dim=1)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        out: Tensor = self.attn_output(y.transpose(1, 2).reshape(b, t, -1))
        return out


class _Block(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.attn_norm = nn.RMSNorm(shape.width, eps=shape.norm_eps)
        self.attn = _Attention(shape)
        self.ffn_norm = nn.RMSNorm(shape.width, eps=shape.norm_eps)
        self.ffn_gate = nn.Linear(shape.width, shape.ffn, bias=False)
        self.ffn_up = nn.Linear(shape.width, shape.ffn, bias=False)
        self.ffn_down = nn.Linear(shape.ffn, shape.width, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + self.attn(self.attn_norm(x), cos, sin)
        y = self.ffn_norm(x)
        out: Tensor = x + self.ffn_down(functional.silu(self.ffn_gate(y)) * self.ffn_up(y))
        return out


class Network(nn.Module):
    """Token ids ``[B, T]`` in, logits ``[B, T, vocab]`` out."""

    cos: Tensor
    sin: Tensor

    def __init__(self, shape: Shape = SHAPE) -> None:
        super().__init__()
        self.token_embd = nn.Embedding(shape.vocab, shape.width)
        self.blk = nn.ModuleList(_Block(shape) for _ in range(shape.layers))
        self.output_norm = nn.RMSNorm(shape.width, eps=shape.norm_eps)
        cos, sin = _rotations(shape, shape.context)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        self._start(shape)

    def _start(self, shape: Shape) -> None:
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                nn.init.normal_(weight, std=weight.shape[1] ** -0.5)
            if name.endswith(("attn_output.weight", "ffn_down.weight")):
                weight.data.div_((2 * shape.layers) ** 0.5)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits of every position, each from the tokens up to it."""
        x = self.token_embd(ids)
        cos, sin = self.cos[: ids.shape[1]], self.sin[: ids.shape[1]]
        for block in self.blk:
            x = block(x, cos, sin)
        with torch.autocast("cpu", enabled=False):  # logits need all their bits
            return functional.linear(self.output_norm(x.float()), self.token_embd.weight)
