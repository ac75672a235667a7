"""Scalings of rotary frequencies: exact values, what each field does, what is refused, and RoPE's use of them."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
import torch

from oracles import scalings as oracle
from posenc import (
    CATALOG,
    Clipped,
    DynamicNTK,
    Linear,
    Llama3,
    LongRoPE,
    NTKAware,
    NTKByParts,
    NTKFixed,
    NTKMixed,
    Partial,
    Proportional,
    Resonance,
    RIFLEx,
    RoPE,
    Scaling,
    YaRN,
    parse,
)
from posenc.catalog import row, row_of
from posenc.frequencies import Geometric, Rescaled, attention_of
from posenc.inspect import rotation_error, spectrum
from posenc.learn import worked

LISTS: dict[str, Any] = {
    "short": tuple(1 + 0.01 * i for i in range(32)),
    "long": tuple(1 + 1.1 * i for i in range(32)),
    "original": 4096,
    "factor": 8.0,
}
#: Of dim 64, in released sizes.
SCALINGS = [
    Linear(8.0),
    NTKAware(8.0),
    DynamicNTK(factor=2.0, original=4096, length=5000),
    DynamicNTK(factor=2.0, original=4096, length=100),
    NTKFixed(8.0),
    NTKMixed(8.0, b=0.75),
    NTKMixed(8.0, b=0.0),
    NTKByParts(16.0, original=4096),
    YaRN(16.0, original=4096),
    YaRN(32.0, original=4096, truncate=False),
    YaRN(40.0, original=4096, mscale=0.707, mscale_all_dim=1.0),
    YaRN(4.0, original=512, beta_fast=2.0, beta_slow=2.0, attention=1.25),
    YaRN(4.0, original=512, beta_fast=2.0, beta_slow=2.0, truncate=False),  # the ramp has no length
    Llama3(),
    Llama3(factor=16.0, low=1.0, high=1.0),
    LongRoPE(**LISTS, length=4096),
    LongRoPE(**LISTS, length=4097),
    Proportional(0.25),
    Proportional(0.3, factor=8.0),
    Resonance(),
    Resonance(YaRN(16.0, original=4096)),
    Resonance(Proportional(0.25)),  # pairs that stand still
    Clipped(),
    Clipped(count=32, scaling=YaRN(16.0, original=4096)),
    Clipped(count=5, soft=False),
    RIFLEx(pair=5, length=120),
    RIFLEx(pair=3, length=1000, share=1.0),
]
CASES = pytest.mark.parametrize("scaling", SCALINGS)
#: Compiled anew for each: two in every run, the others by night.
COMPILED = pytest.mark.parametrize(
    "scaling",
    [
        pytest.param(
            one, marks=() if one in (YaRN(16.0, original=4096), LongRoPE(**LISTS, length=4097)) else pytest.mark.nightly
        )
        for one in SCALINGS
    ],
)
#: Where a ramp or a smooth part begins.
BASES = pytest.mark.parametrize("base", [500.0, 10_000.0, 150_000.0, 1e6])


@BASES
@CASES
def test_frequencies_are_the_exact_ones(scaling: Scaling, base: float) -> None:
    """float64 frequencies are correctly rounded but for the decimal's own end at 100 digits: half a unit, here 0.51."""
    radians = Rescaled(Geometric(64, base), scaling).radians()
    with mpmath.workprec(300):
        for plane, value in enumerate(radians.tolist()):
            true = oracle.frequency(scaling, base, 64, plane)
            assert abs(mpmath.mpf(value) - true) <= 0.51 * np.spacing(value)


@CASES
def test_attention_factors_are_the_exact_ones(scaling: Scaling) -> None:
    # A logarithm, two products or quotients and a sum or a root: four roundings of numbers near 1.
    assert abs(scaling.attention_factor - float(oracle.attention_factor(scaling))) <= 4 * 2.0**-52


@CASES
def test_released_arithmetic_is_the_exact_one_to_float32(scaling: Scaling) -> None:
    """Powers, quotients and blends round about ten times; the ramps of Llama 3 divide by up to 3 and subtract near
    1, and what clipping keeps of a frequency is rounded as a number near 1."""
    rescaled = Rescaled(Geometric(64, 500_000.0), scaling)
    exact = rescaled.radians()
    for like in (np.zeros(()), torch.zeros(()), jnp.zeros(())):
        found = np.asarray(rescaled.float32(like))
        assert found.dtype == np.float32
        size = Geometric(64, 500_000.0).radians() if isinstance(scaling, Clipped) else exact
        assert (np.abs(found - exact) <= 24 * 2.0**-24 * size).all()


@pytest.mark.parametrize("count", [2, 3, 20, 31])
def test_clipped_as_the_released_code_computes_it(count: int) -> None:
    """hrlics/CoPE masks the slowest frequencies with a cosine of torch.linspace."""
    frequencies = Geometric(64, 500_000.0).float32(torch.zeros(()))
    mask = 0.5 * (1.0 + torch.cos(torch.linspace(0.0, torch.pi, steps=count)))
    expected = torch.cat([frequencies[:-count], frequencies[-count:] * mask])
    found = Rescaled(Geometric(64, 500_000.0), Clipped(count=count)).float32(torch.zeros(()))
    assert torch.equal(found, expected)


@pytest.mark.parametrize("k", [1, 4, 8])
def test_riflex_as_the_released_code_computes_it(k: int) -> None:
    """thu-ml/RIFLEx counts pairs from 1 and writes 0.9 · 2π / L into one float32 frequency."""
    frequencies = Geometric(16, 256.0).float32(torch.zeros(()))
    frequencies[k - 1] = 0.9 * 2 * torch.pi / 900
    found = Rescaled(Geometric(16, 256.0), RIFLEx(pair=k - 1, length=900)).float32(torch.zeros(()))
    assert torch.equal(found, frequencies)


def test_riflex_finds_the_pair_whose_wavelength_repeats() -> None:
    """`identify_k` of the authors, over the time of HunyuanVideo and CogVideoX."""
    for dim, base in ((16, 256.0), (16, 10_000.0)):
        wavelengths = [round(2 * np.pi * base ** (2 * pair / dim)) for pair in range(dim // 2)]
        for frames in range(1, 2000, 7):
            nearest = min(range(dim // 2), key=lambda pair: abs(wavelengths[pair] - frames))
            assert RIFLEx.pair_repeating(Geometric(dim, base), frames) == nearest


@COMPILED
def test_the_same_in_compiled_programs(scaling: Scaling) -> None:
    for numerics in ("exact", "float32"):
        encoding = RoPE(dim=64, base=1e6, numerics=numerics, scaling=scaling)
        jitted = jax.jit(lambda positions, encoding=encoding: encoding.rotation(positions).cos)(jnp.arange(9))
        assert np.abs(np.asarray(jitted) - np.asarray(encoding.rotation(jnp.arange(9)).cos)).max() <= 9 * 4 * 2.0**-23


@COMPILED
def test_compiled_by_torch_in_one_graph(scaling: Scaling) -> None:
    torch.compiler.reset()
    encoding = RoPE(dim=64, base=1e6, numerics="float32", scaling=scaling)
    compiled = torch.compile(lambda positions: encoding.rotation(positions).cos, fullgraph=True, backend="eager")
    for length in (5, 9):
        assert torch.equal(compiled(torch.arange(length)), encoding.rotation(torch.arange(length)).cos)


@CASES
def test_encodings(scaling: Scaling) -> None:
    with pytest.raises(FrozenInstanceError):
        scaling.factor = 2.0  # type: ignore[attr-defined]
    assert hash(replace(scaling)) == hash(scaling)
    assert parse.record(repr(scaling)) == scaling
    plain = "RoPE(dim=64, base=10000.0, pairing='adjacent', numerics='exact'"
    assert repr(RoPE(dim=64)) == f"{plain})"
    assert repr(RoPE(dim=64, scaling=scaling)) == f"{plain}, scaling={scaling!r})"


#: For each scaling, an encoding in which every field matters, and another value of each.
FIELDS: list[tuple[Scaling, dict[str, Any]]] = [
    (Linear(8.0), {"factor": 4.0}),
    (NTKAware(8.0), {"factor": 4.0}),
    (DynamicNTK(2.0, 4096, 9000), {"factor": 3.0, "original": 2048, "length": 5000}),
    (NTKFixed(8.0), {"factor": 4.0}),
    (NTKMixed(8.0, 0.75), {"factor": 4.0, "b": 0.5}),
    (NTKByParts(8.0, 4096), {"factor": 4.0, "original": 2048, "alpha": 2.0, "beta": 16.0}),
    (
        YaRN(8.0, 4096),
        {
            "factor": 4.0,
            "original": 1024,
            "beta_fast": 8.0,
            "beta_slow": 4.0,
            "truncate": False,
            "attention": 1.0,
        },
    ),
    (YaRN(8.0, 4096, mscale=1.0, mscale_all_dim=0.5), {"mscale": 0.75, "mscale_all_dim": 0.25}),
    (Llama3(), {"factor": 4.0, "original": 4096, "low": 2.0, "high": 8.0}),
    (
        LongRoPE(**LISTS, length=9000),
        {"long": LISTS["short"], "original": 9000, "length": 4096, "factor": 4.0, "attention": 1.0},
    ),
    (LongRoPE(**LISTS, length=9), {"short": LISTS["long"]}),
    (Proportional(0.5), {"fraction": 0.25, "factor": 2.0}),
    (Resonance(), {"scaling": Linear(2.0)}),
    (Clipped(), {"count": 19, "soft": False, "scaling": Linear(2.0)}),
    (RIFLEx(5, 120), {"pair": 4, "length": 121, "share": 1.0}),
]


def test_every_field_of_every_scaling_matters() -> None:
    tried = set()
    for scaling, others in FIELDS:
        for name, value in others.items():
            other = replace(scaling, **{name: value})
            same = Rescaled(Geometric(64), other).exact() == Rescaled(Geometric(64), scaling).exact()
            assert not same or other.attention_factor != scaling.attention_factor, (scaling, name)
            tried.add((type(scaling), name))
    assert tried == {(kind, field.name) for kind in {type(s) for s, _ in FIELDS} for field in fields(kind)}


REFUSED: list[tuple[type, dict[str, Any], str]] = [
    *(
        (kind, {"factor": bad} | rest, "factor must be a finite number from 1 to 1e\\+06")
        for kind, rest in (
            (Linear, {}),
            (NTKAware, {}),
            (DynamicNTK, {"original": 64, "length": 64}),
            (NTKFixed, {}),
            (NTKMixed, {"b": 0.5}),
            (NTKByParts, {"original": 64}),
            (YaRN, {"original": 64}),
            (Llama3, {}),
            (LongRoPE, {"short": (1.0,), "long": (1.0,), "original": 64, "length": 64}),
            (Proportional, {"fraction": 0.5}),
        )
        for bad in (0.5, 0.0, -2.0, math.nan, math.inf, 1e7, "8", None, True)
    ),
    *(
        (kind, {"factor": 2.0, "original": bad} | rest, "original must be an integer from 1 ")
        for kind, rest in ((DynamicNTK, {"length": 64}), (NTKByParts, {}), (YaRN, {}), (Llama3, {}))
        for bad in (0, -1, 64.0, None, 2**53 + 1)
    ),
    (DynamicNTK, {"factor": 2.0, "original": 64, "length": 0}, "length must be an integer from 1 "),
    (NTKMixed, {"factor": 2.0, "b": -1.0}, "b must be a finite number from 0 to 10"),
    (NTKByParts, {"factor": 2.0, "original": 64, "alpha": -1.0}, "alpha must be a finite number from 0 "),
    (NTKByParts, {"factor": 2.0, "original": 64, "beta": 0.0}, "beta must be a finite number above 0 "),
    (NTKByParts, {"factor": 2.0, "original": 64, "alpha": 4.0, "beta": 4.0},
        "alpha must be below beta; got alpha=4.0, beta=4.0"),
    (YaRN, {"factor": 2.0, "original": 64, "beta_fast": 0.0}, "beta_fast must be a finite number above 0 "),
    (YaRN, {"factor": 2.0, "original": 64, "beta_slow": math.nan}, "beta_slow must be a finite number above 0 "),
    (YaRN, {"factor": 2.0, "original": 64, "beta_fast": 1.0, "beta_slow": 2.0},
        "beta_slow must be at most beta_fast; got beta_slow=2.0"),
    (YaRN, {"factor": 2.0, "original": 6}, "original must be at least 2π·beta_slow"),
    (YaRN, {"factor": 2.0, "original": 64, "truncate": 1}, "truncate must be True or False"),
    (YaRN, {"factor": 2.0, "original": 64, "mscale": 1.0}, "mscale and mscale_all_dim must be given together; got "
    "mscale=1.0"),
    (YaRN, {"factor": 2.0, "original": 64, "mscale": -1.0, "mscale_all_dim": 1.0},
        "mscale must be a finite number from 0 "),
    (YaRN, {"factor": 2.0, "original": 64, "mscale": 1.0, "mscale_all_dim": "1"},
        "mscale_all_dim must be a finite number from 0 "),
    (YaRN, {"factor": 2.0, "original": 64, "attention": 0.0}, "attention must be a finite number above 0 "),
    (
        YaRN,
        {"factor": 2.0, "original": 64, "attention": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0},
        "attention must be given without mscale; got 1.0 and mscale=1.0",
    ),
    (Llama3, {"low": 0.0}, "low must be a finite number above 0 "),
    (Llama3, {"high": -4.0}, "high must be a finite number above 0 "),
    (Llama3, {"low": 4.0, "high": 1.0}, "low must be at most high; got low=4.0, high=1.0"),
    *(
        (LongRoPE, {**LISTS, "length": 9, name: bad}, f"{name} must be a {rule}")
        for name in ("short", "long")
        for bad, rule in (
            (1.0, "tuple of numbers, one for each pair"),
            ((), "tuple of numbers, one for each pair"),
            ((1.0, 0.0), "finite number above 0"),
            ((1.0, math.nan), "finite number above 0"),
        )
    ),
    (LongRoPE, {**LISTS, "length": 0}, "length must be an integer from 1 "),
    (LongRoPE, {**LISTS, "original": 1, "length": 9}, "original must be an integer from 2 "),
    (LongRoPE, {**LISTS, "length": 9, "attention": -1.0}, "attention must be a finite number above 0 "),
    (Proportional, {"fraction": 0.0}, "fraction must be a finite number above 0 and at most 1"),
    (Proportional, {"fraction": 1.5}, "fraction must be a finite number above 0 and at most 1"),
    (Resonance, {"scaling": 2.0}, "scaling must be a scaling or None; got 2.0"),
    (Clipped, {"count": 0}, "count must be an integer from 1"),
    (RIFLEx, {"pair": -1, "length": 9}, "pair must be an integer from 0"),
    (RIFLEx, {"pair": 0, "length": 0}, "length must be an integer from 1"),
    (RIFLEx, {"pair": 0, "length": 9, "share": 1.5}, "share must be a finite number above 0 and at most 1"),
    (RoPE, {"dim": 8, "scaling": RIFLEx(4, 99)}, "pair must be below the 4 pairs that there are; got 4"),
    (RoPE, {"dim": 8, "scaling": RIFLEx(1, 56)}, "length must be at least 57, or pair 1 would rotate faster.*got 56"),
    (Clipped, {"soft": 1}, "soft must be True or False"),
    (Clipped, {"scaling": 2.0}, "scaling must be a scaling or None; got 2.0"),
    (RoPE, {"dim": 8, "scaling": Clipped(count=5)}, "count must leave at least one of 4 pairs that rotates, so"),
    (RoPE, {"dim": 8, "scaling": Clipped(count=4, soft=False)}, "count must leave at least one of 4 pairs that"),
    (Rescaled, {"unscaled": 64, "scaling": Linear(2.0)}, "unscaled must be geometric frequencies"),
    (Rescaled, {"unscaled": Geometric(64), "scaling": 2.0}, "scaling must be a scaling, Linear"),
    (Rescaled, {"unscaled": Geometric(64, exponent="i/d"), "scaling": Linear(2.0)},
        "unscaled must have the exponents 2i/d"),
    (Rescaled, {"unscaled": Geometric(7), "scaling": Linear(2.0)},
        "unscaled must have the exponents 2i/d of an even width"),
    (RoPE, {"dim": 8, "scaling": 4.0}, "scaling must be a scaling such as Linear"),
    (RoPE, {"dim": 2, "scaling": NTKAware(2.0)}, "dim must be at least 4 for NTKAware"),
    (RoPE, {"dim": 2, "scaling": DynamicNTK(2.0, 64, 99)}, "dim must be at least 4 for DynamicNTK"),
    (RoPE, {"dim": 8, "base": 1.0, "scaling": YaRN(2.0, 64)}, "base must be above 1, and so large"),
    (RoPE, {"dim": 8, "base": 2.0, "scaling": YaRN(2.0, 2**40)}, "base must be above 1, and so large"),
    (RoPE, {"dim": 8, "scaling": LongRoPE(**LISTS, length=9)}, "short must have a divisor for each of 4 pairs; got 32"),
    (
        RoPE,
        {"dim": 8, "scaling": LongRoPE(**(LISTS | {"short": (1.0,) * 4}), length=9)},
        "long must have a divisor for each of 4 pairs; got 32",
    ),
    (RoPE, {"dim": 8, "scaling": Proportional(0.2)}, "fraction must rotate at least one of 4 pairs; got 0.2"),
    (RoPE, {"dim": 8, "base": 1e-6, "scaling": Resonance()}, "base must leave wavelengths of half a position or more"),
    (RoPE, {"dim": 8, "scaling": Resonance(Proportional(0.2))}, "fraction must rotate at least one"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "given", "says"), REFUSED)
def test_what_is_refused(kind: type, given: dict[str, Any], says: str) -> None:
    with pytest.raises((ValueError, TypeError), match=f"^{says}"):
        kind(**given)


def test_what_a_file_may_mean_by_one_mscale() -> None:
    paper, alone = 0.1 * math.log(40) + 1, 0.0707 * math.log(40) + 1
    assert [attention_of("transformers", 40.0, *pair) for pair in ((None, None), (0.707, None), (0.707, 0.0))] == [
        paper
    ] * 3
    assert attention_of("transformers", 40.0, 0.707, 1.0) == alone / paper
    assert attention_of("megatron", 40.0, 0.707, None) == pytest.approx(alone)
    assert attention_of("megatron", 40.0, None, 0.707) == pytest.approx(paper / alone)
    assert attention_of("outside", 40.0, 0.707, 0.707) == 1.0
    with pytest.raises(ValueError, match=r"^dialect must be one of 'transformers', 'megatron', 'outside'; got 'vllm'"):
        attention_of("vllm", 40.0, 1.0, 1.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^factor must be a finite number"):
        attention_of("outside", 0.5, 1.0, 1.0)
    with pytest.raises(ValueError, match=r"^mscale must be a finite number"):
        attention_of("megatron", 40.0, -1.0, 1.0)
    with pytest.raises(ValueError, match=r"^mscale_all_dim must be a finite number"):
        attention_of("megatron", 40.0, 1.0, math.nan)


def test_softmax_factor_of_deepseek() -> None:
    encoding = YaRN(40.0, 4096, mscale=1.0, mscale_all_dim=1.0)
    assert encoding.attention_factor == 1.0
    assert encoding.softmax_factor == pytest.approx(1.87385, abs=1e-5)  # (0.1·ln 40 + 1)²
    assert YaRN(40.0, 4096).softmax_factor == 1.0


def test_attention_factor_multiplies_the_waves_and_is_undone() -> None:
    scaling = YaRN(4.0, original=512)
    loud, plain = (RoPE(dim=12, scaling=replace(scaling, attention=value)) for value in (None, 1.0))
    assert "isometry" in plain.claims
    assert "isometry" not in loud.claims
    positions = np.array([[0, 7, 100_000], [1, 2, 3]])
    x = np.random.default_rng(0).standard_normal((2, 12, 3, 12))
    factor = 0.1 * math.log(4) + 1
    rotated = loud.rotation(positions)(x, layout="bhtd")
    # Product, product, sum and the factor: four roundings of numbers below 5.
    assert np.abs(rotated - factor * plain.rotation(positions)(x, layout="bhtd")).max() <= 4 * 5 * 2.0**-52
    back = loud.rotation(positions).inverse()
    assert np.abs(back(rotated, layout="bhtd") - x).max() <= 12 * 5 * 2.0**-52
    assert np.abs(back.inverse()(x, layout="bhtd") - rotated).max() <= 12 * 5 * 2.0**-52
    wide = Partial(loud, dim=20, start=4)
    assert "isometry" not in wide.claims
    assert wide.rotation([1]).factor == factor
    assert rotation_error(wide, [1, 50]).relative < 1e-14


def test_turns_with_a_factor_pass_through_jax_transformations() -> None:
    import posenc.jax  # noqa: F401

    rotation = RoPE(dim=4, scaling=YaRN(4.0, original=512)).rotation(jnp.arange(3))
    again = jax.jit(lambda t: t.inverse())(rotation)
    assert again.factor == 1 / rotation.factor


def test_sixteen_bit_waves_are_rounded_once() -> None:
    encoding = RoPE(dim=64, scaling=YaRN(4.0, original=512))
    wide, half = (encoding.rotation(torch.arange(500), dtype=dtype) for dtype in (torch.float32, torch.bfloat16))
    assert torch.equal(half.cos, wide.cos.bfloat16())
    assert half.cos.dtype == torch.bfloat16


def test_length_is_stated_and_nothing_depends_on_history() -> None:
    encoding = RoPE(dim=8, scaling=DynamicNTK(2.0, original=64, length=200))
    first = encoding.rotation([3]).cos
    encoding.rotation([100_000])
    assert np.array_equal(encoding.rotation([3]).cos, first)
    assert not np.array_equal(encoding.rotation([3]).cos, RoPE(dim=8).rotation([3]).cos)


def test_spectrum_and_worked_steps_show_the_scaled_frequencies() -> None:
    encoding = RoPE(dim=8, scaling=YaRN(4.0, original=64, beta_fast=8.0))
    assert spectrum(encoding).frequencies.tolist() == [1.0, 0.0625, 0.0025, 0.00025]
    shown = worked(encoding, 3)
    assert "3 · 0.0025 (unscaled 0.01) = 0.0075 rad" in str(shown)
    assert "1.138629 · (a·cos θ" in shown.formula
    assert "logits grow by its square" in str(shown)
    assert "3 · 0.005 (unscaled 0.01)" in str(worked(Partial(RoPE(dim=4, scaling=Linear(2.0)), dim=8), 3))
    assert spectrum(RoPE(dim=8, scaling=Resonance())).wavelengths.tolist() == [6.0, 63.0, 628.0, 6283.0]
    assert spectrum(RoPE(dim=8, scaling=Proportional(0.5))).wavelengths[2:].tolist() == [math.inf, math.inf]
    assert spectrum(RoPE(dim=8, scaling=NTKAware(4.0))).ratio == pytest.approx(10 * 4 ** (1 / 3))


def test_resonant_angles_repeat_exactly() -> None:
    encoding = RoPE(dim=8, scaling=Resonance())
    waves = encoding.rotation([1, 1 + 6 * 63 * 628 * 6283]).cos
    assert np.abs(waves[0] - waves[1]).max() <= 2.0**-52


def test_each_scaling_has_its_row() -> None:
    kinds = {type(scaling).__name__ for scaling in SCALINGS}
    assert {r.title for r in CATALOG if r.encoding is RoPE} >= kinds
    for name in kinds:
        assert row(name).about.__name__ == name
        assert all(row_of(sample) is row(name) for sample in row(name).samples)
    assert row_of(RoPE(dim=8)) is row("RoPE")
    assert row("RoPE").about is RoPE


def test_a_released_encoding_is_read_back_from_its_text() -> None:
    lists = tuple(1.0 + 0.0123456789012345 * i for i in range(64))
    encoding = RoPE(dim=128, scaling=LongRoPE(lists, lists, original=4096, length=131_072, factor=32.0))
    assert parse.record(repr(encoding)) == encoding
    with pytest.raises(ValueError, match="YaRN: factor must be a finite number from 1"):
        parse.record("RoPE(dim=8, scaling=YaRN(factor=0.5, original=64))")
    with pytest.raises(ValueError, match="Did you mean YaRN"):
        parse.record("RoPE(dim=8, scaling=Yarn(factor=2, original=64))")


def test_the_narrowest_head_that_a_stretch_of_the_base_takes_has_four_channels() -> None:
    scaling = NTKAware(factor=2.0)
    assert RoPE(dim=4, scaling=scaling).frequencies.exact()[0] == 1
    with pytest.raises(ValueError, match="dim must be at least 4 for NTKAware"):
        RoPE(dim=2, scaling=scaling).frequencies.exact()
