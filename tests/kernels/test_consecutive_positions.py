"""Rows of consecutive positions, made by products: the bits of rows made alone, wherever a run begins, ends or is
broken."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch

from posenc import AxialRoPE, Linear, RoPE, YaRN
from posenc.frequencies import Geometric
from posenc.kernels import native
from posenc.kernels import native_cos_sin as kernel
from posenc.phase import FixedSinusoids, fixed_frequencies_of, frequency_limbs

pytestmark = pytest.mark.skipif(
    native.MISSING is not None, reason="posenc-kernels is not installed: no compiler was found"
)
SETS = native.instruction_sets() if native.MISSING is None else ("baseline",)
STARTS = (0, 1, 31, 2**20, 2**31 - 40, 2**32 - 40, 2**53 - 40, -20, -(2**31) - 40, -(2**32) - 40, -(2**53))
#: With every number of lanes and lines left over, and more than one block.
PAIRS = (*range(1, 41), 64, 65, 79, 80, 128, 130)

#: Base and start of runs in which a product lies so near to the middle between two numbers that it alone would be
#: rounded to
#: the wrong one: found among a thousand million that AVX2 made without its test. Most are small; the first, third and
#: last are not.
HARD = ((1e4, 10042515), (1e4, 359008), (1e5, 70080), (1e5, 64704), (1e6, 5070144))


def alone(instruction_set: str, places: torch.Tensor, encoding: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Every row made by itself, as in calls of their own."""
    fixed = fixed_frequencies_of(encoding)
    numbers, rows = torch.as_tensor(frequency_limbs(fixed)), places.reshape(-1, 1, 1, places.shape[-1])
    made = [kernel.cos_sin(row, numbers, fixed.factor, instruction_set=instruction_set) for row in rows]
    cosine, sine = (torch.cat(parts, 1) for parts in zip(*made, strict=True))
    return cosine, sine


def together(instruction_set: str, places: torch.Tensor, encoding: Any) -> tuple[torch.Tensor, torch.Tensor]:
    fixed = fixed_frequencies_of(encoding)
    return kernel.cos_sin(
        places[None], torch.as_tensor(frequency_limbs(fixed)), fixed.factor, instruction_set=instruction_set
    )


def same(instruction_set: str, places: torch.Tensor, encoding: Any) -> bool:
    """Bits, the sign of zero among them, and NaN where NaN is."""
    places = places if places.ndim == 2 else places[:, None]
    pairs = zip(together(instruction_set, places, encoding), alone(instruction_set, places, encoding), strict=True)
    return all(torch.equal(mine.view(torch.int32), theirs.view(torch.int32)) for mine, theirs in pairs)


@pytest.mark.parametrize("instruction_set", SETS)
@pytest.mark.parametrize("start", STARTS)
def test_wherever_a_run_begins(instruction_set: str, start: int) -> None:
    """Up to 2^53 and around zero, 2^31 and 2^32; a run that goes on beyond 2^53 ends in NaN."""
    places = torch.arange(start, start + 100)
    for encoding in (RoPE(dim=130), RoPE(dim=70, base=5e5, scaling=YaRN(factor=8.0, original=128))):
        assert same(instruction_set, places, encoding)
        assert together(instruction_set, places[:, None], encoding)[0].isnan().any().item() == (start == 2**53 - 40)


@pytest.mark.parametrize("instruction_set", SETS)
@pytest.mark.parametrize(("base", "start"), HARD)
def test_products_that_would_be_rounded_to_another_number(instruction_set: str, base: float, start: int) -> None:
    assert same(instruction_set, torch.arange(start, start + 128), RoPE(dim=1024, base=base))


@pytest.mark.parametrize("instruction_set", SETS)
def test_every_number_of_pairs(instruction_set: str) -> None:
    for pairs in PAIRS:
        assert same(instruction_set, torch.arange(1000, 1150), RoPE(dim=2 * pairs))


@pytest.mark.parametrize("instruction_set", SETS)
@pytest.mark.parametrize("base", [0.5, 1.0, 5e5, 1e12, 1e30])
def test_every_base(instruction_set: str, base: float) -> None:
    """Frequencies above one and so slow that no product tells their sines."""
    for start in (-30, 0, 10**7, 2**40):
        assert same(instruction_set, torch.arange(start, start + 140), RoPE(dim=70, base=base))
    assert same(instruction_set, torch.arange(140), RoPE(dim=40, scaling=Linear(factor=1e6)))


@pytest.mark.parametrize("instruction_set", SETS)
def test_what_is_no_run(instruction_set: str) -> None:
    """Falling, far apart, standing still, broken in the middle, coordinates that do not rise together."""
    encoding, up = RoPE(dim=48), torch.arange(200)
    broken = torch.cat([up[:70] + 5, up[:1], up[:60] + 2**32 - 30, up[:3], -up[:50], up])
    for places in (-up, 3 * up, torch.zeros_like(up), broken, up // 2, torch.randint(-99, 99, (200,))):
        assert same(instruction_set, places, encoding)
    grid = AxialRoPE(
        axis=(0, 1, 2) * 7, frequency_index=(*range(21),), frequency_dim=42, scaling=YaRN(factor=4.0, original=64)
    )
    for steps in product((0, 1), repeat=3):
        apart = up[:, None] * torch.tensor(steps) + torch.tensor([0, 2**32 - 90, -5])
        assert same(instruction_set, torch.cat([up[:100, None].expand(100, 3), apart]), grid)


@pytest.mark.parametrize("instruction_set", SETS)
@pytest.mark.parametrize("factor", [0.0, -1.0, 1e-45, 1e-12, 3e5, 1e300, float("inf")])
def test_factors(instruction_set: str, factor: float) -> None:
    """Those that hide or break a margin are never trusted to it."""
    places, numbers = (
        torch.arange(-60, 90).reshape(1, -1, 1),
        torch.as_tensor(frequency_limbs(fixed_frequencies_of(RoPE(dim=48)))),
    )
    rows = [
        kernel.cos_sin(row.reshape(1, 1, 1), numbers, factor, instruction_set=instruction_set)
        for row in places.flatten()
    ]
    for mine, theirs in zip(
        kernel.cos_sin(places, numbers, factor, instruction_set=instruction_set), zip(*rows, strict=True), strict=True
    ):
        theirs = torch.cat(theirs, 1)
        assert torch.equal(mine.view(torch.int32), theirs.view(torch.int32)) or bool(
            (mine.isnan() & theirs.isnan() | (mine == theirs)).all()
        )


@pytest.mark.parametrize("instruction_set", SETS)
@pytest.mark.parametrize("layout", ["interleaved", "concatenated"])
@pytest.mark.parametrize("first", ["sine", "cosine"])
def test_one_table_of_both(instruction_set: str, layout: Any, first: Any) -> None:
    """Both layouts, of an even or odd width, in rows that lie apart, and nothing written next to them."""
    places = torch.cat([torch.arange(140) - 20, torch.tensor([7, 2**53 + 1])]).reshape(1, -1, 1)
    for pairs in (1, 4, 7, 8, 13, 16, 33, 48, 80):
        frequencies = RoPE(dim=2 * pairs).frequencies
        cosine, sine = kernel.cos_sin(
            places,
            torch.as_tensor(frequency_limbs(fixed_frequencies_of(RoPE(dim=2 * pairs)))),
            0.7,
            instruction_set=instruction_set,
        )
        both = [sine, cosine] if first == "sine" else [cosine, sine]
        wanted = torch.stack(both, -1).flatten(-2) if layout == "interleaved" else torch.cat(both, -1)
        for width, margin in product((2 * pairs, 2 * pairs - 1), (0, 1, 16)):
            sinusoids = FixedSinusoids(frequencies, layout, first, width, 0.7)
            held = torch.full((1, places.shape[1], width + 2 * margin), 7.0)
            table = held[..., margin : margin + width]
            kernel.cos_sin_within(
                places, torch.as_tensor(frequency_limbs(sinusoids)), sinusoids, table, instruction_set=instruction_set
            )
            assert torch.equal(table.nan_to_num(), wanted[..., :width].nan_to_num())
            assert bool((held[..., :margin] == 7.0).all() and (held[..., margin + width :] == 7.0).all())


@pytest.mark.parametrize("layout", ["interleaved", "concatenated"])
def test_past_the_cache(layout: Any) -> None:
    """So many rows that they are written past the cache, where their lines are whole, and as many in lines that are
    not."""
    frequencies, places = Geometric(1024, 1e4), torch.arange(9000).reshape(1, -1, 1)
    sinusoids = FixedSinusoids(frequencies, layout, "sine", 1024)
    numbers = torch.as_tensor(frequency_limbs(sinusoids))
    held, other = torch.empty(1, 9000, 1040), torch.empty(9000 * 1024 + 1)[1:].view(1, 9000, 1024)
    for table in (held[..., :1024], held[..., 8:1032], other):
        kernel.cos_sin_within(places, numbers, sinusoids, table)
    cosine, sine = kernel.cos_sin(places, numbers, 1.0)
    first, second = (
        (other[..., 0::2], other[..., 1::2]) if layout == "interleaved" else (other[..., :512], other[..., 512:])
    )
    assert torch.equal(held[..., 8:1032], other)
    assert torch.equal(first, sine)
    assert torch.equal(second, cosine)
    into = torch.empty(2, 1, 9000, 512)
    kernel.cos_sin_into(places, numbers, 1.0, into[0], into[1])
    assert torch.equal(into[0], cosine)
    assert torch.equal(into[1], sine)
    for instruction_set in SETS:
        made = kernel.cos_sin(places, numbers, 1.0, instruction_set=instruction_set)
        assert torch.equal(made[0], cosine)
        assert torch.equal(made[1], sine)
    few = torch.arange(0, 9000, 61)
    some = kernel.cos_sin(few.reshape(1, -1, 1), numbers, 1.0)
    assert all(torch.equal(part[0], whole[0, few]) for part, whole in zip(some, (cosine, sine), strict=True))
