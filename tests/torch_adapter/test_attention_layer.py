"""posenc.torch.Attention: a layer with projections, any encodings and a cache."""

import copy

import pytest
import torch

import posenc
from every import every
from posenc import attention as reference
from posenc.core.doors import AdditiveEncoding
from posenc.torch import Attention, attention, module, shared_bias

RECORDS = [
    encoding
    for row in posenc.CATALOG
    for encoding in row.samples[:1]
    if not isinstance(encoding, AdditiveEncoding)
    and encoding.axes == 1
    and "value" not in getattr(encoding, "roles", ())
]


def layer_for(encoding, **more):
    """A layer of the heads and the width that the encoding asks for, in float64."""
    torch.manual_seed(5)
    heads = getattr(encoding, "heads", None) or 4
    width = getattr(encoding, "head_dim", None) or getattr(encoding, "dim", None) or 8
    more = {"key_heads": 2 if heads == 4 else None, "head_dim": width, "causal": True} | more
    return Attention(getattr(encoding, "model_dim", 24), heads, encodings=[encoding], **more).double()


def inputs(layer, tokens, dtype=torch.float64):
    return torch.randn(2, tokens, layer.model_dim, generator=torch.Generator().manual_seed(tokens), dtype=dtype)


def close(got, want, tolerance=1e-11):
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    assert ((got - want).abs() <= tolerance * max(1.0, want.abs().max().item())).all()


def test_a_layer_is_its_projections_around_the_reference():
    layer = layer_for(posenc.RoPE(dim=6), window=(3, 0), bias=True, scale=0.3)
    x = inputs(layer, 7)
    q, k, v = (part(x).reshape(2, 7, -1, 6) for part in (layer.query, layer.key, layer.value))
    place = torch.arange(7)
    near = (place <= place[:, None]) & (place >= place[:, None] - 3)
    attended = reference.attention(
        q,
        k,
        v,
        query_positions=place,
        key_positions=place,
        layout="bthd",
        encodings=[posenc.RoPE(dim=6)],
        mask=near,
        scale=0.3,
    )
    close(layer(x), layer.out(attended.output.flatten(2)))


def test_decoding_with_a_cache_gives_what_the_whole_sequence_does():
    def check(encoding):
        layer = layer_for(encoding)
        x, parts, cache = inputs(layer, 9), [], None
        with torch.no_grad():
            whole = layer(x)
            for start, stop in ((0, 4), (4, 5), (5, 8), (8, 9)):
                output, cache = layer.step(x[:, start:stop], cache)
                parts.append(output)
        close(torch.cat(parts, 1), whole)

    every(RECORDS, check)


def test_positions_of_each_row_follow_those_of_its_cache():
    layer, x = layer_for(posenc.ALiBi(heads=4)), torch.zeros(2, 3, 24, dtype=torch.float64)
    _, cache = layer.step(x, positions=torch.tensor([[0, 1, 2], [5, 6, 7]]))
    _, cache = layer.step(x, cache)
    assert cache.key_positions.tolist() == [[0, 1, 2, 3, 4, 5], [5, 6, 7, 8, 9, 10]]
    _, cache = layer.step(x[:, :1], cache, torch.tensor([11]))
    assert cache.key_positions[:, -1].tolist() == [11, 11]


def test_what_is_learned_trains_and_is_saved():
    shared = module(posenc.T5Bias(heads=4))
    first = Attention(32, 4, encodings=[posenc.RoPE(dim=8), shared], key_heads=2, causal=True)
    second = Attention(32, 4, encodings=[shared, posenc.CoPE(dim=8)])
    assert first.encodings[1] is second.encodings[0]
    names = {"query.weight", "key.weight", "value.weight", "out.weight", "encodings.1.table"}
    assert set(first.state_dict()) == names
    model = torch.nn.ModuleList([first, second])
    x = torch.randn(2, 7, 32)
    second(first(x)).square().mean().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
    copied = copy.deepcopy(model)
    copied.load_state_dict(model.state_dict())
    assert copied[0](x).equal(first(x))


def test_bfloat16_and_a_compiled_program():
    layer = Attention(32, 4, encodings=[posenc.RoPE(dim=8), posenc.ALiBi(heads=4)], key_heads=2, causal=True)
    x = torch.randn(2, 7, 32)
    with torch.no_grad():
        want = layer(x)
        close(torch.compile(layer, backend="eager", fullgraph=True)(x), want, 1e-5)
        got = copy.deepcopy(layer).bfloat16()(x.bfloat16())
    # Weights, inputs, projections, attention and output are rounded to eight bits once each.
    close(got.float(), want, 2.0**-4)


def test_padding_and_documents_reach_attention():
    layer = layer_for(posenc.RoPE(dim=6))
    x = inputs(layer, 6)
    number = torch.tensor([0, 0, 0, 1, 1, 1])
    packed = layer(x, torch.tensor([0, 1, 2, 0, 1, 2]), documents=(number, number))
    close(packed[:, 3:], layer(x[:, 3:]))
    real = torch.ones(2, 1, 1, 6, dtype=torch.bool)
    real[..., :2] = False
    close(layer(x, mask=real)[:, 2:], layer(x[:, 2:]))  # RoPE is relative


NONSENSE = [
    ({"heads": 5}, ValueError, "head_dim must be given where 5 heads do not divide model_dim=32"),
    ({"key_heads": 3}, ValueError, "key_heads must divide heads, 4; got 3"),
    ({"encodings": posenc.RoPE(dim=8)}, TypeError, "encodings must be a list"),
    ({"encodings": [posenc.Sinusoidal(dim=32)]}, TypeError, "encodings must act inside attention; got Sinusoidal"),
    ({"dropout": 2.0}, ValueError, "dropout must be a finite number"),
    ({"causal": 1}, TypeError, "causal must be"),
    ({"encodings": [posenc.RoPE(dim=32)]}, ValueError, "encodings must have the head width of q, 8; got RoPE(dim=32"),
    ({"encodings": [posenc.ALiBi(heads=8)]}, ValueError, "encodings must have as many heads as q, 4; got ALiBi(heads"),
]


@pytest.mark.parametrize(("change", "error", "message"), NONSENSE, ids=[next(iter(c)) for c, _, _ in NONSENSE])
def test_nonsense_is_refused(change, error, message):
    with pytest.raises(error) as caught:
        Attention(**({"model_dim": 32, "heads": 4} | change))
    assert str(caught.value).startswith(message)


def test_inputs_and_positions_are_checked():
    layer = Attention(32, 4, encodings=[posenc.RoPE(dim=8)])
    with pytest.raises(ValueError, match=r"^x must have shape \(batch, n, 32\)"):
        layer(torch.zeros(2, 32))
    with pytest.raises(ValueError, match=r"^positions must have shape \(3,\) or \(2, 3\), a position for each token"):
        layer(torch.zeros(2, 3, 32), torch.arange(4))
    grid = Attention(8, 1, encodings=[posenc.axial("sam2", dim=8)])
    with pytest.raises(ValueError, match=r"^positions must be given for encodings of 2 coordinates"):
        grid(torch.zeros(1, 4, 8))


@pytest.mark.parametrize("encoding", [posenc.RoPE(dim=8), posenc.PaTH(dim=8, heads=4, model_dim=32)], ids=repr)
def test_a_step_takes_the_sequences_of_its_cache(encoding):
    layer, x = Attention(32, 4, encodings=[encoding], causal=True), torch.zeros(2, 3, 32)
    _, cache = layer.step(x)
    with pytest.raises(ValueError, match=r"^x must have the batch of cache, 2; got 1\. Give both for the same"):
        layer.step(x[:1], cache)


@pytest.mark.parametrize("encoding", [posenc.Shaw(dim=8), posenc.FIRE(heads=4), posenc.RoPE(dim=8)], ids=repr)
def test_an_empty_batch_gives_an_empty_output(encoding):
    layer = Attention(32, 4, encodings=[encoding], causal=True)
    for tokens in (5, 64):
        output = layer(torch.zeros(0, tokens, 32, requires_grad=True))
        assert output.shape == (0, tokens, 32)
        output.sum().backward()
        with torch.no_grad():
            assert layer(torch.zeros(0, tokens, 32)).shape == (0, tokens, 32)


def test_an_empty_batch_has_gradients_in_strides_and_a_shared_bias():
    x, at = torch.zeros(0, 2, 5, 4, requires_grad=True), torch.arange(5)
    given = {"query_positions": at, "key_positions": at, "encodings": [module(posenc.T5Bias(heads=2))]}
    attention(x, x, x, **given, layout="bhtd", impl="strided").sum().backward()
    assert x.grad.shape == x.shape
    none = at.expand(0, 5)
    with torch.no_grad():
        assert shared_bias([module(posenc.FIRE(heads=2))], none, none).matrix.shape == (0, 2, 5, 5)


def test_a_layer_is_built_without_a_position():
    """XPos refuses position 0 where its centre is far away."""
    assert Attention(32, 4, encodings=[posenc.XPos(dim=8, centre=32768)]).caches_rotated


def test_positions_of_steps_join_in_any_form_and_neither_wrap_nor_round():
    layer, x = Attention(32, 4, encodings=[posenc.RoPE(dim=8)], causal=True), torch.randn(2, 3, 32)
    _, cache = layer.step(x, positions=torch.arange(3)[None])
    assert layer.step(x[:, :1], cache, torch.tensor([[3], [3]]))[1].key_positions.tolist() == [[0, 1, 2, 3]] * 2
    for last in (torch.tensor([255], dtype=torch.uint8), torch.tensor([2.0**24])):
        _, cache = layer.step(x[:, :1], positions=last)
        assert layer.step(x[:, :1], cache)[1].key_positions.tolist() == [last.item(), last.item() + 1]
