"""The compiled kernel against the reference, to the bit: dtypes, layouts, slices, strides, gradients, tracers, bad
input."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch

import posenc
from posenc import AxialRoPE, Partial, RoPE, XPos, YaRN
from posenc.torch import chosen, rotate, rotate_

HAS_KERNEL = (
    chosen(
        torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 1, 2), RoPE(dim=2).rotation(torch.tensor([0])), layout="bhtd"
    ).impl
    == "native"
)
native = pytest.mark.skipif(not HAS_KERNEL, reason="posenc-kernels is not installed: no compiler was found")
DTYPES = (torch.float32, torch.bfloat16, torch.float16)
RECORDS = (
    RoPE(dim=128, pairing="halves"),
    RoPE(dim=64),
    RoPE(dim=6),
    RoPE(dim=70, pairing="halves", scaling=YaRN(factor=8.0, original=128)),
    Partial(RoPE(dim=20, pairing="halves"), dim=50, start=7),
    Partial(RoPE(dim=38), dim=40),
    AxialRoPE(
        axis=(0,) * 12 + (1,) * 12,
        frequency_index=(*range(12), *range(12)),
        frequency_dim=24,
        pairing="halves",
        blocks=2,
    ),
)


def places(encoding: Any, *shape: int) -> torch.Tensor:
    axes = () if encoding.axes == 1 else (encoding.axes,)
    return torch.randint(0, 100_000, (*shape, *axes), generator=torch.Generator().manual_seed(3))


def heads(count: int, length: int, dim: int, dtype: torch.dtype, layout: str, batch: int = 2) -> torch.Tensor:
    shape = (batch, count, length, dim) if layout == "bhtd" else (batch, length, count, dim)
    return torch.randn(shape, generator=torch.Generator().manual_seed(count)).to(dtype)


@native
@pytest.mark.parametrize("layout", ["bhtd", "bthd"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("encoding", RECORDS)
def test_bits_of_the_reference(encoding: Any, dtype: torch.dtype, layout: Any) -> None:
    for length, rows in product((1, 67, 130), ((), (2,))):
        rotation = encoding.rotation(places(encoding, *rows, length))
        q, k = (heads(count, length, encoding.head_dim, dtype, layout) for count in (12, 4))
        wanted = rotate(q, k, rotation, layout=layout, impl="reference")
        for found in (
            rotate(q, k, rotation, layout=layout, impl="native"),
            rotate_(q.clone(), k.clone(), rotation, layout=layout, impl="native"),
        ):
            assert all(torch.equal(a, b) and a.dtype == dtype for a, b in zip(found, wanted, strict=True))


@native
def test_numbers_that_are_none_and_ties() -> None:
    """NaN, infinities, and sums that lie between two bfloat16 numbers: rounded as PyTorch rounds them."""
    rotation = RoPE(dim=32, pairing="halves").rotation(torch.arange(8))
    bits = torch.randint(-(2**15), 2**15, (1, 3, 8, 32), dtype=torch.int16, generator=torch.Generator().manual_seed(1))
    for dtype in (torch.bfloat16, torch.float16):
        q = bits.view(dtype)
        found, wanted = (
            rotate(q, q.clone(), rotation, layout="bhtd", impl=impl)[0] for impl in ("native", "reference")
        )
        same = (found == wanted) | (found.isnan() & wanted.isnan())
        assert same.all()


@native
def test_tensors_inside_others_and_heads_of_their_own() -> None:
    """A fused projection cut into queries and keys, sliced tokens, and a table a head."""
    fused = torch.randn(2, 9, 3, 4, 16, generator=torch.Generator().manual_seed(2))
    rotation = RoPE(dim=16, pairing="halves").rotation(torch.arange(5))
    q, k, v = (fused[:, 2:7, part] for part in range(3))
    wanted = rotate(q.clone(), k.clone(), rotation, layout="bthd", impl="reference")
    kept = fused[:, :2].clone(), v.clone()
    rotate_(q, k, rotation, layout="bthd", impl="native")
    assert torch.equal(q, wanted[0])
    assert torch.equal(k, wanted[1])
    assert torch.equal(fused[:, :2], kept[0])
    assert torch.equal(v, kept[1])
    every = RoPE(dim=16).rotation(torch.arange(4 * 5).reshape(4, 5))
    own = posenc.Rotation(every.cos, every.sin, every.pairing, 1.0, heads=4)
    q, k = fused[:, :5, 0].transpose(1, 2), fused[:, :5, 1].transpose(1, 2)
    pairs = zip(
        rotate(q, k, own, layout="bhtd", impl="native"), rotate(q, k, own, layout="bhtd", impl="reference"), strict=True
    )
    assert all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("impl", [pytest.param("native", marks=native), "auto", "torch"])
def test_cosines_and_sines_that_lie_differently(impl: Any) -> None:
    """Tokens cut from the rows of a batch, whose sines alone `inverse` copies; one row with a stride of its own."""
    every = RoPE(dim=8).rotation(torch.arange(12).reshape(2, 6))
    part = posenc.Rotation(every.cos[:, :3], every.sin[:, :3], every.pairing)
    sine = every.sin[:1, :3].clone(memory_format=torch.contiguous_format)
    of_one = posenc.Rotation(every.cos[:1, :3], sine, every.pairing)
    q, k = (heads(count, 3, 8, torch.float32, "bhtd") for count in (4, 2))
    for rotation in (part.inverse(), of_one):
        pairs = zip(
            rotate(q, k, rotation, layout="bhtd", impl=impl), (rotation(x, layout="bhtd") for x in (q, k)), strict=True
        )
        assert all(torch.equal(a, b) for a, b in pairs)
    own = q.clone().requires_grad_()
    rotate_(own * 1.0, k.clone(), part, layout="bhtd", impl=impl)[0].sum().backward()
    assert torch.equal(own.grad, part.inverse()(torch.ones_like(q), layout="bhtd"))


@native
def test_gradients_are_those_of_the_reference() -> None:
    encoding = Partial(RoPE(dim=12, pairing="halves", scaling=YaRN(factor=4.0, original=64)), dim=18, start=2)
    rotation = encoding.rotation(torch.arange(7))
    gradients = []
    for impl in ("native", "reference"):
        q, k = (heads(count, 7, 18, torch.float32, "bthd").requires_grad_() for count in (6, 2))
        rotated = rotate(q, k, rotation, layout="bthd", impl=impl)
        (rotated[0].square().sum() + rotated[1].sum()).backward()  # a sum's gradient has no strides
        gradients.append((q.grad, k.grad))
    for found, wanted in zip(*gradients, strict=True):
        # Two products and a sum, each rounded once, of numbers below 2·factor²·|x|: 3 units of 2^-24 of 16.
        assert (found - wanted).abs().max() <= 3 * 16 * 2**-24


@native
def test_the_operator_keeps_its_promises() -> None:
    """PyTorch's own checks of schema, shapes, autograd and compilation."""
    from posenc.kernels import native as kernel

    rotation = RoPE(dim=8).rotation(torch.arange(5))
    x = heads(3, 5, 8, torch.float32, "bhtd").requires_grad_()
    arguments = (x, *kernel.tables(rotation), 0, 1, True, False)
    torch.library.opcheck(torch.ops.posenc.rotate_one.default, arguments)
    still = (x.detach(), *arguments[1:])
    torch.library.opcheck(torch.ops.posenc.rotate_one_.default, still)


@native
def test_tracers_see_through() -> None:
    rotation = RoPE(dim=8, pairing="halves").rotation(torch.arange(5))
    q, k = heads(4, 5, 8, torch.float32, "bhtd"), heads(2, 5, 8, torch.float32, "bhtd")
    wanted = rotate(q, k, rotation, layout="bhtd", impl="reference")

    def call(q: Any, k: Any) -> Any:
        return rotate(q, k, rotation, layout="bhtd", impl="native")

    def in_place(q: Any, k: Any) -> Any:
        return rotate_(q.clone(), k.clone(), rotation, layout="bhtd", impl="native")

    class Model(torch.nn.Module):
        def forward(self, q: Any, k: Any) -> Any:
            return call(q, k)

    for function in (call, in_place):
        compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
        assert all(torch.equal(a, b) for a, b in zip(compiled(q, k), wanted, strict=True))
    exported = torch.export.export(Model(), (q, k)).module()
    assert all(torch.equal(a, b) for a, b in zip(exported(q, k), wanted, strict=True))
    mapped = torch.func.vmap(call)(torch.stack([q, 2 * q]), torch.stack([k, 2 * k]))
    assert all(torch.equal(a[1], 2 * b) for a, b in zip(mapped, wanted, strict=True))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert all(torch.equal(a, b) for a, b in zip(call(q, k), wanted, strict=True))


@native
def test_threads_change_nothing() -> None:
    rotation = RoPE(dim=64).rotation(torch.arange(700))
    q, k = heads(8, 700, 64, torch.bfloat16, "bthd"), heads(2, 700, 64, torch.bfloat16, "bthd")
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(rotate(q, k, rotation, layout="bthd", impl="native"))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


def test_nothing_is_rotated_to_nothing() -> None:
    rotation = RoPE(dim=8).rotation(torch.arange(0))
    q, k = torch.zeros(2, 4, 0, 8), torch.zeros(2, 2, 0, 8)
    assert rotate(q, k, rotation, layout="bhtd")[0].shape == q.shape
    assert rotate_(q, k, rotation, layout="bhtd")[1].shape == k.shape


def test_a_choice_says_why() -> None:
    rotation = RoPE(dim=8).rotation(torch.arange(3), dtype=torch.float64)
    q, k = torch.zeros(1, 2, 3, 8, dtype=torch.float64), torch.zeros(1, 2, 3, 8, dtype=torch.float64)
    choice = chosen(q, k, rotation, layout="bhtd")
    assert choice.impl == "torch"
    assert choice.reason
    assert rotate(q, k, rotation, layout="bhtd")[0].dtype == torch.float64
    learned = posenc.LearnedRoPE(dim=8)
    frequency_limbs = {"frequencies": torch.ones(4, requires_grad=True)}
    assert (
        chosen(q.float(), k.float(), learned.rotation(torch.arange(3), frequency_limbs), layout="bhtd").impl
        == "reference"
    )
    assert chosen(q.float(), k.float(), XPos(dim=8).rotation(torch.arange(3), role="key"), layout="bhtd").impl in (
        "native",
        "torch",
    )


GOOD: dict[str, Any] = {
    "q": torch.zeros(2, 4, 3, 8),
    "k": torch.zeros(2, 2, 3, 8),
    "rotation": RoPE(dim=8).rotation(torch.arange(3)),
    "layout": "bhtd",
    "impl": "auto",
}


@pytest.mark.parametrize("function", [rotate, rotate_, chosen])
@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("q", None, TypeError),
        ("q", torch.zeros(2, 4, 3, 6), ValueError),
        ("q", torch.zeros(4, 3, 8), ValueError),
        ("q", torch.zeros(2, 4, 5, 8), ValueError),
        ("k", torch.zeros(2, 2, 3, 8, dtype=torch.bfloat16), ValueError),
        ("k", torch.zeros(1, 2, 3, 8), ValueError),
        ("k", torch.zeros(2, 2, 3, 8, device="meta"), ValueError),
        ("rotation", "rotation", TypeError),
        ("layout", "bdth", ValueError),
        ("impl", "fastest", ValueError),
    ],
)
def test_bad_arguments(function: Any, name: str, value: Any, error: type) -> None:
    with pytest.raises(error, match=f"^{name} must"):
        function(**{**GOOD, name: value})


def test_a_named_kernel_does_not_fall_back() -> None:
    rotation = RoPE(dim=8).rotation(torch.arange(3), dtype=torch.float64)
    with pytest.raises(ValueError, match=r"^impl must .* got 'native', but"):
        rotate(GOOD["q"], GOOD["k"], rotation, layout="bhtd", impl="native")


def test_what_cannot_be_rotated_in_place() -> None:
    q, k = torch.zeros(2, 4, 3, 8), torch.zeros(2, 2, 3, 8)
    with pytest.raises(ValueError, match=r"^q must not require a gradient"):
        rotate_(q.clone().requires_grad_(), k, GOOD["rotation"], layout="bhtd")
    with pytest.raises(ValueError, match=r"^k must not overlap"):
        rotate_(q, torch.zeros(2, 1, 3, 8).expand(2, 2, 3, 8), GOOD["rotation"], layout="bhtd")
    with pytest.raises(ValueError, match=r"^k must not share memory"):
        rotate_(q, q, GOOD["rotation"], layout="bhtd")
