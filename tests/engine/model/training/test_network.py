"""The PyTorch network; skipped where PyTorch is not installed."""

import pytest

torch = pytest.importorskip("torch")


def test_later_tokens_do_not_change_earlier_logits() -> None:
    from slotview.engine.model.training.network import Network

    network = Network()
    ids = torch.arange(40)[None]
    changed = ids.clone()
    changed[0, -1] = 900
    with torch.no_grad():
        assert torch.allclose(network(ids)[0, :-1], network(changed)[0, :-1], atol=1e-5)


def test_number_of_parameters() -> None:
    from slotview.engine.model.training.network import Network

    assert sum(weight.numel() for weight in Network().parameters()) == 1_312_384
