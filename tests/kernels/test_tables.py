"""Tables made by compiled code, into new memory or into memory that is there: the numbers of the encodings; tracers;
bad input."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch

from posenc import ALiBi, AxialRoPE, Learned, RoPE, Sinusoidal, YaRN
from posenc.kernels import native
from posenc.kernels import native_cos_sin as kernel
from posenc.phase import fixed_sinusoids_of, frequency_limbs
from posenc.torch import rotation, table

needs_kernel = pytest.mark.skipif(
    native.MISSING is not None, reason="posenc-kernels is not installed: no compiler was found"
)
IMPLS = [pytest.param("native", marks=needs_kernel), "reference", "auto"]
RECORDS = [
    Sinusoidal(dim=dim, layout=layout, first=first, odd="zero" if dim == 9 else "truncate", **more)
    for dim, layout, first in product((9, 2, 35, 64), ("interleaved", "concatenated"), ("sine", "cosine"))
    for more in ({}, {"base": 5e5, "scale": -0.25, "start": 3, "exponent": "i/(d/2-1)"})
    if dim > 2 or not more
]
PLACES = (
    torch.arange(150),
    torch.arange(2**31 - 60, 2**31 + 60),
    torch.randint(-(2**52), 2**52, (2, 5), generator=torch.Generator().manual_seed(1)),
    torch.arange(-70, 0, dtype=torch.int32).reshape(2, 35),
    torch.arange(6, dtype=torch.uint8),
    torch.zeros(0, dtype=torch.int64),
    torch.zeros(2, 0, dtype=torch.int64),
)


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("encoding", RECORDS)
def test_the_numbers_of_the_encoding(encoding: Any, impl: Any) -> None:
    for places in PLACES:
        wanted = encoding.embed(places)
        assert torch.equal(table(encoding, places, impl=impl), wanted)
        held = torch.full((*places.shape, encoding.width + 3), 7.0)
        within = held[..., 1:-2]
        assert table(encoding, places, out=within, impl=impl) is within
        assert torch.equal(within, wanted)
        assert bool((held[..., :1] == 7.0).all() and (held[..., -2:] == 7.0).all())


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("encoding", [RoPE(dim=36, scaling=YaRN(factor=4.0, original=64)), RoPE(dim=2)])
def test_a_rotation_into_memory_that_is_there(encoding: Any, impl: Any) -> None:
    for places in PLACES:
        wanted, pairs = encoding.rotation(places), encoding.dim // 2
        held = torch.full((2, *places.shape, pairs + 1), 7.0)
        both = torch.full((*places.shape, 2 * pairs), 7.0)
        for out in ((held[0, ..., :pairs], held[1, ..., :pairs]), (both[..., pairs:], both[..., :pairs])):
            made = rotation(encoding, places, out=out, impl=impl)
            assert made.cos is out[0]
            assert made.sin is out[1]
            assert torch.equal(made.cos, wanted.cos)
            assert torch.equal(made.sin, wanted.sin)
            assert (made.pairing, made.factor) == (wanted.pairing, wanted.factor)
        assert bool((held[..., pairs:] == 7.0).all())
    grid, cells = AxialRoPE(axis=(0, 1), frequency_index=(0, 0), frequency_dim=2), torch.arange(80).reshape(40, 2)
    out = torch.empty(40, 2), torch.empty(40, 2)
    assert torch.equal(rotation(grid, cells, out=out, impl=impl).sin, grid.rotation(cells).sin)


def test_what_the_kernel_does_not_make_is_the_reference() -> None:
    """Learned, not whole, not float32, rows that are not rows, and the numbers that released models have."""
    learned, places = Learned(dim=4, length=9), torch.arange(3)
    params = {name: torch.ones(shape) for name, shape in learned.shapes.items()}
    assert torch.equal(table(learned, places, params), learned.embed(places, params))
    encoding = Sinusoidal(dim=6)
    for where, dtype in ((torch.tensor([0.5, 2.5, 1.0]), None), (places, torch.float64), (places, torch.bfloat16)):
        wanted = encoding.embed(where, dtype=dtype)
        out = torch.empty(3, 6, dtype=wanted.dtype)
        assert torch.equal(table(encoding, where, dtype=dtype), wanted)
        assert torch.equal(table(encoding, where, dtype=dtype, out=out), wanted)
    across, apart = torch.empty(6, 3).T, torch.empty(2, 5, 6)[:, :3]
    assert torch.equal(table(encoding, places, out=across), encoding.embed(places))
    assert torch.equal(table(encoding, places.expand(2, 3), out=apart), encoding.embed(places.expand(2, 3)))
    cosine, sine = torch.empty(3, 3).T, torch.empty(3, 3)
    assert torch.equal(rotation(RoPE(dim=6), places, out=(cosine, sine)).cos, RoPE(dim=6).rotation(places).cos)
    cosine, sine = torch.empty(3, 6)[:, :3], torch.empty(3, 3)
    assert torch.equal(rotation(RoPE(dim=6), places, out=(cosine, sine)).sin, RoPE(dim=6).rotation(places).sin)
    released = Sinusoidal(dim=6, numerics="float32")
    assert torch.equal(table(released, places), released.embed(places))


class Doubled(Sinusoidal):
    """Twice its parent's vectors, and what its parent says that they are made of."""

    def embed(self, *arguments: Any, **named: Any) -> Any:
        return 2.0 * super().embed(*arguments, **named)


def test_who_adds_something_else_is_not_taken_for_its_parent() -> None:
    assert fixed_sinusoids_of(Sinusoidal(dim=4)) is not None
    for encoding in (Doubled(dim=4), Sinusoidal(dim=4, numerics="float32"), Learned(dim=4, length=9)):
        assert fixed_sinusoids_of(encoding) is None
    places = torch.arange(100)
    assert torch.equal(table(Doubled(dim=4), places), 2.0 * Sinusoidal(dim=4).embed(places))


@needs_kernel
def test_the_operators_keep_their_promises() -> None:
    places, sinusoids = torch.arange(60).reshape(1, -1, 1), fixed_sinusoids_of(Sinusoidal(dim=7, odd="truncate"))
    numbers = torch.as_tensor(frequency_limbs(sinusoids))
    operators = torch.ops.posenc
    torch.library.opcheck(
        operators.cos_sin_into.default, (places, numbers, 1.0, torch.empty(1, 60, 4), torch.empty(1, 60, 4))
    )
    torch.library.opcheck(operators.cos_sin_within.default, (places, numbers, 1.0, torch.empty(1, 60, 7), True, False))


@needs_kernel
def test_tracers_see_through() -> None:
    encoding, rope, places = Sinusoidal(dim=9, odd="zero"), RoPE(dim=6), torch.arange(60)

    def made(places: Any) -> Any:
        return table(encoding, places) + 1.0

    def into(places: Any) -> Any:
        held = torch.empty(2, 60, 3)
        return table(encoding, places, out=torch.zeros(60, 9)), rotation(rope, places, out=(held[0], held[1])).sin

    compiled = torch.compile(made, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(places), encoding.embed(places) + 1.0)
    assert torch.equal(compiled(torch.arange(77)), encoding.embed(torch.arange(77)) + 1.0)
    found = torch.compile(into, fullgraph=True, backend="aot_eager")(places)
    assert torch.equal(found[0], encoding.embed(places))
    assert torch.equal(found[1], rope.rotation(places).sin)
    assert torch.equal(torch.func.vmap(made)(places.reshape(2, 30)), encoding.embed(places.reshape(2, 30)) + 1.0)


@needs_kernel
def test_autograd_hears_of_what_was_written() -> None:
    held, weight = torch.ones(3, 4), torch.ones(3, 4, requires_grad=True)
    total = (held * weight).sum()
    table(Sinusoidal(dim=4), torch.arange(3), out=held)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()


@needs_kernel
def test_threads_change_nothing() -> None:
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(table(Sinusoidal(dim=64), torch.arange(20_000) + 2**24, impl="native"))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(*found)


@needs_kernel
@pytest.mark.parametrize(
    ("named", "reason"),
    [
        ({"encoding": Learned(dim=8, length=9)}, "Learned is made of more than sinusoids"),
        ({"positions": torch.ones(3)}, "positions are float32, not whole"),
        ({"positions": torch.arange(3, device="meta")}, "positions are on meta"),
        ({"dtype": torch.float64}, "numbers are to be float64"),
        ({"out": torch.empty(8, 3).T}, "the numbers of a row of out are not side by side"),
        (
            {"positions": torch.zeros(2, 3, dtype=torch.int64), "out": torch.empty(2, 5, 8)[:, :3]},
            "the rows of out do not",
        ),
    ],
)
def test_a_named_kernel_does_not_fall_back(named: Any, reason: str) -> None:
    given = {"encoding": Sinusoidal(dim=8), "positions": torch.arange(3), **named}
    with pytest.raises(ValueError, match=f"^impl must be one that can make this table; got 'native', but {reason}"):
        table(**given, impl="native")


SHARED = torch.arange(60)
LEARNING = torch.zeros(3, 8, requires_grad=True)


@pytest.mark.parametrize("impl", ["auto", "reference"])
@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("encoding", RoPE(dim=8), TypeError),
        ("encoding", ALiBi(heads=2), TypeError),
        ("positions", [0, 1, 2], TypeError),
        ("positions", torch.tensor([2**53 + 1]), ValueError),
        ("positions", torch.tensor([2**53]), ValueError),
        ("positions", torch.tensor([True]), TypeError),
        ("params", {"weight": torch.ones(1)}, ValueError),
        ("dtype", torch.int64, TypeError),
        ("impl", "triton", ValueError),
        ("out", [0.0], TypeError),
        ("out", torch.empty(3, 8, dtype=torch.float64), TypeError),
        ("out", torch.empty(3, 7), ValueError),
        ("out", torch.empty(4, 8), ValueError),
        ("out", torch.tensor(0.0), ValueError),
        ("out", torch.empty(3, 8, device="meta"), ValueError),
        ("out", LEARNING, ValueError),
        ("out", torch.empty(8).expand(3, 8), ValueError),
        ("out", torch.empty(12).as_strided((3, 8), (2, 1)), ValueError),
        ("out", SHARED.view(torch.float32)[:24].view(3, 8), ValueError),
    ],
)
def test_bad_arguments(name: str, value: Any, error: type, impl: str) -> None:
    given = {"encoding": Sinusoidal(dim=8, start=1), "positions": SHARED[:3], "impl": impl, name: value}
    with pytest.raises(error, match=f"^{name} must"):
        table(**given)


def test_no_gradient_is_written_down() -> None:
    learned = Learned(dim=4, length=9)
    params = {name: torch.ones(shape, requires_grad=True) for name, shape in learned.shapes.items()}
    with pytest.raises(ValueError, match=r"^out must be None where a gradient is recorded"):
        table(learned, torch.arange(3), params, out=torch.empty(3, 4))
    with torch.no_grad():
        assert table(learned, torch.arange(3), params, out=torch.empty(3, 4)).sum() == 12.0


@pytest.mark.parametrize("impl", ["auto", "reference"])
@pytest.mark.parametrize(
    ("out", "error", "why"),
    [
        (torch.empty(2, 3, 4), TypeError, "out must be a pair of tensors"),
        ((torch.empty(3, 4),), TypeError, "out must be a pair of tensors"),
        ((torch.empty(3, 4), None), TypeError, r"out\[1\] must be"),
        ((torch.empty(3, 5), torch.empty(3, 4)), ValueError, r"out\[0\] must have shape \(3, 4\)"),
        ((torch.empty(3, 4), torch.empty(3, 4).half()), TypeError, r"out\[1\] must be torch.float32"),
        ((LEARNING[:, :4], torch.empty(3, 4)), ValueError, r"out\[0\] must not require a gradient"),
        ((LEARNING.data[:, :4], LEARNING.data[:, 2:6]), ValueError, r"out\[1\] must have memory of its own"),
        ((SHARED.view(torch.float32)[:12].view(3, 4), torch.empty(3, 4)), ValueError, r"out\[0\] must have memory"),
    ],
)
def test_bad_memory_for_a_rotation(out: Any, error: type, why: str, impl: Any) -> None:
    with pytest.raises(error, match=f"^{why}"):
        rotation(RoPE(dim=8), SHARED[:3], out=out, impl=impl)


@needs_kernel
def test_the_operators_themselves_write_no_memory_that_is_not_theirs() -> None:
    places, numbers, free = (
        torch.arange(6).reshape(2, 3, 1),
        torch.as_tensor(frequency_limbs(fixed_sinusoids_of(Sinusoidal(dim=8)))),
        torch.empty(900),
    )
    good = free[:24].view(2, 3, 4)
    for cosine, sine, why in (
        (good.double(), free[24:48].view(2, 3, 4), "must be float32"),
        (good[0], good[1], "must be float32"),
        (good[:1], good[1:], "a row for each position"),
        (free.as_strided((2, 3, 4), (12, 1, 3)), good, "rows contiguous"),
        (free.as_strided((2, 3, 4), (12, 3, 1)), good, "evenly spaced"),
        (free.as_strided((2, 3, 4), (13, 4, 1)), good, "evenly spaced"),
        (good, free.as_strided((2, 3, 4), (15, 5, 1), 100), "same shape and strides"),
        (free[:18].view(2, 3, 3), free[24:42].view(2, 3, 3), "a number for each pair"),
        (good, good, "share no memory"),
        (good, free[20:44].view(2, 3, 4), "share no memory"),
        (free.as_strided((2, 3, 4), (24, 8, 1)), free.as_strided((2, 3, 4), (24, 8, 1), 13), "share no memory"),
    ):
        with pytest.raises(RuntimeError, match=why):
            kernel.cos_sin_into(places, numbers, 1.0, cosine, sine)
    for width in (6, 9):
        with pytest.raises(RuntimeError, match="a cosine and a sine for each pair"):
            torch.ops.posenc.cos_sin_within(places, numbers, 1.0, torch.empty(2, 3, width), True, True)
    with pytest.raises(RuntimeError, match="a row for each position"):
        torch.ops.posenc.cos_sin_within(places, numbers, 1.0, torch.empty(3, 2, 8), True, True)


@pytest.mark.parametrize("kind", [torch.float64, torch.bfloat16])
def test_a_table_asks_nothing_of_the_defaults_of_the_caller(kind: torch.dtype) -> None:
    encoding, places = Sinusoidal(dim=6), torch.arange(40)
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(kind)
        with torch.device("meta"):
            found = table(encoding, places)
    finally:
        torch.set_default_dtype(before)
    assert torch.equal(found, encoding.embed(places))
