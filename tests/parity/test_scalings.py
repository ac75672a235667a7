"""Scalings against live peers: transformers 5.23.0 bit for bit, x-transformers and rotary-embedding-torch to
rounding."""

from __future__ import annotations

import warnings
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np
import pytest
import torch

from posenc import DynamicNTK, Linear, Llama3, LongRoPE, NTKAware, Proportional, RoPE, Scaling, YaRN
from posenc.frequencies import Rescaled, attention_of

LIKE = torch.zeros(())
SHORT, LONG = [1.0 + 0.01 * i for i in range(48)], [1.0 + 1.37 * i for i in range(48)]


@pytest.fixture(scope="module", autouse=True)
def pinned() -> None:
    pytest.importorskip("transformers")
    assert version("transformers") == "5.23.0"


def config(dim: int, rope: dict[str, Any], longest: int) -> Any:
    from transformers import LlamaConfig

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return LlamaConfig(
            head_dim=dim,
            hidden_size=4 * dim,
            num_attention_heads=4,
            max_position_embeddings=longest,
            rope_parameters=dict(rope),
        )


def peer(dim: int, base: float, longest: int, length: int | None = None, **rope: Any) -> tuple[torch.Tensor, float]:
    """Frequencies and attention factor of transformers for a config."""
    functions = import_module("transformers.modeling_rope_utils").ROPE_INIT_FUNCTIONS
    rope = {"rope_theta": base, **rope}
    return functions[rope["rope_type"]](config(dim, rope, longest), None, seq_len=length)


def ours(dim: int, base: float, scaling: Scaling) -> RoPE:
    return RoPE(dim=dim, base=base, pairing="halves", numerics="float32", scaling=scaling)


def check_bit_equal(encoding: RoPE, found: tuple[torch.Tensor, float]) -> None:
    assert torch.equal(encoding.frequencies.float32(LIKE), found[0])
    assert encoding.attention_factor == found[1]


@pytest.mark.parametrize(("dim", "base", "factor"), [(64, 10_000.0, 2.0), (128, 500_000.0, 8.0), (10, 1e6, 3.7)])
def test_linear(dim: int, base: float, factor: float) -> None:
    check_bit_equal(ours(dim, base, Linear(factor)), peer(dim, base, 2048, rope_type="linear", factor=factor))


@pytest.mark.parametrize(
    ("dim", "base", "factor", "original", "length"),
    [(64, 10_000.0, 2.0, 2048, 5000), (128, 1e6, 4.0, 4096, 131_072), (10, 10_000.0, 2.5, 100, 101)],
)
def test_dynamic(dim: int, base: float, factor: float, original: int, length: int) -> None:
    scaling = DynamicNTK(factor=factor, original=original, length=length)
    check_bit_equal(ours(dim, base, scaling), peer(dim, base, original, length, rope_type="dynamic", factor=factor))
    check_bit_equal(
        ours(dim, base, DynamicNTK(factor=factor, original=original, length=7)),
        peer(dim, base, original, 7, rope_type="dynamic", factor=factor),
    )


def test_dynamic_of_a_running_model_rounds_its_base_to_float32() -> None:
    """In a forward pass the peer's length is a tensor, and the base is then a float32: the frequencies move by
    2^-24·ln."""
    rope = {"rope_type": "dynamic", "rope_theta": 10_000.0, "factor": 2.0}
    module = import_module("transformers.models.llama.modeling_llama").LlamaRotaryEmbedding(config(64, rope, 2048))
    module(LIKE, torch.arange(5000)[None])
    found = ours(64, 10_000.0, DynamicNTK(factor=2.0, original=2048, length=5000)).frequencies.float32(LIKE)
    # The stretch is a power of 64/62 of a rounded number: three roundings of the base, then the 3 of any frequency.
    assert (found / module.inv_freq - 1).abs().max() <= 8 * 2.0**-24


YARNS = [
    (128, 10_000.0, {"factor": 16.0, "original_max_position_embeddings": 4096}),
    (64, 150_000.0, {"factor": 32.0, "original_max_position_embeddings": 4096, "truncate": False}),
    (64, 150_000.0, {"factor": 32.0, "original_max_position_embeddings": 4096, "truncate": True}),
    (128, 1e6, {"factor": 4.0, "original_max_position_embeddings": 32_768, "beta_fast": 16.0, "beta_slow": 2.0}),
    (64, 10_000.0, {"factor": 40.0, "original_max_position_embeddings": 4096, "mscale": 0.707,
        "mscale_all_dim": 0.707}),
    (64, 10_000.0, {"factor": 40.0, "original_max_position_embeddings": 4096, "mscale": 1.0, "mscale_all_dim": 0.8}),
    (10, 500.0, {"factor": 3.5, "original_max_position_embeddings": 100, "attention_factor": 1.25}),
    (128, 10_000.0, {"factor": 1.0, "original_max_position_embeddings": 4096}),
    (64, 10_000.0, {"factor": 4.0, "original_max_position_embeddings": 2048, "beta_fast": 4.0, "beta_slow": 4.0}),
]  # fmt: skip


def yarn(rope: dict[str, Any]) -> YaRN:
    names = {"original_max_position_embeddings": "original", "attention_factor": "attention"}
    return YaRN(**{names.get(name, name): value for name, value in rope.items()})


@pytest.mark.parametrize(("dim", "base", "rope"), YARNS)
def test_yarn(dim: int, base: float, rope: dict[str, Any]) -> None:
    check_bit_equal(ours(dim, base, yarn(rope)), peer(dim, base, 131_072, rope_type="yarn", **rope))


def test_yarn_truncation_is_another_function() -> None:
    _, _, rope = YARNS[1]
    cut, fractional = (
        Rescaled(ours(64, 150_000.0, yarn(rope)).frequencies.unscaled, yarn(rope | {"truncate": truncate})).radians()
        for truncate in (True, False)
    )
    # gpt-oss: the same two settings differ by a third on some pairs.
    assert 0.3 < np.abs(cut / fractional - 1).max() < 0.9


@pytest.mark.parametrize(
    ("mscale", "of_all"), [(None, None), (0.707, None), (None, 0.707), (0.707, 0.707), (1.0, 0.5), (1.0, 0.0)]
)
def test_attention_factor_of_a_file_as_transformers_reads_it(mscale: float | None, of_all: float | None) -> None:
    given = {"mscale": mscale, "mscale_all_dim": of_all}
    rope = {"rope_type": "yarn", "factor": 40.0, "original_max_position_embeddings": 4096, **given}
    assert attention_of("transformers", 40.0, mscale, of_all) == peer(64, 10_000.0, 163_840, **rope)[1]


@pytest.mark.parametrize(
    ("dim", "base", "scaling"),
    [
        (128, 500_000.0, Llama3()),
        (64, 500_000.0, Llama3(factor=32.0)),
        (128, 500_000.0, Llama3(factor=16.0, low=1.0, high=1.0)),
        (10, 10_000.0, Llama3(factor=3.0, original=700, low=0.5, high=9.0)),
    ],
)
def test_llama3(dim: int, base: float, scaling: Llama3) -> None:
    rope = {
        "factor": scaling.factor,
        "low_freq_factor": scaling.low,
        "high_freq_factor": scaling.high,
        "original_max_position_embeddings": scaling.original,
    }
    check_bit_equal(ours(dim, base, scaling), peer(dim, base, 131_072, rope_type="llama3", **rope))


@pytest.mark.parametrize("length", [1, 4096, 4097, 131_072])
@pytest.mark.parametrize(("factor", "attention"), [(32.0, None), (1.0, None), (4.0, 1.19)])
def test_longrope(length: int, factor: float, attention: float | None) -> None:
    scaling = LongRoPE(SHORT, LONG, original=4096, length=length, factor=factor, attention=attention)
    rope = {
        "short_factor": SHORT,
        "long_factor": LONG,
        "factor": factor,
        "attention_factor": attention,
        "original_max_position_embeddings": 4096,
    }
    check_bit_equal(ours(96, 10_000.0, scaling), peer(96, 10_000.0, 131_072, length, rope_type="longrope", **rope))


@pytest.mark.parametrize(
    ("dim", "fraction", "factor"), [(128, 0.25, 1.0), (256, 0.5, 8.0), (20, 0.3, 1.0), (64, 1.0, 2.0)]
)
def test_proportional(dim: int, fraction: float, factor: float) -> None:
    rope = {"partial_rotary_factor": fraction, "factor": factor}
    check_bit_equal(
        ours(dim, 1e6, Proportional(fraction=fraction, factor=factor)),
        peer(dim, 1e6, 131_072, rope_type="proportional", **rope),
    )


@pytest.mark.parametrize(
    ("rope", "scaling"),
    [
        ({"rope_type": "yarn", **YARNS[0][2]}, yarn(YARNS[0][2])),
        (
            {
                "rope_type": "llama3",
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 8192,
            },
            Llama3(),
        ),
        ({"rope_type": "linear", "factor": 4.0}, Linear(4.0)),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_tables_of_a_model_are_bit_equal(rope: dict[str, Any], scaling: Scaling, dtype: torch.dtype) -> None:
    positions = torch.stack([torch.arange(40), torch.arange(131_072 - 40, 131_072)])
    settings = config(128, {"rope_theta": 10_000.0, **rope}, 131_072)
    module = import_module("transformers.models.llama.modeling_llama").LlamaRotaryEmbedding(settings)
    cosine, sine = module(torch.zeros((), dtype=dtype), positions)
    rotation = ours(128, 10_000.0, scaling).rotation(positions, dtype=dtype)
    assert torch.equal(rotation.cos, cosine[..., :64])
    assert torch.equal(rotation.sin, sine[..., 64:])


def test_ntk_aware_is_the_rescaled_base_of_x_transformers() -> None:
    library = pytest.importorskip("x_transformers.x_transformers")
    module = library.RotaryEmbedding(64, base_rescale_factor=8.0)
    assert torch.equal(ours(64, 10_000.0, NTKAware(8.0)).frequencies.float32(LIKE), module.inv_freq)


def test_linear_is_the_interpolation_of_x_transformers() -> None:
    """The peer divides positions where we divide frequencies: one rounding each, of angles below 40."""
    library = pytest.importorskip("x_transformers.x_transformers")
    angles, _ = library.RotaryEmbedding(64, interpolation_factor=3.0)(torch.arange(40))
    mine = torch.arange(40)[:, None] * ours(64, 10_000.0, Linear(3.0)).frequencies.float32(LIKE)
    assert (angles[0, :, 0::2] - mine).abs().max() <= 4 * 40 * 2.0**-24


def test_ntk_aware_is_the_rescaled_theta_of_rotary_embedding_torch() -> None:
    library = pytest.importorskip("rotary_embedding_torch")
    module = library.RotaryEmbedding(dim=64, theta_rescale_factor=8.0)
    assert torch.equal(ours(64, 10_000.0, NTKAware(8.0)).frequencies.float32(LIKE), module.freqs.detach())
