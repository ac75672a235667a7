"""Cosines and sines made in the compiled kernel: correctly rounded, at every level; and rotating by them, without a
table."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

import posenc
from exactness import truth
from posenc import AxialRoPE, DualBaseRoPE, Linear, Partial, RoPE, XPos, YaRN
from posenc.kernels import native
from posenc.kernels import native_cos_sin as kernel
from posenc.phase import fixed_frequencies_of, frequency_limbs
from posenc.torch import angles, chosen, rotate, rotate_, rotation

needs_kernel = pytest.mark.skipif(
    native.MISSING is not None, reason="posenc-kernels is not installed: no compiler was found"
)
SETS = native.instruction_sets() if native.MISSING is None else ("baseline",)
PROGRESSIONS = ((1e4, 128), (5e5, 96), (1e12, 50), (1e30, 6))
RECORDS = (
    RoPE(dim=128, pairing="halves"),
    RoPE(dim=6),
    RoPE(dim=70, pairing="halves", scaling=YaRN(factor=8.0, original=128)),
    Partial(RoPE(dim=20, pairing="halves", scaling=Linear(factor=3.0)), dim=50, start=7),
    DualBaseRoPE(dim=44, pairing="halves"),
    AxialRoPE(
        axis=(0,) * 12 + (1,) * 12,
        frequency_index=(*range(12), *range(12)),
        frequency_dim=24,
        pairing="halves",
        blocks=2,
    ),
    AxialRoPE(
        axis=(0, 1, 2) * 7, frequency_index=(*range(21),), frequency_dim=42, scaling=YaRN(factor=4.0, original=64)
    ),
)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def places(encoding: Any, *shape: int, top: int = 2**31, seed: int = 3) -> torch.Tensor:
    axes = () if encoding.axes == 1 else (encoding.axes,)
    return torch.randint(-top, top, (*shape, *axes), generator=seeded(seed))


def heads(count: int, length: int, dim: int, dtype: torch.dtype, layout: str) -> torch.Tensor:
    shape = (2, count, length, dim) if layout == "bhtd" else (2, length, count, dim)
    return torch.randn(shape, generator=seeded(count)).to(dtype)


def made(instruction_set: str, encoding: Any, positions: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Cosines and sines of positions (n,) at a instruction_set, as float64 numbers."""
    fixed = fixed_frequencies_of(encoding)
    waves = kernel.cos_sin(
        positions.reshape(1, -1, 1),
        torch.as_tensor(frequency_limbs(fixed)),
        fixed.factor,
        instruction_set=instruction_set,
    )
    return tuple(wave[0].double().numpy() for wave in waves)


@needs_kernel
@pytest.mark.parametrize("instruction_set", SETS)
@pytest.mark.parametrize("progression", PROGRESSIONS)
def test_correctly_rounded(instruction_set: str, progression: tuple[float, int]) -> None:
    """Against 240-bit arithmetic: small positions, those around 2^31 and 2^32 where the kernel goes another way, and
    the last."""
    edges = [sign * (2**power + off) for power in (0, 24, 31, 32, 40, 53) for off in (-1, 0) for sign in (1, -1)]
    drawn = places(RoPE(dim=2), 60).tolist() + places(RoPE(dim=2), 30, top=2**53, seed=4).tolist()
    expected = truth.tables(truth.waves(edges + drawn, *progression))
    encoding = RoPE(dim=progression[1], base=progression[0])
    assert truth.differing(made(instruction_set, encoding, torch.tensor(edges + drawn)), expected) == 0


@needs_kernel
@pytest.mark.parametrize("progression", [(1e4, 128), (1e12, 64)])
def test_where_an_angle_nearly_is_a_quarter_turn(progression: tuple[float, int]) -> None:
    """The convergents of π/ω and (π/2)/ω, the hardest positions, up to 2^53: correctly rounded, and not with fewer
    limbs."""
    encoding, wrong, fewer, seen = RoPE(dim=progression[1], base=progression[0]), 0, 0, 0
    numbers = torch.as_tensor(frequency_limbs(fixed_frequencies_of(encoding)))
    cut = numbers.clone()
    cut[2:5] = 0
    for pair, frequency in enumerate(truth.progression(*progression)):
        near = sorted({place for quarters in (1, 2) for place in truth.convergents(frequency, quarters)})
        values = [[truth.cosine_sine(place, frequency)] for place in near]
        expected = truth.tables(values)
        for instruction_set, limbs in [*((instruction_set, numbers) for instruction_set in SETS), (SETS[0], cut)]:
            table = kernel.cos_sin(
                torch.tensor(near).reshape(1, -1, 1),
                limbs[:, pair : pair + 1].contiguous(),
                1.0,
                instruction_set=instruction_set,
            )
            missed = truth.differing(tuple(wave[0].double().numpy() for wave in table), expected)
            wrong, fewer = (wrong, fewer + missed) if limbs is cut else (wrong + missed, fewer)
            seen += 2 * len(near)
    assert seen > 6000
    assert wrong == 0
    assert fewer > 100


@needs_kernel
@pytest.mark.parametrize("instruction_set", SETS)
@pytest.mark.parametrize("encoding", RECORDS)
def test_bits_of_the_reference(instruction_set: str, encoding: Any) -> None:
    fixed = fixed_frequencies_of(encoding)
    for top in (1000, 2**31, 2**53):
        positions = places(encoding, 2, 90, top=top)
        wanted = encoding.rotation(positions)
        whole = positions.reshape(2, 90, encoding.axes)
        cosine, sine = kernel.cos_sin(
            whole, torch.as_tensor(frequency_limbs(fixed)), fixed.factor, instruction_set=instruction_set
        )
        assert torch.equal(cosine, wanted.cos)
        assert torch.equal(sine, wanted.sin)


@needs_kernel
@pytest.mark.parametrize("instruction_set", SETS)
def test_too_far_away_is_no_number(instruction_set: str) -> None:
    """A position beyond 2^53 that no check has seen, and its neighbours, which stay what they are."""
    encoding = AxialRoPE(axis=(0, 1) * 9, frequency_index=(*range(18),), frequency_dim=36)
    fixed, whole = fixed_frequencies_of(encoding), torch.tensor([[[2**53, 5], [2**53 + 1, 5], [7, -(2**63)], [8, 9]]])
    for wave in kernel.cos_sin(whole, torch.as_tensor(frequency_limbs(fixed)), 1.0, instruction_set=instruction_set):
        lost = wave[0].isnan()
        assert lost[1, 0::2].all()
        assert lost[2, 1::2].all()
        assert lost.sum() == 18


@needs_kernel
def test_every_encoding_that_says_what_its_turns_are_made_of() -> None:
    seen = set()
    for row in posenc.CATALOG:
        for encoding in row.samples:
            if fixed_frequencies_of(encoding) is None:
                continue
            seen.add(row.encoding.__name__)
            positions = places(encoding, 40)
            wanted, found = encoding.rotation(positions), rotation(encoding, positions, impl="native")
            for mine, theirs in ((found.cos, wanted.cos), (found.sin, wanted.sin)):
                # Near a quarter revolution what is left is below the last bit of either.
                last = (mine.abs() < 1e-28) & (theirs.abs() < 1e-28)
                assert ((mine == theirs) | last).all(), encoding
            assert (found.pairing, found.factor, found.heads) == (wanted.pairing, wanted.factor, wanted.heads)
    assert seen >= {"RoPE", "AxialRoPE", "DualBaseRoPE"}


@needs_kernel
@pytest.mark.parametrize("layout", ["bhtd", "bthd"])
@pytest.mark.parametrize("encoding", RECORDS)
def test_rotating_by_angles_is_rotating_by_the_rotation(encoding: Any, layout: Any) -> None:
    for length, rows, dtype in product((1, 67, 130), ((), (1,), (2,)), (torch.float32, torch.bfloat16, torch.float16)):
        positions = places(encoding, *rows, length)
        q, k = (heads(count, length, encoding.head_dim, dtype, layout) for count in (12, 4))
        wanted = rotate(q, k, encoding.rotation(positions), layout=layout, impl="reference")
        made = angles(encoding, positions)
        for found in (
            rotate(q, k, made, layout=layout, impl="native"),
            rotate_(q.clone(), k.clone(), made, layout=layout, impl="native"),
            rotate(q, k, made, layout=layout, impl="reference"),
        ):
            assert all(torch.equal(a, b) and a.dtype == dtype for a, b in zip(found, wanted, strict=True))


@needs_kernel
@pytest.mark.parametrize(("dtype", "bits"), [(torch.bfloat16, 8), (torch.float16, 11)])
@pytest.mark.parametrize("pairing", ["adjacent", "halves"])
def test_sixteen_bits_are_correctly_rounded(dtype: torch.dtype, bits: int, pairing: Any) -> None:
    """At least 999 of 1000 results lie within half a unit of the rotation in float64, whose own error is nothing
    next to it."""
    encoding, positions = RoPE(dim=128, pairing=pairing), places(RoPE(dim=2), 300)
    q, k = (heads(count, 300, 128, dtype, "bhtd") for count in (8, 2))
    found = rotate(q, k, angles(encoding, positions), layout="bhtd", impl="native")[0].double()
    wanted = encoding.rotation(positions, dtype=torch.float64)(q.double(), layout="bhtd")
    unit = torch.exp2(torch.floor(torch.log2(wanted.abs())) - (bits - 1))
    assert unit.numel() >= 500_000
    assert ((found - wanted).abs() <= unit / 2).double().mean() >= 0.999


@needs_kernel
def test_gradients_keep_positions_alone() -> None:
    encoding = Partial(RoPE(dim=12, pairing="halves", scaling=YaRN(factor=4.0, original=64)), dim=18, start=2)
    positions, saved = torch.arange(7) + 10_000_000, []
    by = {"angles": angles(encoding, positions), "rotation": rotation(encoding, positions)}
    gradients = {}
    for name, how in by.items():
        q, k = (heads(count, 7, 18, torch.float32, "bthd").requires_grad_() for count in (6, 2))
        with torch.autograd.graph.saved_tensors_hooks(lambda x, name=name: saved.append((name, x)) or x, lambda x: x):
            rotated = rotate(q, k, how, layout="bthd", impl="native")
        (rotated[0] * torch.linspace(-1, 1, 18)).sum().backward(retain_graph=True)
        rotated[1].sum().backward()
        gradients[name] = q.grad, k.grad
    assert all(torch.equal(a, b) for a, b in zip(*gradients.values(), strict=True))
    kept = [x for name, x in saved if name == "angles"]
    assert sorted(tuple(x.shape) for x in kept) == [
        (1, 7, 1),
        (6, 6),
    ]  # places, and the frequencies that all steps share


@needs_kernel
def test_the_operators_keep_their_promises() -> None:
    """PyTorch's own checks of schema, shapes, autograd and compilation."""
    far = angles(RoPE(dim=8), torch.arange(5) + 2**31)
    q, k = (heads(count, 5, 8, torch.float32, "bhtd") for count in (3, 2))
    how = far.integer_positions, far.limbs, 1.0, 0, 1, True, False
    torch.library.opcheck(torch.ops.posenc.cos_sin.default, how[:3])
    torch.library.opcheck(torch.ops.posenc.rotate_by_angles.default, (q.requires_grad_(), k.requires_grad_(), *how))
    torch.library.opcheck(torch.ops.posenc.rotate_by_angles_.default, (q.detach(), k.detach(), *how))


@needs_kernel
@pytest.mark.parametrize("by", [rotation, angles])
def test_derivatives_forward_are_not_lost(by: Any) -> None:
    """The kernel carries none: it is refused by name, and `auto` takes another way."""
    made, (q, k) = by(RoPE(dim=8), torch.arange(3)), (heads(count, 3, 8, torch.float32, "bhtd") for count in (2, 1))

    def rotated(impl: Any) -> Any:
        return torch.func.jvp(lambda q: rotate(q, k, made, layout="bhtd", impl=impl)[0], (q,), (torch.ones_like(q),))[1]

    assert torch.allclose(rotated("auto"), rotate(torch.ones_like(q), k, made, layout="bhtd")[0])
    with pytest.raises(ValueError, match=r"^impl must .* got 'native', but a tensor has a forward derivative"):
        rotated("native")


@needs_kernel
def test_tracers_see_through() -> None:
    """Angles made inside and outside of a compiled, exported or mapped function."""
    encoding, positions = RoPE(dim=8, pairing="halves"), torch.arange(5) + 100_000
    q, k = heads(4, 5, 8, torch.float32, "bhtd"), heads(2, 5, 8, torch.float32, "bhtd")
    outside = angles(encoding, positions)
    wanted = rotate(q, k, encoding.rotation(positions), layout="bhtd", impl="reference")

    def by_angles(q: Any, k: Any, positions: Any) -> Any:
        return rotate(q, k, angles(encoding, positions), layout="bhtd", impl="native")

    def by_rotation(q: Any, k: Any, positions: Any) -> Any:
        return rotate(q, k, rotation(encoding, positions, impl="native"), layout="bhtd", impl="native")

    def in_place(q: Any, k: Any, positions: Any) -> Any:
        return rotate_(q.clone(), k.clone(), outside, layout="bhtd", impl="native")

    class Model(torch.nn.Module):
        def forward(self, q: Any, k: Any, positions: Any) -> Any:
            return by_angles(q, k, positions)

    for function in (by_angles, by_rotation, in_place):
        compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
        assert all(torch.equal(a, b) for a, b in zip(compiled(q, k, positions), wanted, strict=True))
    exported = torch.export.export(Model(), (q, k, positions)).module()
    assert all(torch.equal(a, b) for a, b in zip(exported(q, k, positions), wanted, strict=True))
    mapped = torch.func.vmap(by_angles)(torch.stack([q, 2 * q]), torch.stack([k, 2 * k]), torch.stack([positions] * 2))
    assert all(torch.equal(a[1], 2 * b) for a, b in zip(mapped, wanted, strict=True))
    mapped = torch.func.vmap(by_angles, in_dims=(0, 0, None))(torch.stack([q, q]), torch.stack([k, k]), positions)
    assert all(torch.equal(a[1], b) for a, b in zip(mapped, wanted, strict=True))


@needs_kernel
def test_threads_change_nothing() -> None:
    encoding = RoPE(dim=64)
    q, k = heads(8, 700, 64, torch.bfloat16, "bthd"), heads(2, 700, 64, torch.bfloat16, "bthd")
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            made = rotation(encoding, torch.arange(20_000) + 2**24, impl="native")
            found.append((*rotate(q, k, angles(encoding, torch.arange(700)), layout="bthd"), made.cos, made.sin))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


def test_what_the_kernel_does_not_make_is_the_reference() -> None:
    """Places between whole ones, other dtypes, encodings that rotate in another way; and without a kernel angles
    rotate as well."""
    encoding, whole, between = RoPE(dim=8), torch.arange(3), torch.tensor([0.5, 1.5])
    assert torch.equal(rotation(encoding, between).cos, encoding.rotation(between).cos)
    assert rotation(encoding, whole, dtype=torch.float64).cos.dtype == torch.float64
    far = XPos(dim=8)
    assert torch.equal(rotation(far, whole, role="key").sin, far.rotation(whole, role="key").sin)
    q, k = torch.ones(1, 2, 3, 8, dtype=torch.float64), torch.ones(1, 1, 3, 8, dtype=torch.float64)
    assert chosen(q, k, angles(encoding, whole), layout="bhtd").impl == "torch"
    wanted = encoding.rotation(whole, dtype=torch.float64)(q, layout="bhtd")
    assert torch.equal(rotate(q, k, angles(encoding, whole), layout="bhtd")[0], wanted)


class Reversed(RoPE):
    """Turns the other way, and inherits what RoPE says its turns are made of."""

    def rotation(self, positions: Any, *arguments: Any, **named: Any) -> Any:
        return super().rotation(-positions, *arguments, **named)


def test_who_turns_in_another_way_is_not_taken_for_its_parent() -> None:
    assert fixed_frequencies_of(RoPE(dim=8)) is not None
    for encoding in (Reversed(dim=8), Partial(Reversed(dim=8), dim=10), RoPE(dim=8, numerics="float32"), XPos(dim=8)):
        assert fixed_frequencies_of(encoding) is None
        with pytest.raises(
            ValueError, match=r"^encoding must rotate each pair by a coordinate times an exact frequency"
        ):
            angles(encoding, torch.arange(3))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((RoPE(dim=8, numerics="float32"), torch.arange(3)), "RoPE rotates in another way"),
        ((RoPE(dim=8), torch.tensor([0.5])), "positions are float32, not whole"),
        ((RoPE(dim=8), torch.arange(3), torch.float64), "numbers are to be float64"),
        ((RoPE(dim=8), torch.arange(3, device="meta")), "positions are on meta"),
    ],
)
@needs_kernel
def test_a_named_kernel_does_not_fall_back(arguments: Any, reason: str) -> None:
    encoding, positions, *dtype = arguments
    with pytest.raises(ValueError, match=f"^impl must be one that can make this rotation; got 'native', but {reason}"):
        rotation(encoding, positions, dtype=dtype[0] if dtype else None, impl="native")


@pytest.mark.parametrize("function", [angles, rotation])
@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("encoding", "rope", TypeError),
        ("positions", [0, 1, 2], TypeError),
        ("positions", torch.tensor(3), ValueError),
        ("positions", torch.tensor([2**53 + 1]), ValueError),
        ("positions", torch.tensor([True]), TypeError),
        ("positions", torch.zeros(3, dtype=torch.bfloat16), TypeError),
    ],
)
def test_bad_arguments(function: Any, name: str, value: Any, error: type) -> None:
    with pytest.raises(error, match=f"^{name} must"):
        function(**{"encoding": RoPE(dim=8), "positions": torch.arange(3), name: value})


def test_bad_arguments_of_their_own() -> None:
    grid = AxialRoPE(axis=(0, 1), frequency_index=(0, 0), frequency_dim=2)
    for function in (angles, rotation):
        with pytest.raises(ValueError, match=r"^positions must have a last axis of 2 coordinates"):
            function(grid, torch.zeros(3, 3, dtype=torch.int64))
    with pytest.raises(TypeError, match=r"^positions must be whole numbers; got float32"):
        angles(RoPE(dim=8), torch.tensor([0.5]))
    with pytest.raises(ValueError, match=r"^impl must be"):
        rotation(RoPE(dim=8), torch.arange(3), impl="triton")
    with pytest.raises(ValueError, match=r"^role must be"):
        rotation(RoPE(dim=8), torch.arange(3), role="keys")
    with pytest.raises(ValueError, match=r"^params must hold exactly"):
        rotation(RoPE(dim=8), torch.arange(3), {"base": torch.ones(1)})
    q, k = torch.zeros(2, 4, 5, 8), torch.zeros(2, 2, 5, 8)
    for wrong in (torch.arange(3), torch.arange(15).reshape(3, 5)):
        with pytest.raises(ValueError, match=r"^q must have the positions of the rotation"):
            rotate(q, k, angles(RoPE(dim=8), wrong), layout="bhtd")


@needs_kernel
@pytest.mark.parametrize(
    ("place", "value", "why"),
    [
        (0, torch.zeros(1, 5, 1, dtype=torch.int32), "positions and frequencies must be int64"),
        (0, torch.zeros(5, 1, dtype=torch.int64), "positions must be"),
        (0, torch.zeros(1, 10, 1, dtype=torch.int64)[:, ::2], "contiguous"),
        (0, torch.zeros(3, 5, 1, dtype=torch.int64), "positions must have the time of q"),
        (0, torch.zeros(1, 4, 1, dtype=torch.int64), "positions must have the time of q"),
        (1, torch.zeros(5, 4, dtype=torch.int64), "frequencies must be"),
        (1, torch.full((6, 4), 2**32), "frequencies must hold limbs"),
        (1, torch.ones(6, 4, dtype=torch.int64), "and, last, axes of positions"),
        (1, torch.zeros(6, 5, dtype=torch.int64), "pairs must be within"),
        (3, 1, "pairs must be within"),
        (4, 3, "pairs must be within"),
    ],
)
def test_the_operator_itself_reads_no_memory_that_is_not_its(place: int, value: Any, why: str) -> None:
    how = [torch.zeros(1, 5, 1, dtype=torch.int64), torch.zeros(6, 4, dtype=torch.int64), 1.0, 0, 1, True, False]
    how[place] = value
    with pytest.raises(RuntimeError, match=why):
        torch.ops.posenc.rotate_by_angles_(torch.zeros(2, 3, 5, 8), torch.zeros(2, 1, 5, 8), *how)
