"""Attention with any encoding, compiled and exported for fixed lengths and for any, gives what the plain call gives."""

import warnings

import pytest
import torch

import posenc
from posenc.core.doors import AdditiveEncoding, RotaryEncoding
from posenc.testing.checks.tracing import SIZES, compiled_equals_exported_equals_plain
from posenc.testing.one_coordinate import spread_over_axes
from posenc.torch import attention, module

LENGTHS = (6, 9)
ENCODINGS = [row.samples[0] for row in posenc.CATALOG if not isinstance(row.samples[0], AdditiveEncoding)]
DAILY = "ALiBi"


def drawn(encoding, length):
    """Queries, keys, values, positions and, where it is read, the input of the layer."""
    draw = torch.Generator().manual_seed(length)
    heads = getattr(encoding, "heads", None) or 2
    width = encoding.head_dim if isinstance(encoding, RotaryEncoding) else getattr(encoding, "dim", 8)
    q, k, v = torch.randn(3, 2, heads, length, width, generator=draw).unbind()
    at = spread_over_axes(encoding, torch.arange(length))
    if getattr(encoding, "reads", None) is None:
        return q, k, v, at
    count = encoding.hidden_length(length, length)
    return q, k, v, at, torch.randn(2, count, encoding.model_dim, generator=draw)


class Attends(torch.nn.Module):
    def __init__(self, encoding, **options):
        super().__init__()
        self.held, self.options = module(encoding, seed=1), {"causal": True} | options

    def forward(self, q, k, v, at, hidden=None):
        return attention(
            q, k, v, query_positions=at, key_positions=at, encodings=[self.held], hidden=hidden,
            layout="bhtd", **self.options,
        )  # fmt: skip


def programs(layer, encoding):
    """The ways in which a compiler takes lengths, each with a program for them and the lengths that it serves."""
    for name, dynamic in SIZES.items():
        torch.compiler.reset()
        yield name, torch.compile(layer, fullgraph=True, backend="aot_eager", dynamic=dynamic), LENGTHS
    yield "exported", torch.export.export(layer, drawn(encoding, LENGTHS[0])).module(), LENGTHS[:1]


@pytest.mark.parametrize(
    "encoding",
    [
        pytest.param(each, marks=() if type(each).__name__ == DAILY else pytest.mark.nightly, id=type(each).__name__)
        for each in ENCODINGS
    ],
)
def test_compiled_exported_and_plain_attention_agree(encoding):
    layer = Attends(encoding).eval()
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        for name, program, lengths in programs(layer, encoding):
            for length in lengths:
                given = drawn(encoding, length)
                if name == "marked":
                    for x, axis in zip(given, (2, 2, 2, 0, 1), strict=False):
                        torch._dynamo.mark_dynamic(x, axis)
                got, want = program(*given), layer(*given)
                # A few dozen products of float32 numbers below 4, in another order of sums.
                assert (got - want).abs().max() <= 64 * 2.0**-24 * max(1.0, want.abs().max()), (name, length)


@pytest.mark.parametrize(
    "options",
    [{}, {"sliding_window": 8}, pytest.param({"causal": False, "window": (3, 3)}, marks=pytest.mark.nightly)],
    ids=["causal", "sliding window", "window"],
)
@pytest.mark.parametrize(
    "encoding",
    [posenc.ALiBi(heads=2), pytest.param(posenc.RoPE(dim=8), marks=pytest.mark.nightly)],
    ids=lambda encoding: type(encoding).__name__,
)
def test_a_program_takes_every_length_from_two(encoding, options):
    """Also those below its window."""
    layer, length = Attends(encoding, **options).eval(), torch.export.Dim("length", min=2, max=64)
    axes = {"q": {2: length}, "k": {2: length}, "v": {2: length}, "at": {0: length}}
    with torch.no_grad():
        program = torch.export.export(layer, drawn(encoding, 6), dynamic_shapes=axes).module()
        for length in (2, 3, 8, 9, 64):
            given = drawn(encoding, length)
            want = layer(*given)
            assert (program(*given) - want).abs().max() <= 64 * 2.0**-24 * max(1.0, want.abs().max()), length


@pytest.mark.nightly
def test_a_sample_of_the_nightly_check_passes():
    compiled_equals_exported_equals_plain.run(posenc.ALiBi(heads=2))
