"""The training loop: resumable, with a checkpoint every hundred steps."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from .bpe import Bpe
from .network import Network
from .rows import step_rows
from .schedule import PLAN, Plan, Step

__all__ = ["load_network", "loss_of", "train"]

_SEED = 20261
_SAVE_EVERY = 100
_LOG_EVERY = 20
_RATES = (1.0, 0.3)
"""Of the matrices and of the embedding. A quick one makes all words of a kind alike before their differences are used,
and then the model cannot learn to say again which colour it was."""


def loss_of(network: nn.Module, rows: Tensor) -> Tensor:
    """Mean cross entropy in nats over ``rows: [B, T + 1]``; products in 16 bits where gradients are taken."""
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=torch.is_grad_enabled()):
        logits = network(rows[:, :-1])
    return functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())


def _optimizers(network: Network) -> list[torch.optim.Optimizer]:
    """Muon for the matrices of the blocks, AdamW for the embedding and the norms."""
    matrices = [weight for weight in network.blk.parameters() if weight.dim() == 2]
    norms = [weight for weight in network.parameters() if weight.dim() == 1]
    muon = torch.optim.Muon(matrices, lr=0.0, weight_decay=0.05, adjust_lr_fn="match_rms_adamw")
    adam = torch.optim.AdamW([network.token_embd.weight, *norms], lr=0.0, betas=(0.9, 0.98), weight_decay=0.0)
    return [muon, adam]


def _run_step(network: nn.Module, optimizers: list[torch.optim.Optimizer], rows: Tensor, step: Step) -> float:
    loss = loss_of(network, rows)
    network.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    for optimizer, share in zip(optimizers, _RATES, strict=True):
        for group in optimizer.param_groups:
            group["lr"] = step.rate * share
        optimizer.step()
    return float(loss.detach())


def _save(path: Path, network: nn.Module, optimizers: list[torch.optim.Optimizer], done: int) -> None:
    states = [optimizer.state_dict() for optimizer in optimizers]
    state: dict[str, Any] = {"network": network.state_dict(), "optimizers": states, "done": done}
    torch.save(state, path.with_suffix(".new"))
    path.with_suffix(".new").replace(path)


def _resume(path: Path, network: nn.Module, optimizers: list[torch.optim.Optimizer]) -> int:
    """Load the checkpoint, if there is one, and return the number of steps done."""
    if not path.exists():
        return 0
    state = torch.load(path)
    network.load_state_dict(state["network"])
    for optimizer, saved in zip(optimizers, state["optimizers"], strict=True):
        optimizer.load_state_dict(saved)
    return int(state["done"])


def load_network(path: Path) -> Network:
    """The network of a checkpoint."""
    network = Network()
    network.load_state_dict(torch.load(path)["network"])
    return network.eval()


def train(bpe: Bpe, checkpoint: Path, plan: Plan = PLAN, *, compiled: bool = False) -> Network:
    """Train to the end of the plan, going on from the checkpoint if there is one; ``compiled`` needs a C++ compiler."""
    torch.manual_seed(_SEED)
    network = Network()
    optimizers = _optimizers(network)
    forward = torch.compile(network) if compiled else network
    began = time.monotonic()
    for number in range(_resume(checkpoint, network, optimizers), plan.steps):
        step = plan.step(number)
        rows = torch.tensor(step_rows(bpe, _SEED, number, step.rows, step.length))
        loss = _run_step(forward, optimizers, rows, step)
        if number % _LOG_EVERY == 0:
            seconds = time.monotonic() - began
            print(f"step {number} length {step.length} loss {loss:.4f} after {seconds:.0f} s", flush=True)
        if (number + 1) % _SAVE_EVERY == 0 or number + 1 == plan.steps:
            _save(checkpoint, network, optimizers, number + 1)
    return network.eval()
