"""Numbers of distances in attention, the row of a decoding step and the slopes against the dense bias."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from posenc import CATALOG, FIRE, ALiBi, RoPE, T5Bias
from posenc.core.doors import AttentionBias
from posenc.testing.one_coordinate import spread_over_axes
from posenc.torch import StridedBias, decode_row, slopes, strided, strided_attention

EVERY = [encoding for row in CATALOG for encoding in row.samples if isinstance(encoding, AttentionBias)]
RECORDS = [case for case in EVERY if case.axes == 1]
RELATIVE = [case for case in RECORDS if "relative" in case.claims]
#: First and last position of queries and of keys: queries among, after and before their keys, one query, one key.
RANGES = [
    (range(100_003, 100_010), range(100_000, 100_011)),
    (range(40, 45), range(3)),
    (range(-3, 2), range(7, 20)),
    (range(9, 10), range(10)),
    (range(6), range(2, 3)),
]


def learned(encoding: AttentionBias, *, grown: float = 5.0) -> dict[str, torch.Tensor] | None:
    """Parameters large enough for a wrong bucket or head to show, in float64."""
    drawn = encoding.init(np.random.default_rng(3))
    return {name: torch.tensor(value * grown, requires_grad=True) for name, value in drawn.items()} or None


def in_order(bias: StridedBias) -> torch.Tensor:
    """The dense bias that it stands for, the first query first."""
    mask: torch.Tensor = bias.last_query_first(bias.numbers.dtype)
    return mask.flip(-2)


def budget(dense: torch.Tensor) -> float:
    """The same numbers, from other positions at the same distance: two roundings of the largest, and of what it is a
    sum of."""
    return 64 * 2.0**-52 * (1 + float(dense.detach().abs().max()))


@pytest.mark.parametrize("ranges", RANGES)
@pytest.mark.parametrize("encoding", RELATIVE)
def test_a_number_for_each_distance_makes_the_matrix(encoding: AttentionBias, ranges: tuple[range, range]) -> None:
    params, (query_positions, key_positions) = learned(encoding), (torch.tensor(list(places)) for places in ranges)
    bias = strided(encoding, query_positions, key_positions, params, dtype=torch.float64)
    dense = encoding.matrix(query_positions, key_positions, params, dtype=torch.float64)
    assert torch.allclose(in_order(bias)[0], dense, rtol=0, atol=budget(dense))
    # n + m - 1 numbers a head, however many pairs of positions, and a mask in the same memory.
    assert bias.numbers.untyped_storage().size() == 8 * encoding.heads * (len(query_positions) + len(key_positions) - 1)
    assert bias.last_query_first(torch.float64).data_ptr() == bias.numbers.data_ptr()


@pytest.mark.parametrize("encoding", RELATIVE)
def test_a_batch_has_a_row_of_positions_each(encoding: AttentionBias) -> None:
    params = learned(encoding)
    query_positions, key_positions = (
        torch.arange(5) + torch.tensor([[70], [3]]),
        torch.arange(8) + torch.tensor([[66], [0]]),
    )
    each = strided(encoding, query_positions, key_positions, params, dtype=torch.float64)
    dense = encoding.matrix(query_positions, key_positions, params, dtype=torch.float64)
    assert torch.allclose(in_order(each), dense, rtol=0, atol=budget(dense))
    shared = strided(encoding, query_positions[0], key_positions, params, dtype=torch.float64)
    dense = encoding.matrix(query_positions[0], key_positions, params, dtype=torch.float64)
    assert torch.allclose(in_order(shared), dense, rtol=0, atol=budget(dense))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("encoding", RELATIVE)
def test_attention_and_its_gradients(encoding: AttentionBias, causal: bool) -> None:
    params, (query_positions, key_positions) = (
        learned(encoding, grown=1.5),
        (torch.arange(100, 109), torch.arange(96, 110)),
    )
    draw = torch.Generator().manual_seed(0)
    shapes = ((2, encoding.heads, 9, 4), (2, encoding.heads, 14, 4), (2, encoding.heads, 14, 4))
    q, k, v = (torch.randn(shape, generator=draw, dtype=torch.float64).requires_grad_() for shape in shapes)
    weight = torch.randn(2, encoding.heads, 9, 4, generator=draw, dtype=torch.float64)
    dense = encoding.matrix(query_positions, key_positions, params, dtype=torch.float64)
    if causal:
        dense = dense.masked_fill(key_positions > query_positions[:, None], float("-inf"))
    wanted = scaled_dot_product_attention(q, k, v, attn_mask=dense[None])
    got = strided_attention(
        q, k, v, strided(encoding, query_positions, key_positions, params, causal=causal, dtype=torch.float64)
    )
    # Logits may reach hundreds, so a unit of their last place moves a weight by 2^-52 times as much.
    size = 64 * 2.0**-52 * (1 + float(dense.detach()[dense > -torch.inf].abs().max()))
    assert torch.allclose(got, wanted, rtol=0, atol=size * 8)
    sources = (q, k, v, *(params or {}).values())
    slopes_of = [torch.autograd.grad((out * weight).sum(), sources, retain_graph=True) for out in (got, wanted)]
    for left, right in zip(*slopes_of, strict=True):
        # A parameter gathers 2·9·14 terms for every head, each with the error of a weight and times a distance.
        assert torch.allclose(left, right, rtol=1e-9, atol=size * 2 * 9 * 14 * 200)


@pytest.mark.parametrize("shape", [(200, 200), (130, 300), (64, 64), (65, 65), (1, 40), (150, 100), (0, 7)])
def test_pieces_of_the_queries(shape: tuple[int, int]) -> None:
    """The keys that a piece leaves out are those that all of its queries are hidden from, wherever queries end."""
    (n, m), encoding = shape, T5Bias(heads=2)
    draw = torch.Generator().manual_seed(n)
    params = {"table": torch.randn(32, 2, generator=draw, dtype=torch.float64).requires_grad_()}
    q, k, v = (torch.randn(2, 2, rows, 4, generator=draw, dtype=torch.float64).requires_grad_() for rows in (n, m, m))
    for last in (m, m - 3, m + 70):
        query_positions, key_positions = torch.arange(last - n, last), torch.arange(m)
        bias = strided(encoding, query_positions, key_positions, params, causal=True, dtype=torch.float64)
        dense = encoding.matrix(query_positions, key_positions, params, dtype=torch.float64).masked_fill(
            key_positions > query_positions[:, None], -torch.inf
        )
        found, wanted = strided_attention(q, k, v, bias), scaled_dot_product_attention(q, k, v, attn_mask=dense[None])
        assert torch.equal(strided_attention(q, k, v, replace(bias, ahead=None)).isnan(), found.isnan())
        # The same sums of at most 300 weights of 1, with other zeros between them.
        bound = 300 * 8 * 2.0**-52
        assert torch.allclose(found, wanted, rtol=0, atol=bound, equal_nan=True)
        if n and query_positions[0] >= 0:
            slopes_of = [
                torch.autograd.grad(out.square().sum(), (q, k, v, *params.values()), retain_graph=True)
                for out in (found, wanted)
            ]
            for left, right in zip(*slopes_of, strict=True):
                assert torch.allclose(left, right, rtol=1e-9, atol=300 * bound)


def test_a_batch_whose_queries_end_at_different_distances_from_its_keys() -> None:
    encoding, key_positions = ALiBi(heads=2), torch.arange(100)
    query_positions = torch.arange(100) + torch.tensor([[-1], [40]])
    q, k, v = torch.randn(3, 2, 2, 100, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64).unbind()
    bias = strided(encoding, query_positions, key_positions, causal=True, dtype=torch.float64)
    dense = encoding.matrix(query_positions, key_positions, dtype=torch.float64).masked_fill(
        key_positions > query_positions[:, None, :, None], -torch.inf
    )
    found, wanted = strided_attention(q, k, v, bias), scaled_dot_product_attention(q, k, v, attn_mask=dense)
    assert bias.ahead == 40
    assert torch.allclose(found[:, :, 1:], wanted[:, :, 1:], rtol=0, atol=100 * 8 * 2.0**-52)


def test_a_strided_bias_is_no_mask() -> None:
    """Its queries are in reverse order: whatever PyTorch would do with it is wrong."""
    q, k, v = torch.randn(3, 1, 2, 5, 4, generator=torch.Generator().manual_seed(0)).unbind()
    bias, layer = strided(ALiBi(heads=2), PLACE, PLACE), torch.nn.MultiheadAttention(8, 2)
    uses: list[Callable[[], Any]] = [
        lambda: scaled_dot_product_attention(q, k, v, attn_mask=bias),
        lambda: scaled_dot_product_attention(q, k, v, bias),
        lambda: torch.compile(scaled_dot_product_attention, backend="eager")(q, k, v, attn_mask=bias),
        lambda: layer(*torch.zeros(3, 5, 1, 8), attn_mask=bias),
        lambda: torch.add(q, bias),
    ]
    for use in uses:
        with pytest.raises(TypeError, match=r"^attn_mask must be a tensor; got a StridedBias, whose .* reverse"):
            use()
    for operation in (lambda: q + bias, lambda: bias + q, lambda: bias[0]):
        with pytest.raises(TypeError, match="StridedBias"):
            operation()


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (
            ((1, 3, 4, 8), (1, 3, 4, 8), (1, 3, 4, 8)),
            "^q must have shape .* with 12 heads and 4 queries",
        ),
        (((1, 4, 12, 8), (1, 4, 12, 8), (1, 4, 12, 8)), "^q must have shape .* with 12 heads"),
        (((1, 12, 5, 8), (1, 12, 6, 8), (1, 12, 6, 8)), "^q must have shape .* and 4 queries"),
        (((3, 12, 4, 8), (3, 12, 6, 8), (3, 12, 6, 8)), "^q must have shape .* and a batch of 2; got "),
        (((2, 12, 4, 8), (2, 5, 6, 8), (2, 5, 6, 8)), "^k must have .* heads that divide 12; got"),
        (((2, 12, 4, 8), (2, 6, 6, 8), (2, 6, 4, 8)), r"^v must have .* 6 keys, as the bias has.* got \(2, 6, 4, 8\)"),
        (((2, 12, 4, 8), (1, 6, 6, 8), (2, 6, 6, 8)), "^k must have .* the batch of q, 2"),
        (((2, 12, 4, 8), (6, 6, 8), (2, 6, 6, 8)), "^k must have shape .*Give four axes"),
    ],
)
def test_attention_of_other_shapes_than_its_bias(shapes: Any, message: str) -> None:
    bias = strided(ALiBi(heads=12), torch.arange(2, 6) + torch.zeros(2, 1).long(), torch.arange(6))
    with pytest.raises(ValueError, match=message):
        strided_attention(*(torch.zeros(shape) for shape in shapes), bias)


def test_a_dense_bias_and_one_less_precise_than_the_queries() -> None:
    q, bias = torch.zeros(1, 2, 3, 4), ALiBi(heads=2).matrix(PLACE, PLACE)
    with pytest.raises(TypeError, match=r"^bias must be what .*strided gives; got a dense tensor\. Give .* attn_mask"):
        strided_attention(q, q, q, bias)
    q = q.double()
    with pytest.raises(TypeError, match=r"^bias must be as precise as q; got float32"):
        strided_attention(q, q, q, strided(ALiBi(heads=2), PLACE, PLACE))


def test_gradients_arrive_in_the_bucket_they_belong_to() -> None:
    encoding, query_positions, key_positions = T5Bias(heads=3), torch.arange(30, 37), torch.arange(40)
    weight = torch.randn(3, 7, 40, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    found = []
    for form in (
        lambda params: in_order(strided(encoding, query_positions, key_positions, params))[0],
        lambda p: encoding.matrix(query_positions, key_positions, p),
    ):
        params = learned(encoding)
        (form(params).double() * weight).sum().backward()
        found.append(params["table"].grad)
    assert found[1].any(-1).sum() > 10
    # At most 280 numbers below 5 in a bucket, added in another order in float64 and rounded to float32 on the way.
    assert torch.allclose(found[0], found[1], rtol=0, atol=280 * 5 * 2.0**-23)


@pytest.mark.parametrize("encoding", EVERY)
def test_a_decode_row_is_the_last_row_of_the_matrix(encoding: AttentionBias) -> None:
    """With its gradients; one query for all sequences, and one for each."""
    params, places = learned(encoding), spread_over_axes(encoding, torch.arange(50, 70))
    dense = encoding.matrix(places, places, params, dtype=torch.float64)
    row = decode_row(encoding, places[-1], places, params, dtype=torch.float64)
    assert row.shape == (1, encoding.heads, 1, 20)
    assert torch.allclose(row[0, :, 0], dense[:, -1], rtol=0, atol=budget(dense))
    each = decode_row(encoding, places[[10, 19]], places, params, dtype=torch.float64)
    assert each.shape == (2, encoding.heads, 1, 20)
    assert torch.allclose(each[0, :, 0], dense[:, 10], rtol=0, atol=budget(dense))
    weight = torch.randn(2, encoding.heads, 1, 20, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    sources = tuple((params or {}).values())
    found = [
        torch.autograd.grad((form * weight).sum(), sources, allow_unused=True, retain_graph=True) if sources else ()
        for form in (each, dense[:, [10, 19]].transpose(0, 1)[:, :, None])
    ]
    for left, right in zip(*found, strict=True):
        # Forty terms for every head, each times a weight below 4, in another order.
        assert torch.allclose(left, right, rtol=40 * 4 * 2.0**-52, atol=40 * 4 * budget(dense))


def test_a_decode_row_of_sequences_with_keys_of_their_own() -> None:
    key = torch.tensor([[0, 1, 2, 3], [0, 0, 0, 1]])
    row = decode_row(ALiBi(heads=2), torch.tensor([3, 1]), key)
    assert row.shape == (2, 2, 1, 4)
    assert row[1, 0, 0].tolist() == [-0.0625, -0.0625, -0.0625, 0.0]


@pytest.mark.parametrize("rule", ["paper", "geometric", "linear"])
def test_slopes_make_the_bias(rule: Any) -> None:
    encoding = ALiBi(heads=12, rule=rule)
    found, query_positions, key_positions = slopes(encoding), torch.arange(20, 25), torch.arange(25)
    assert found.dtype == torch.float32
    by_hand = -found[:, None, None] * (query_positions[:, None] - key_positions).abs()
    # The slope is rounded once in both and the product once.
    assert torch.allclose(encoding.matrix(query_positions, key_positions), by_hand, rtol=2.0**-23, atol=0)


def test_positions_that_cannot_be_seen() -> None:
    encoding = ALiBi(heads=2)
    compiled = torch.compile(lambda *places: strided(encoding, *places).numbers, fullgraph=True, backend="aot_eager")
    query_positions, key_positions = torch.arange(5, 9), torch.arange(3, 9)
    assert torch.equal(
        compiled(query_positions, key_positions), strided(encoding, query_positions, key_positions).numbers
    )
    assert compiled(torch.tensor([5, 6, 6, 7]), key_positions).isnan().all()
    assert compiled(query_positions, key_positions.flip(0)).isnan().all()


def test_a_length_left_open_for_export() -> None:
    class Attends(torch.nn.Module):
        def forward(self, q: Any, k: Any, v: Any, query_positions: Any, key_positions: Any, table: Any) -> Any:
            return strided_attention(
                q, k, v, strided(T5Bias(heads=2), query_positions, key_positions, {"table": table}, causal=True)
            )

    def inputs(n: int, m: int) -> tuple[torch.Tensor, ...]:
        draw = torch.Generator().manual_seed(n)
        q, k, v = (torch.randn(1, 2, length, 4, generator=draw) for length in (n, m, m))
        return q, k, v, torch.arange(m - n, m), torch.arange(m), torch.randn(32, 2, generator=draw)

    n, m = torch.export.Dim("n", min=2, max=512), torch.export.Dim("m", min=2, max=512)
    shapes = ({2: n}, {2: m}, {2: m}, {0: n}, {0: m}, None)
    program = torch.export.export(Attends(), inputs(5, 9), dynamic_shapes=shapes).module()
    for lengths in ((5, 9), (7, 30), (2, 2)):
        # Products of four and sums of at most 30 numbers below 8, in another order.
        assert torch.allclose(program(*inputs(*lengths)), Attends()(*inputs(*lengths)), rtol=0, atol=34 * 8 * 2.0**-24)


def test_grouped_heads_and_a_scale() -> None:
    encoding, places = T5Bias(heads=12), torch.arange(7)
    params = {"table": torch.randn(32, 12, generator=torch.Generator().manual_seed(2))}
    q, k, v = (torch.randn(2, heads, 7, 8, generator=torch.Generator().manual_seed(heads)) for heads in (12, 4, 4))
    got = strided_attention(q, k, v, strided(encoding, places, places, params), scale=1.0)
    wanted = scaled_dot_product_attention(
        q, k, v, attn_mask=encoding.matrix(places, places, params)[None], scale=1.0, enable_gqa=True
    )
    # Sums of 8 and 7 products below 16 in another order.
    assert torch.allclose(got, wanted, rtol=0, atol=15 * 16 * 2.0**-23)


def test_dtype_and_nothing_to_attend() -> None:
    none = torch.arange(0)
    bias = strided(ALiBi(heads=2), PLACE, PLACE.float())
    assert bias.numbers.dtype == torch.float32
    assert strided(ALiBi(heads=2), PLACE, PLACE, dtype=torch.bfloat16).numbers.dtype == torch.bfloat16
    q = torch.randn(1, 2, 3, 4, generator=torch.Generator().manual_seed(0)).bfloat16()
    wanted = scaled_dot_product_attention(q, q, q, attn_mask=ALiBi(heads=2).matrix(PLACE, PLACE).bfloat16()[None])
    # One unit of the last of 8 bits of a weighted mean of numbers below 4.
    assert torch.allclose(strided_attention(q, q, q, bias), wanted, rtol=0, atol=2.0**-6)
    for query_positions, key_positions in ((none, PLACE), (PLACE, none)):
        for causal in (False, True):
            assert in_order(strided(ALiBi(heads=2), query_positions, key_positions, causal=causal)).shape == (
                1,
                2,
                len(query_positions),
                len(key_positions),
            )


PLACE = torch.arange(3)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: strided(RoPE(dim=8), PLACE, PLACE), TypeError, "^encoding must be an encoding that biases; got RoPE"),
        (
            lambda: strided(FIRE(heads=2), PLACE, PLACE),
            ValueError,
            "^encoding must claim 'relative', since its numbers",
        ),
        (lambda: strided(ALiBi(heads=2), [0, 1], PLACE), TypeError, "^query_positions must be a tensor of positions"),
        (
            lambda: strided(ALiBi(heads=2), PLACE, torch.tensor(3)),
            ValueError,
            r"^key_positions must have shape \(n,\) or \(batch, n\).*\(\)",
        ),
        (
            lambda: strided(ALiBi(heads=2), PLACE, torch.tensor([0, 1, 3])),
            ValueError,
            "^key_positions must increase by one from token to token; got 1 and then 3",
        ),
        (
            lambda: strided(ALiBi(heads=2), torch.tensor([[0, 1], [5, 4]]), PLACE),
            ValueError,
            "^query_positions must increase by one from token to token; got 5 and then 4",
        ),
        (
            lambda: strided(ALiBi(heads=2), torch.tensor([255, 0], dtype=torch.uint8), PLACE),
            ValueError,
            "^query_positions must increase by one from token to token; got 255 and then 0",
        ),
        (
            lambda: strided(ALiBi(heads=2), PLACE, PLACE.double().requires_grad_()),
            ValueError,
            "^key_positions must not require a gradient, as only its ends are read",
        ),
        (
            lambda: strided(ALiBi(heads=2), PLACE, PLACE.half()),
            TypeError,
            "^key_positions must be integers, float32 or float64",
        ),
        (
            lambda: strided(ALiBi(heads=2), PLACE + torch.zeros(2, 1).long(), PLACE + torch.zeros(3, 1).long()),
            ValueError,
            r"^key_positions must have the batch of query_positions; got shapes \(2, 3\) and \(3, 3\)",
        ),
        (
            lambda: strided(ALiBi(heads=2), PLACE, PLACE.to("meta")),
            ValueError,
            "^key_positions must be on the device of query_positions, cpu",
        ),
        (lambda: strided(T5Bias(heads=2), PLACE, PLACE), ValueError, r"^params must hold what T5Bias learns"),
        (lambda: strided(ALiBi(heads=2), PLACE, PLACE, causal=1), TypeError, "^causal must be True or False; got 1"),
        (
            lambda: strided(ALiBi(heads=2), PLACE, PLACE, dtype=torch.int64),
            TypeError,
            "^dtype must be a floating dtype",
        ),
        (lambda: decode_row(RoPE(dim=8), PLACE[0], PLACE), TypeError, "^encoding must be an encoding that biases"),
        (lambda: decode_row(ALiBi(heads=2), 3, PLACE), TypeError, "^query_positions must be a tensor of positions"),
        (
            lambda: decode_row(ALiBi(heads=2), PLACE[None], PLACE),
            ValueError,
            r"^query_positions must have shape \(\) or \(batch,\)",
        ),
        (
            lambda: decode_row(ALiBi(heads=2), PLACE[0], PLACE[0]),
            ValueError,
            r"^key_positions must have shape \(n,\) or \(batch, n\)",
        ),
        (
            lambda: decode_row(ALiBi(heads=2), PLACE[:2], PLACE.expand(3, 3)),
            ValueError,
            r"^key_positions must have the batch of query_positions; got shapes \(2, 1\) and \(3, 3\)",
        ),
        (
            lambda: slopes(T5Bias(heads=2)),
            TypeError,
            "^encoding must be ALiBi, the one bias that a slope describes; got T5",
        ),
        (lambda: slopes(ALiBi(heads=2, form="signed")), ValueError, "^encoding must have form='symmetric'"),
    ],
)
def test_errors(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@dataclass(frozen=True)
class OnAGrid(AttentionBias):
    """-(head + 1)·(rows apart + 2·columns apart)."""

    claims: ClassVar[Any] = frozenset({"relative", "streaming", "unlimited", "fractional", "symmetric"})

    @property
    def axes(self) -> int:
        return 2

    def bias(
        self, head: Any, query_positions: Any, key_positions: Any, params: Any = None, *, dtype: Any = None
    ) -> Any:
        apart = (query_positions - key_positions).abs()
        return -(head + 1.0) * (apart[..., 0] + 2 * apart[..., 1])


def test_places_of_several_coordinates() -> None:
    encoding, key = OnAGrid(heads=2), torch.tensor([[0, 0], [0, 1], [1, 0]])
    row = decode_row(encoding, torch.tensor([[1, 0], [0, 1]]), key)
    assert row[:, :, 0].tolist() == [[[-1, -3, 0], [-2, -6, 0]], [[-2, 0, -3], [-4, 0, -6]]]
    assert torch.equal(decode_row(encoding, key[2], key), row[:1])
    with pytest.raises(ValueError, match=r"query_positions must have shape \(2,\) or \(batch, 2\); got \(3,\)"):
        decode_row(encoding, torch.arange(3), key)
    with pytest.raises(ValueError, match="encoding must be an encoding with one axis; got OnAGrid"):
        strided(encoding, key, key)
