"""WavLM's gated bias and the per-row forgetting of x-transformers against the live peers."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import pytest
import torch

from posenc import GatedBias, RowGate, T5Bias

GENERATOR = torch.Generator().manual_seed(0)


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=GENERATOR)


def loaded(package: str, module: str) -> Any:
    pytest.importorskip(package)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module(module)


def test_wavlm(monkeypatch: pytest.MonkeyPatch) -> None:
    wavlm = loaded("transformers", "transformers.models.wavlm.modeling_wavlm")
    with torch.random.fork_rng():
        torch.manual_seed(1)
        peer = wavlm.WavLMAttention(24, 3, num_buckets=32, max_distance=80).eval()
    peer.gru_rel_pos_const.data.copy_(drawn(1, 3, 1, 1))
    caught = []

    def attended(states: torch.Tensor, mask: Any, bias: torch.Tensor) -> tuple[torch.Tensor, None]:
        caught.append(bias)
        return states, None

    monkeypatch.setattr(peer, "torch_multi_head_self_attention", attended)
    x = drawn(2, 50, 24)
    peer(x)
    encoding = GatedBias(T5Bias(heads=3, buckets=32, max_distance=80), dim=8)
    params = {"weight": peer.gru_rel_pos_linear.weight, "bias": peer.gru_rel_pos_linear.bias}
    params |= {"constant": peer.gru_rel_pos_const.flatten(), "inner.table": peer.rel_attn_embed.weight}
    q, places = torch.zeros(2, 3, 50, 8), torch.arange(50)
    found = encoding.score(q, q, places, places, params, hidden=x).flatten(0, 1)
    # Eight sums of 8 products below 8 set a gate below 8, times numbers of the table below 4.
    assert (found - caught[0]).abs().max() <= 64 * 32 * 2.0**-24


def test_row_gate() -> None:
    x_transformers = loaded("x_transformers", "x_transformers.x_transformers")
    with torch.random.fork_rng():
        torch.manual_seed(2)
        peer = x_transformers.PerRowDataDependentAlibi(dim=6, heads=3, dim_head=4)
    x = drawn(2, 20, 6)
    w, u = peer.to_forget_gates[0].weight.reshape(2, 3, 4, 6)
    q, places = torch.zeros(2, 3, 20, 4), torch.arange(20)
    encoding = RowGate(heads=3, model_dim=6, width=4)
    found = encoding.score(q, q, places, places, {"W": w, "U": u}, hidden=torch.cat([x, x], 1))
    # Sums of 20 logarithms below 8.
    assert (found - peer(x)).abs().max() <= 40 * 160 * 2.0**-24
