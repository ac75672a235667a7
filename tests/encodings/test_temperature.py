"""Query temperatures against released code, and what the oracles do not see."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from posenc import LogNTemperature, PowerTemperature, RoPE, StepTemperature
from posenc.attention import attention


def test_queries_grow_and_keys_do_not() -> None:
    encoding, x = LogNTemperature(dim=4, length=10), np.ones((2, 4))
    assert encoding.rotation([9, 99], role="query")(x).tolist() == [[1.0] * 4, [2.0] * 4]
    assert encoding.rotation([9, 99], role="key")(x).tolist() == [[1.0] * 4] * 2
    assert encoding.rotation([99], role="query").inverse()(x[:1]).tolist() == [[0.5] * 4]
    with pytest.raises(ValueError, match=r"^role must be 'query' or 'key' for LogNTemperature"):
        encoding.rotation([9])


def test_beside_a_rotation_the_logits_grow() -> None:
    rng, at = np.random.default_rng(0), np.array([5, 40, 600])
    q, k = rng.standard_normal((2, 1, 2, 3, 8))
    plain, warmed = (
        attention(q, k, k, query_positions=at, key_positions=at, layout="bhtd", encodings=encodings).logits
        for encodings in ([RoPE(dim=8)], [RoPE(dim=8), StepTemperature(dim=8, floor=16)])
    )
    factor = [1 + 0.1 * math.log(1 + (place + 1) // 16) for place in at.tolist()]
    assert np.allclose(warmed, plain * np.array(factor)[:, None], rtol=1e-14, atol=0)


def test_the_list_of_qwen() -> None:
    """Its list begins with the place 1, and holds 1 up to the trained length."""
    length = 64
    listed = [math.log(place, length) if place > length else 1 for place in range(1, 300)]
    assert np.allclose(LogNTemperature(dim=2, length=length).factor(np.arange(299)), listed, rtol=2**-51, atol=0)


def test_the_last_place_of_all() -> None:
    for kind in (np.int64, np.int32):
        last = np.array([min(np.iinfo(kind).max, 2**53)], kind)
        assert np.isfinite(StepTemperature(dim=2, floor=1).factor(last)).all()
    assert StepTemperature(dim=2, floor=4).factor([-9, -1]).tolist() == [1.0, 1.0]
    assert LogNTemperature(dim=2, length=4).factor([-9, -1]).tolist() == [1.0, 1.0]
    assert PowerTemperature(dim=2, length=4).factor([-9, -1]).tolist() == [1.0, 1.0]


def test_llama4() -> None:
    """A whole layer without rotation, on its own weights."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    peer = import_module("transformers.models.llama4.modeling_llama4")
    config = peer.Llama4TextConfig(
        hidden_size=32, num_attention_heads=2, num_key_value_heads=2, head_dim=16, num_hidden_layers=1,
        no_rope_layers=[0], attn_temperature_tuning=True, attn_scale=0.7, floor_scale=4, attn_implementation="eager",
    )  # fmt: skip
    torch.manual_seed(0)
    layer, x = peer.Llama4TextAttention(config, layer_idx=0).eval(), torch.randn(1, 30, 32)
    with torch.no_grad():
        theirs, _ = layer(x, None, None)
        q, k, v = (made(x).view(1, 30, 2, 16) for made in (layer.q_proj, layer.k_proj, layer.v_proj))
        at, encoding = torch.arange(30), StepTemperature(dim=16, scale=0.7, floor=4)
        mine = attention(q, k, v, query_positions=at, key_positions=at, layout="bthd", encodings=[encoding]).output
        # Sums of up to 32 products of numbers below 4, twice; without the temperature they are off by far more.
        assert (layer.o_proj(mine.reshape(1, 30, 32)) - theirs).abs().max() <= 64 * 4 * 2.0**-24
        cold = attention(q, k, v, query_positions=at, key_positions=at, layout="bthd").output
        assert (layer.o_proj(cold.reshape(1, 30, 32)) - theirs).abs().max() > 1e-3


def test_ministral3() -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    peer = import_module("transformers.models.ministral3.modeling_ministral3")
    encoding, at = StepTemperature(dim=8, scale=0.3, floor=16, start=0), torch.arange(0, 500, 7)
    theirs = peer.get_llama_4_attn_scale(at[None], 0.3, 16)
    assert (encoding.factor(at) - theirs.reshape(-1)).abs().max() <= 4 * 2.0**-24 * 3


def test_beam() -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    peer = import_module("transformers.models.beam.modeling_beam")
    encoding, at = PowerTemperature(dim=8), torch.arange(0, 500_000, 701)
    theirs = peer.compute_attention_scaling(at[None]).reshape(-1)
    # A place plus one, a quotient, a logarithm, a product and a power, each rounded to 24 bits; τ is below 2.
    assert (encoding.factor(at) - theirs).abs().max() <= 2 * 6 * 2.0**-24


@pytest.mark.parametrize(
    ("make", "begins"),
    [
        (lambda: LogNTemperature(dim=3, length=4), "dim must be an even integer"),
        (lambda: LogNTemperature(dim=4, length=1), "length must be an integer from 2"),
        (lambda: LogNTemperature(dim=4, length=4, start=2), "start must be an integer from 0 to 1"),
        (lambda: PowerTemperature(dim=3), "dim must be an even integer"),
        (lambda: PowerTemperature(dim=4, exponent=-1.0), "exponent must be"),
        (lambda: PowerTemperature(dim=4, length=0), "length must be an integer from 1"),
        (lambda: PowerTemperature(dim=4, start=2), "start must be an integer from 0 to 1"),
        (lambda: StepTemperature(dim=3), "dim must be an even integer"),
        (lambda: StepTemperature(dim=4, scale=-1.0), "scale must be"),
        (lambda: StepTemperature(dim=4, floor=0), "floor must be an integer from 1"),
        (lambda: StepTemperature(dim=4, start=-1), "start must be an integer from 0 to 1"),
    ],
)
def test_refused_fields(make: Any, begins: str) -> None:
    with pytest.raises(ValueError, match=f"^{begins}"):
        make()
