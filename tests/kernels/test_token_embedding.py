"""Embeddings times a scale plus positions: the bits of their definition, gradients, tracers and bad input."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch

from posenc import Concatenated, Learned, Sinusoidal
from posenc.kernels import native as library
from posenc.kernels import native_embedding as kernel
from posenc.torch import InputLayer, embed

native = pytest.mark.skipif(library.MISSING is not None, reason=str(library.MISSING))
SETS = library.instruction_sets() if library.MISSING is None else ("baseline",)
DTYPES = (torch.float32, torch.bfloat16, torch.float16)


def made(dtype: torch.dtype, width: int, batch: int = 3, time: int = 5, vocabulary: int = 11) -> Any:
    """ids, a weight, and a table that rows share."""
    generator = torch.Generator().manual_seed(width)
    ids = torch.randint(0, vocabulary, (batch, time), generator=generator)
    weight = torch.randn(vocabulary, width, generator=generator).to(dtype)
    return ids, weight, torch.randn(time, width, generator=generator)


def defined(ids: Any, weight: Any, table: Any, scale: float) -> Any:
    """Product and sum one by one in float32, rounded once."""
    return (weight[ids].float() * torch.tensor(scale) + table).to(weight.dtype)


@native
@pytest.mark.parametrize("instruction_set", SETS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_instruction_set_has_the_bits(instruction_set: str, dtype: torch.dtype) -> None:
    for width in (*range(1, 41), 50, 64):
        ids, weight, table = made(dtype, width, 3, 1 + width)  # pieces of sixteen tokens, and what is left of them
        wanted = defined(ids, weight, table, width**0.5)
        assert torch.equal(
            kernel.scaled_embedding(ids, weight, table[None], width**0.5, instruction_set=instruction_set), wanted
        )


@native
@pytest.mark.parametrize("instruction_set", SETS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_more_than_caches_hold(instruction_set: str, dtype: torch.dtype) -> None:
    """Results of 32 MiB and more go past the caches, where rows are whole lines of these."""
    for width in (256, 250):
        ids, weight, table = made(dtype, width, 1, 64)
        ids, few = ids.expand(2**25 // (64 * width * weight.element_size()) + 1, 64), ids
        wanted = defined(few, weight, table, 1.7).expand(*ids.shape, width)
        assert torch.equal(
            kernel.scaled_embedding(ids, weight, table[None], 1.7, instruction_set=instruction_set), wanted
        )


@native
@pytest.mark.parametrize("instruction_set", SETS)
def test_numbers_that_are_none(instruction_set: str) -> None:
    """NaN whose bits a rounding could carry away, of the table and of the scale, infinities, and all of 16 bits."""
    every = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16).reshape(1024, 64)
    odd = torch.tensor([0x7FFFFFFF, 0xFFFFFFFF, 0x7F800001, 0x7F800000, 0xFF800000, 0, 0x3F800000, 0x34567890])
    table = odd[torch.randint(0, len(odd), (1024, 64), generator=torch.Generator().manual_seed(9))].to(torch.int32)
    ids = torch.arange(1024)[None]
    for dtype in (torch.bfloat16, torch.float16):
        for scale in (1.0, 0.37, float("inf"), float("nan")):
            weight, places = every.view(dtype), table.view(torch.float32)
            found, wanted = (
                kernel.scaled_embedding(ids, weight, places[None], scale, instruction_set=instruction_set),
                defined(ids, weight, places, scale),
            )
            assert ((found == wanted) | (found.isnan() & wanted.isnan())).all()


@pytest.mark.parametrize("impl", [pytest.param("native", marks=native), "reference"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_bits_of_the_definition(dtype: torch.dtype, impl: Any) -> None:
    ids, weight, table = made(dtype, 50)
    own = torch.randn(3, 10, 50, generator=torch.Generator().manual_seed(1))[:, ::2]
    wide = torch.zeros(11, 60, dtype=dtype)
    wide[:, 3:53] = weight
    for places, few, rows in product((table, own), (ids, ids.int(), ids.T.contiguous().T), (weight, wide[:, 3:53])):
        found = embed(few, rows, places, scale=3.3, impl=impl)
        assert found.dtype == dtype
        assert torch.equal(found, defined(ids, weight, places, 3.3))
    assert embed(ids[:0], weight, table, scale=1.0, impl=impl).shape == (0, 5, 50)
    assert embed(ids[:, :0], weight, table[:0], scale=1.0, impl=impl).shape == (3, 0, 50)


@native
@pytest.mark.parametrize("shared", [True, False])
def test_gradients_are_those_of_the_reference(shared: bool) -> None:
    ids, weight, table = made(torch.float32, 24)
    places = table if shared else torch.randn(3, 5, 24, generator=torch.Generator().manual_seed(2))
    gradients = []
    for impl in ("native", "reference"):
        leaves = weight.clone().requires_grad_(), places.clone().requires_grad_()
        embed(ids, *leaves, scale=2.5, impl=impl).square().sum().backward()  # type: ignore[arg-type]
        gradients.append([leaf.grad for leaf in leaves])
    for found, wanted in zip(*gradients, strict=True):
        # At most fifteen numbers are summed, in another order: 14 roundings of what is no larger than the sum of their
        # sizes.
        assert (found - wanted).abs().max() <= 14 * 2**-24 * 15 * 2 * 2.5 * (4.5 * 2.5 + 4.5)
    narrow = weight.to(torch.bfloat16).requires_grad_()
    embed(ids, narrow, places, scale=2.5, impl="native").sum().backward()
    counts = torch.zeros(11, 24).index_add_(0, ids.flatten(), torch.full((15, 24), 2.5))
    assert torch.equal(narrow.grad, counts.to(torch.bfloat16))


@native
def test_the_operator_keeps_its_promises() -> None:
    ids, weight, table = made(torch.float32, 8)
    operator = torch.ops.posenc.scaled_embedding.default
    torch.library.opcheck(operator, (ids, weight.requires_grad_(), table[None].requires_grad_(), 2.0))
    weight, table = weight.detach(), table.detach()
    for place in (-1, 11, 2**62):
        with pytest.raises(RuntimeError, match="ids must be rows of the weight"):
            operator(torch.full((3, 5), place), weight, table[None], 1.0)
    for wrong in (
        (ids.int(), weight, table[None]),
        (ids[0], weight, table[None]),
        (ids, weight.double(), table[None]),
        (ids, weight[:, ::2], table[None, :, :4]),
        (ids, weight[:, :4], table[None]),
        (ids, weight, table),
        (ids, weight, table[None].half()),
        (ids, weight, table[None].expand(2, 5, 8)),
        (ids, weight, table[None, :4]),
    ):
        with pytest.raises(RuntimeError, match="must"):
            operator(*wrong, 1.0)


@native
def test_tracers_see_through() -> None:
    ids, weight, table = made(torch.float32, 8)

    def call(ids: Any, weight: Any) -> Any:
        return embed(ids, weight, table, scale=2.0)

    wanted = call(ids, weight)
    assert torch.equal(torch.compile(call, fullgraph=True, backend="aot_eager")(ids, weight), wanted)
    assert torch.equal(torch.func.vmap(call, in_dims=(None, 0))(ids, weight[None])[0], wanted)
    jacobian = torch.func.jvp(lambda weight: call(ids, weight), (weight,), (weight,))[1]
    assert torch.equal(jacobian, 2.0 * weight[ids])


@native
def test_threads_change_nothing() -> None:
    ids, weight, table = made(torch.bfloat16, 96, 4, 700, 50)
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(embed(ids, weight, table, scale=9.8, impl="native"))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(*found)


@pytest.mark.parametrize("encoding", [Sinusoidal(dim=16), Learned(dim=16, length=9)])
def test_the_input_layer_takes_it(encoding: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same numbers as embedding, factor and sum, one by one."""
    layer = InputLayer(20, encoding, batch_first=True, dropout=0.0)
    ids = torch.randint(0, 20, (3, 7), generator=torch.Generator().manual_seed(1))
    places = torch.arange(7).flip(0)
    wanted = encoding.attach(layer.embedding[ids] * 4.0, places, layer.encoding.params)
    assert torch.equal(layer(ids, places), wanted)
    layer = layer.bfloat16()
    params = layer.encoding.params
    wanted = encoding.attach(layer.embedding[ids].float() * 4.0, places, params).bfloat16()
    assert torch.equal(layer(ids, places), wanted)
    other = InputLayer(20, Concatenated(Sinusoidal(dim=4)), batch_first=True, dropout=0.0, width=12)
    assert other(ids).shape == (3, 7, 16)


GOOD: dict[str, Any] = {
    "ids": torch.zeros(2, 3, dtype=torch.int64),
    "weight": torch.zeros(5, 8),
    "table": torch.zeros(3, 8),
    "scale": 2.0,
}


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("ids", [[1]], TypeError),
        ("ids", torch.zeros(2, 3), TypeError),
        ("ids", torch.zeros(3, dtype=torch.int64), ValueError),
        ("ids", torch.full((2, 3), 5), ValueError),
        ("ids", torch.full((2, 3), -1), ValueError),
        ("weight", None, TypeError),
        ("weight", torch.zeros(5, 8, dtype=torch.int64), TypeError),
        ("weight", torch.zeros(8), ValueError),
        ("weight", torch.zeros(5, 8, device="meta"), ValueError),
        ("table", None, TypeError),
        ("table", torch.zeros(3, 8, dtype=torch.bfloat16), TypeError),
        ("table", torch.zeros(3, 6), ValueError),
        ("table", torch.zeros(1, 3, 8), ValueError),
        ("scale", None, TypeError),
        ("scale", float("inf"), ValueError),
        ("impl", "triton", ValueError),
    ],
)
def test_bad_arguments(name: str, value: Any, error: type) -> None:
    with pytest.raises(error, match=f"^{name} must"):
        embed(**{**GOOD, name: value})


@native
def test_a_named_kernel_does_not_fall_back() -> None:
    double = {"weight": GOOD["weight"].double(), "table": GOOD["table"].double()}
    assert embed(**{**GOOD, **double}).dtype == torch.float64
    with pytest.raises(ValueError, match=r"^impl must .* got 'native', but"):
        embed(**{**GOOD, **double}, impl="native")
