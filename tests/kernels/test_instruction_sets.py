"""Every level of vectors that this processor has against the reference, to the bit: ends, edges, and numbers that are
none."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from posenc import AxialRoPE, Partial, RoPE, Rotation
from posenc.core.rotation import Pairing
from posenc.kernels import native

pytestmark = pytest.mark.skipif(
    native.MISSING is not None, reason="posenc-kernels is not installed: no compiler was found"
)
SETS = native.instruction_sets() if native.MISSING is None else ("baseline",)
BITS = {torch.float32: torch.int32, torch.bfloat16: torch.int16, torch.float16: torch.int16}
#: Heads shorter than a vector, with ends of one to fifteen pairs, and whole vectors alone.
WIDTHS = (2, 6, 14, 22, 30, 34, 46, 64, 70, 126, 128, 256)
AXIAL = AxialRoPE(
    axis=(0,) * 12 + (1,) * 12, frequency_index=(*range(12), *range(12)), frequency_dim=24, pairing="halves", blocks=2
)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def same(found: torch.Tensor, wanted: torch.Tensor) -> bool:
    """The same bits, the sign of zero among them; NaN where NaN is, whatever it carries."""
    assert found.dtype == wanted.dtype
    kind = BITS[found.dtype]
    alike = (found.contiguous().view(kind) == wanted.contiguous().view(kind)) | (found.isnan() & wanted.isnan())
    return bool(alike.all())


def checked(instruction_set: str, x: torch.Tensor, rotation: Rotation) -> None:
    for inverse in (False, True):
        back = Rotation(rotation.cos, -rotation.sin, rotation.pairing) if inverse else rotation
        assert same(
            native.rotate(x, rotation, inverse=inverse, instruction_set=instruction_set), back(x, layout="bhtd")
        )


def test_the_best_comes_first() -> None:
    assert SETS[-1] == "baseline"
    assert list(SETS) == [name for name in ("avx512bf16", "avx512", "avx2", "baseline") if name in SETS]
    with pytest.raises(RuntimeError, match="instruction_set must be one of posenc::instruction_sets"):
        native.rotate(torch.zeros(1, 1, 1, 2), RoPE(dim=2).rotation(torch.tensor([0])), instruction_set="mmx")


@pytest.mark.parametrize("instruction_set", SETS)
@pytest.mark.parametrize("dtype", BITS)
@pytest.mark.parametrize("pairing", ["adjacent", "halves"])
def test_every_width(instruction_set: str, dtype: torch.dtype, pairing: Any) -> None:
    for width in WIDTHS:
        encoding = RoPE(dim=width, pairing=pairing)
        for whole in (encoding, Partial(encoding, dim=width + 5, start=3)):
            x = torch.randn(2, 3, 5, whole.head_dim, generator=seeded(width)).to(dtype)
            checked(instruction_set, x, whole.rotation(torch.arange(5) * 1001))


@pytest.mark.parametrize("instruction_set", SETS)
@pytest.mark.parametrize("dtype", BITS)
@pytest.mark.parametrize("pairing", ["adjacent", "halves"])
def test_every_end_of_a_row(instruction_set: str, dtype: torch.dtype, pairing: Any) -> None:
    """Each number of pairs that vectors leave over; more pairs than are kept ready at once; heads next to each other;
    one token."""
    for pairs in (*range(1, 41), 2048, 9001):
        encoding = RoPE(dim=2 * pairs, pairing=pairing)
        x = torch.randn(2, 5, 3, 2 * pairs, generator=seeded(pairs)).to(dtype)
        for part in (x, x.transpose(1, 2), x[:, :, :1]):
            checked(instruction_set, part, encoding.rotation(torch.arange(part.shape[2]) * 999))


@pytest.mark.parametrize("instruction_set", SETS)
@pytest.mark.parametrize("dtype", BITS)
@pytest.mark.parametrize("layout", ["bhtd", pytest.param("bthd", marks=pytest.mark.nightly)])
def test_results_larger_than_caches(instruction_set: str, dtype: torch.dtype, layout: str) -> None:
    """From 32 MiB on results go past the caches, if their rows are whole lines of these: rows that are, are not, and
    hold more."""
    for pairing, width, dim, start in (
        ("halves", 128, 128, 0),
        ("adjacent", 128, 128, 0),
        ("halves", 80, 80, 0),
        ("halves", 128, 192, 32),
        ("adjacent", 64, 70, 2),
    ):
        time = 2**25 // (32 * dim * torch.empty(0, dtype=dtype).element_size()) + 1
        rotation = RoPE(dim=width, pairing=pairing)  # type: ignore[arg-type]
        rotation = Partial(rotation, dim=dim, start=start).rotation(torch.arange(time))
        one = torch.randn(1, 1, time, dim, generator=seeded(dim)).to(dtype)
        x = one.expand(1, 32, time, dim).contiguous()
        if layout == "bthd":
            x = x.transpose(1, 2).contiguous().transpose(1, 2)
        assert torch.equal(
            native.rotate(x, rotation, instruction_set=instruction_set), rotation(one, layout="bhtd").expand(x.shape)
        )


@pytest.mark.parametrize("dtype", BITS)
def test_large_results_in_place(dtype: torch.dtype) -> None:
    """Queries larger than caches hold, together with keys that are small."""
    rotation = RoPE(dim=64, pairing="halves").rotation(torch.arange(1025))
    one = torch.randn(1, 1, 1025, 64, generator=seeded(7)).to(dtype)
    heads = 2**25 // (1025 * 64 * one.element_size()) + 1
    q, k, wanted = one.expand(1, heads, -1, -1).contiguous(), one.clone(), rotation(one, layout="bhtd")
    native.rotate_in_place(rotation, q, k)
    assert torch.equal(q, wanted.expand(q.shape))
    assert torch.equal(k, wanted)


@pytest.mark.parametrize("instruction_set", SETS)
@pytest.mark.parametrize("dtype", BITS)
def test_blocks_and_slices(instruction_set: str, dtype: torch.dtype) -> None:
    """Blocks, and heads that begin anywhere in memory: a view one channel in, every second token, heads behind time."""
    places = torch.randint(0, 100_000, (2, 7, 2), generator=seeded(1))
    rotation, wide = AXIAL.rotation(places), torch.randn(2, 14, 3, 57, generator=seeded(2)).to(dtype)
    for start in (0, 1, 3, 8):
        checked(instruction_set, wide[:, ::2, :, start : start + 48].transpose(1, 2), rotation)


@pytest.mark.parametrize("instruction_set", SETS)
@pytest.mark.parametrize("pairing", ["adjacent", "halves"])
def test_every_number_of_16_bits(instruction_set: str, pairing: Any) -> None:
    """All 2^16 of both kinds, NaN, infinities and subnormals among them, rotated by some angles."""
    every = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16).reshape(1, 4, 256, 64)
    for dtype in (torch.bfloat16, torch.float16):
        checked(instruction_set, every.view(dtype), RoPE(dim=64, pairing=pairing).rotation(torch.arange(256)))


@pytest.mark.parametrize("instruction_set", SETS)
@pytest.mark.parametrize("pairing", ["adjacent", "halves"])
def test_edges_of_float32(instruction_set: str, pairing: Any) -> None:
    edges = torch.tensor(
        [0.0, -0.0, 1.0, float("inf"), -float("inf"), float("nan"), 1e-45, -1e-45, 1.1754942e-38, 2**-126, 3.4028235e38]
    )
    x = edges[torch.randint(0, len(edges), (1, 3, 50, 38), generator=seeded(4))]
    checked(instruction_set, x, RoPE(dim=38, pairing=pairing).rotation(torch.arange(50)))


@pytest.mark.parametrize("instruction_set", SETS)
@pytest.mark.parametrize("pairing", ["adjacent", "halves"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_halfway_between_two_numbers(instruction_set: str, pairing: Any, dtype: torch.dtype) -> None:
    """Cosines chosen so that sums lie in the middle of two numbers, next to it, or are subnormal: to the nearest, ties
    to even."""
    bits = 8 if dtype == torch.bfloat16 else 11
    top = 2.0 ** (bits - 1) + torch.arange(64.0)
    for scale in (1.0, 2.0**-12, 2.0**-20, 2.0**-126, 2.0**-130):
        for off in (0.0, 2.0**-8, -(2.0**-8)):
            cosine = ((top + 0.5 + off) * scale).reshape(2, 32)
            rotation = Rotation(cosine, torch.zeros(2, 32), Pairing(pairing, 64, 64))
            ones = torch.ones(1, 2, 2, 64, dtype=dtype)
            checked(instruction_set, ones, rotation)
            made = rotation(ones, layout="bhtd").float()
            assert scale < 2.0**-20 or bool((made != 0).all())


@pytest.mark.parametrize("instruction_set", SETS)
@pytest.mark.parametrize("pairing", ["adjacent", "halves"])
def test_tables_of_numbers_that_are_none(instruction_set: str, pairing: Any) -> None:
    """NaN whose bits a rounding could carry away, signalling ones, infinities: none of them becomes a number."""
    odd = torch.tensor(
        [0x7FFFFFFF, 0xFFFFFFFF, 0x7F800001, 0xFF80FFFF, 0x7FC00000, 0x7F800000, 0xFF800000, 0, 0x3F800000]
    )
    bits = odd[torch.randint(0, len(odd), (2, 6, 46), generator=seeded(5))].to(torch.int32)
    rotation = Rotation(*bits.view(torch.float32), Pairing(pairing, 92, 92))
    for dtype in BITS:
        x = torch.randn(2, 3, 6, 92, generator=seeded(6))
        x[0, 1] = float("inf")
        checked(instruction_set, x.to(dtype), rotation)
