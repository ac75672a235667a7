"""Stock float32 frequencies at far positions, from transformers' own functions: right ones agree, wrong ones differ."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from every import every
from posenc import DynamicNTK, Linear, Llama3, LongRoPE, Proportional, RoPE, Scaling, YaRN
from posenc.catalog import CATALOG
from posenc.diagnosis import diagnose
from posenc.models import from_config
from posenc.models.pair_rotation import pair_rotation
from posenc.transformers import trace

pytest.importorskip("transformers")
LLAMA = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
DIMS, BASES, FACTORS, ORIGINALS = (16, 80, 128), (10_000.0, 500_000.0, 12_345.678), (2.0, 8.0, 40.0), (2048, 8192)


class Stock(NamedTuple):
    """Rotation, its stock float32 frequencies and attention factor, and the same rotation with a mistake."""

    encoding: RoPE
    frequencies: np.ndarray
    attention: float
    wrong: RoPE


def stock(dim: int, base: float, scaling: Scaling, wrong: Scaling, length: int | None = None, **rope: Any) -> Stock:
    from transformers import LlamaConfig

    longest = rope.pop("longest", 131_072)
    config = LlamaConfig(
        head_dim=dim, hidden_size=2 * dim, num_attention_heads=2, max_position_embeddings=longest,
        rope_parameters={"rope_theta": base, **rope},
    )  # fmt: skip
    functions = import_module("transformers.modeling_rope_utils").ROPE_INIT_FUNCTIONS
    values, attention = functions[rope["rope_type"]](config, None, seq_len=length)
    encoding = RoPE(dim, base=base, pairing="halves", scaling=scaling)
    return Stock(encoding, values.numpy(), attention, replace(encoding, scaling=wrong))


def cases() -> list[Stock]:
    found = []
    for dim, base, s in product(DIMS, BASES, FACTORS):
        off = s * 1.000125  # 8.001 for 8
        found.append(stock(dim, base, Linear(s), Linear(off), rope_type="linear", factor=s))
        share, other = Proportional(0.25, s), Proportional(0.25, off)
        found.append(stock(dim, base, share, other, rope_type="proportional", partial_rotary_factor=0.25, factor=s))
        for original in ORIGINALS:
            stated = {"factor": s, "original_max_position_embeddings": original}
            for low, high in ((1.0, 4.0), (2.0, 3.0)):
                right = Llama3(s, original, low, high)
                rope = {**LLAMA, **stated, "low_freq_factor": low, "high_freq_factor": high}
                found.append(stock(dim, base, right, replace(right, factor=off), **rope))
            right = YaRN(s, original)
            found.append(stock(dim, base, right, replace(right, factor=off), rope_type="yarn", **stated))
            length = int(s * original)
            right = DynamicNTK(s, original, length)
            longer = replace(right, length=length + length // 1000)
            rope = {"rope_type": "dynamic", "factor": s, "longest": original, "length": length}
            found.append(stock(dim, base, right, longer, **rope))
            divisors = np.linspace(1.0, s, dim // 2)
            right = LongRoPE(tuple(divisors.tolist()), tuple(divisors.tolist()), original, length, s)
            other = replace(right, long=tuple((1.0001 * divisors).tolist()))
            lists = {"short_factor": divisors.tolist(), "long_factor": divisors.tolist(), "length": length}
            found.append(stock(dim, base, right, other, rope_type="longrope", **stated, **lists))
    return found


def table(one: Stock, start: int) -> dict[str, np.ndarray]:
    """Cosines and sines of 8 positions in float32, as transformers forms them."""
    positions = np.arange(start, start + 8)
    angles = torch.outer(torch.tensor(positions, dtype=torch.float32), torch.tensor(one.frequencies))
    return {
        "cos": (angles.cos() * one.attention).numpy(),
        "sin": (angles.sin() * one.attention).numpy(),
        "positions": positions,
    }


def test_stock_frequencies_are_within_their_bound_which_mistakes_are_not() -> None:
    def check(one: Stock) -> None:
        frequencies = one.encoding.frequencies
        bound = frequencies.rounding()
        assert np.all(np.abs(one.frequencies - frequencies.radians()) <= bound)
        assert np.any(np.abs(one.wrong.frequencies.radians() - frequencies.radians()) > 4 * bound)

    every(cases(), check)


def test_far_tables_agree_and_far_mistakes_are_seen() -> None:
    def check(one: Stock) -> None:
        for start in (131_064, 1_000_000):
            assert diagnose(one.encoding, table(one, start)).agree, start

    few = cases()[::7]
    every(few, check)
    for one in few[:6]:  # a mistake is looked for, which takes longer
        assert not diagnose(one.wrong, table(one, 131_064)).agree


@pytest.mark.nightly
def test_every_far_table_agrees_and_each_far_mistake_is_seen() -> None:
    def check(one: Stock) -> None:
        for start in (131_064, 1_000_000):
            assert diagnose(one.encoding, table(one, start)).agree, start
        # At 1,000,000 a factor off by 1/8000 is what positions shifted by 125 give, which a rotation does not show.
        assert not diagnose(one.wrong, table(one, 131_064)).agree

    every(cases(), check)


@pytest.mark.parametrize(("planted", "seen"), [
    pytest.param({}, True, id="right"),
    pytest.param({"low_freq_factor": 1.01}, False, id="low", marks=pytest.mark.nightly),
    pytest.param({"factor": 8.001}, False, id="factor", marks=pytest.mark.nightly),
    pytest.param({"original_max_position_embeddings": 8190}, False, id="original", marks=pytest.mark.nightly),
    pytest.param({"rope_theta": 500_500.0}, False, id="base", marks=pytest.mark.nightly),
])  # fmt: skip
def test_a_module_of_llama_at_far_positions(planted: dict[str, float], seen: bool) -> None:
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    rope = {**LLAMA, "rope_theta": 500_000.0, "original_max_position_embeddings": 8192}
    right, other = (
        LlamaConfig(max_position_embeddings=131_072, head_dim=128, rope_parameters=parameters)
        for parameters in (rope, {**rope, **planted})
    )
    for start in (60_055, 130_000):
        positions = torch.arange(start, start + 8)
        cos, sin = (part[0].numpy() for part in LlamaRotaryEmbedding(other)(torch.zeros(1), positions[None]))
        found = diagnose(from_config(right.to_dict()), {"cos": cos, "sin": sin, "positions": positions.numpy()})
        assert found.agree is seen, (start, str(found))


@pytest.mark.parametrize("start", [60_000, 130_000])
@pytest.mark.parametrize("dim", [16, 64, 128])
def test_positions_of_llama_are_traced_far_away(dim: int, start: int) -> None:
    from transformers import LlamaConfig, LlamaForCausalLM

    rope = {**LLAMA, "rope_theta": 500_000.0, "original_max_position_embeddings": 8192}
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=100, hidden_size=dim, intermediate_size=16, num_hidden_layers=1, num_attention_heads=1,
        max_position_embeddings=131_072, rope_parameters=rope,
    )).eval()  # fmt: skip
    with torch.no_grad(), trace(model) as traced:
        model(torch.randint(3, 100, (1, 8)), position_ids=torch.arange(start, start + 8)[None])
    assert traced.check().agree, str(traced)
    assert f"q and k at {start}-{start + 7};" in str(traced)


def test_every_rotation_of_the_catalog_has_a_bound_on_its_frequencies() -> None:
    rotations = [pair_rotation(sample) for row in CATALOG for sample in row.samples]
    bounds = [(rotation.rounding(), rotation.radians()) for rotation in rotations if rotation is not None]
    assert len(bounds) > 20
    for bound, radians in bounds:
        moves = radians != 0
        assert np.all((bound[moves] >= 0) & (bound[moves] <= 1e-4 * np.abs(radians[moves])))
