"""torch.func through attention: gradients, maps over parameters and over content, and maps of gradients, against plain
calls one by one. Sequences are longer than a tile of queries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.func import functional_call, grad, stack_module_state, vmap

from every import every
from posenc import (
    FIRE,
    ALiBi,
    CoPE,
    DeBERTa,
    ForgettingGate,
    KerpleLog,
    LearnedRoPE,
    PaTH,
    RoPE,
    Shaw,
    T5Bias,
    TransformerXL,
)
from posenc.core.doors import AttentionBias
from posenc.torch import attention, module
from samples import SAMPLES

HEADS, TOKENS, DIM, MODEL = 4, 70, 8, 12
AT = torch.arange(TOKENS)
ENCODINGS = (
    T5Bias(heads=HEADS),
    KerpleLog(heads=HEADS),
    FIRE(heads=HEADS),
    TransformerXL(dim=DIM, heads=HEADS, model_dim=MODEL),
    DeBERTa(dim=DIM, heads=HEADS, buckets=8, max_distance=20),
    CoPE(dim=DIM),
    ForgettingGate(heads=HEADS, model_dim=MODEL),
    PaTH(dim=DIM, heads=HEADS, model_dim=MODEL),
    Shaw(dim=DIM),
    LearnedRoPE(dim=DIM),
)


class Layer(torch.nn.Module):
    def __init__(self, encoding: Any) -> None:
        super().__init__()
        self.inside = module(encoding, seed=0)

    def forward(self, q: Any, k: Any, v: Any, hidden: Any) -> Any:
        reads = getattr(self.inside.encoding, "reads", None)
        more = {"hidden": torch.cat([hidden, hidden], 1) if reads == "both" else hidden} if reads else {}
        places = {"query_positions": AT, "key_positions": AT, "causal": True, "layout": "bhtd"}
        return attention(q, k, v, encodings=[self.inside], **places, **more)


def layers(encoding: Any) -> list[Layer]:
    """Three layers with parameters of their own."""
    made, generator = [Layer(encoding) for _ in range(3)], torch.Generator().manual_seed(1)
    for layer in made:
        for parameter in layer.parameters():
            parameter.data.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    return made


def content(rows: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(2)
    shapes = [(rows, 1, HEADS, TOKENS, DIM)] * 3 + [(rows, 1, TOKENS, MODEL)]
    return [torch.randn(shape, generator=generator) for shape in shapes]


def close(got: Any, want: Any) -> None:
    torch.testing.assert_close(got, want, rtol=2e-4, atol=2e-5)


def slopes(layer: Layer, inputs: list[Any]) -> dict[str, Any]:
    """Gradients of the parameters by the ordinary backward pass."""
    found = torch.autograd.grad(layer(*inputs).square().sum(), tuple(layer.parameters()))
    return dict(zip(dict(layer.named_parameters()), found, strict=True))


def check_transforms(encoding: Any) -> None:
    three, rows = layers(encoding), content(2)
    first = [x[0] for x in rows]
    params = {name: value.detach() for name, value in three[0].named_parameters()}
    stacked = {name: value.detach() for name, value in stack_module_state(three)[0].items()}

    def call(params: Any, *inputs: Any) -> Any:
        return functional_call(three[0], params, inputs)

    def loss(params: Any, *inputs: Any) -> Any:
        return call(params, *inputs).square().sum()

    over_layers, over_rows = (0, None, None, None, None), (None, 0, 0, 0, 0)
    close(call(params, *first), three[0](*first))
    close(grad(loss)(params, *first), slopes(three[0], first))
    with torch.no_grad():
        close(vmap(call, over_layers)(stacked, *first), torch.stack([layer(*first) for layer in three]))
        close(vmap(call, over_rows)(params, *rows), torch.stack([three[0](*(x[i] for x in rows)) for i in range(2)]))
    of_layers, of_rows = vmap(grad(loss), over_layers)(stacked, *first), vmap(grad(loss), over_rows)(params, *rows)
    for index, layer in enumerate(three):
        close({name: value[index] for name, value in of_layers.items()}, slopes(layer, first))
    for index in range(2):
        want = slopes(three[0], [x[index] for x in rows])
        close({name: value[index] for name, value in of_rows.items()}, want)


@pytest.mark.filterwarnings("ignore:There is a performance drop")  # of torch, about its fused attention under vmap
def test_torch_func_goes_through_attention_with_a_learned_bias() -> None:
    check_transforms(KerpleLog(heads=HEADS))


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_torch_func_goes_through_attention_with_every_kind_of_learned_encoding() -> None:
    every(ENCODINGS, check_transforms)


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_torch_func_maps_content_of_encodings_without_parameters() -> None:
    def check(encoding: Any) -> None:
        layer, rows = Layer(encoding), content(2)
        want = torch.stack([layer(*(x[i] for x in rows)) for i in range(2)])
        close(vmap(layer)(*rows), want)

    every([RoPE(dim=DIM), ALiBi(heads=HEADS)], check)


BIASES = tuple(sample for sample in SAMPLES if isinstance(sample, AttentionBias))


def biases_of_heads(encoding: AttentionBias, through: Any) -> list[torch.Tensor]:
    """Biases (3, 3) of the first head, and of those before the first and behind the last, with heads unread."""
    at = torch.arange(3).reshape(3, *[1] * (encoding.axes > 1)).expand(3, *[encoding.axes] * (encoding.axes > 1))
    params = {name: torch.as_tensor(value) for name, value in encoding.init(np.random.default_rng(0)).items()} or None

    def bias(head: Any) -> Any:
        return encoding.bias(head, at[:, None], at[None], params)

    (first, *others), want = through(bias)(torch.tensor([0, -1, encoding.heads])), bias(torch.tensor(0))
    close(first.expand(3, 3), want.expand(3, 3))
    return others


def test_a_head_that_does_not_exist_gives_nan_under_vmap() -> None:
    def check(encoding: AttentionBias) -> None:
        assert all(bool(one.isnan().all()) for one in biases_of_heads(encoding, vmap))

    every(BIASES, check)


@pytest.mark.parametrize("encoding", [ALiBi(heads=2), T5Bias(heads=2)])
def test_a_head_that_does_not_exist_gives_nan_in_compiled_code(encoding: AttentionBias) -> None:
    def compiled(bias: Any) -> Any:
        program = torch.compile(bias, fullgraph=True, backend="aot_eager")
        return lambda heads: program(heads[:, None, None]).expand(3, 3, 3)

    assert all(bool(one.isnan().all()) for one in biases_of_heads(encoding, compiled))
