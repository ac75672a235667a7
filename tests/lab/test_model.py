"""The transformer opens every door as the reference attention does, and keeps what its encoding claims."""

import math

import numpy as np
import pytest
import torch

from posenc import (
    ALiBi,
    Learned,
    NoPE,
    PerLayer,
    RoPE,
    Scaled,
    Shaw,
    Sinusoidal,
    T5Bias,
    TransformerXL,
    XPos,
)
from posenc.attention import attention
from posenc.lab.experiment import Shape
from posenc.lab.models.transformer import DecoderCache, Transformer

DECODER = Shape(vocabulary=40, width=24, heads=3, layers=2)
ENCODER = Shape(vocabulary=40, width=24, heads=3, layers=2, causal=False)
INSIDE = [
    RoPE(dim=8),
    ALiBi(heads=3),
    T5Bias(heads=3),
    Shaw(dim=8, clip=4),
    TransformerXL(dim=8, heads=3, model_dim=24),
]
ADDED = [NoPE(dim=24), Sinusoidal(dim=24), Learned(dim=24, length=64)]
TOKENS = torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5], [2, 7, 1, 8, 2, 8, 1, 8, 2, 8, 4]])
# Two float32 layers of width 24 on logits of size about 1: some hundred roundings of 6e-8 each.
CLOSE = {"rtol": 0, "atol": 2e-5}

names = pytest.mark.parametrize("encoding", INSIDE + ADDED)


def name(encoding):
    return type(encoding).__name__


@pytest.mark.parametrize("shape", [DECODER, ENCODER], ids=["decoder", "encoder"])
@names
def test_forward_is_the_reference_attention_in_every_layer(encoding, shape):
    model = Transformer(shape, [encoding], seed=1)
    positions = torch.arange(TOKENS.shape[1]) + 2
    with torch.no_grad():
        x = model.embedding[TOKENS] * math.sqrt(24)
        params = model.stack.encodings[0].params
        inside = encoding in INSIDE
        x = x if inside else encoding.attach(x, positions, params)
        for block in model.stack.blocks:
            q, k, v = ((block.norms[0](x) @ block.project).reshape(2, -1, 3, 3, 8)[:, :, part] for part in range(3))
            attended = attention(
                q, k, v, query_positions=positions, key_positions=positions, layout="bthd", causal=shape.causal,
                encodings=[encoding] if inside else [], params=[params] if inside else [],
            )  # fmt: skip
            x = x + attended.output.reshape(x.shape) @ block.mix
            x = x + torch.nn.functional.gelu(block.norms[1](x) @ block.up) @ block.down
        expected = torch.nn.functional.layer_norm(x, (24,)) @ model.embedding[:40].T
        assert torch.allclose(model(TOKENS, positions), expected, **CLOSE)


def test_an_encoding_that_is_named_twice_acts_twice_and_layers_keep_their_order():
    def logits(*encodings, stretch=1):
        with torch.no_grad():
            return Transformer(DECODER, encodings, seed=1)(TOKENS, torch.arange(TOKENS.shape[1]) * stretch)

    for one in (ALiBi(heads=3), RoPE(dim=8)):  # twice a distance has twice the bias, and twice the angle
        assert torch.allclose(logits(one, one), logits(one, stretch=2), **CLOSE)
        assert not torch.allclose(logits(one), logits(one, stretch=2), **CLOSE)
    table = Sinusoidal(dim=24)
    assert torch.allclose(logits(table, table), logits(Scaled(table, 2.0)), **CLOSE)
    twice = Transformer(DECODER, [T5Bias(heads=3), T5Bias(heads=3)])
    assert len(twice.encoding_parameters()) == 1, "equal encodings share what they learn"
    first, second = RoPE(dim=8), XPos(dim=8)
    swapped = [PerLayer((first, second)), PerLayer((second, first))]
    model = Transformer(DECODER, swapped)
    placed = [[each.encoding for each in layer] for layer in model.stack.inside]
    assert placed == [[first, second], [second, first]]


@names
def test_a_decoder_with_a_cache_is_the_whole_pass(encoding):
    model = Transformer(DECODER, [encoding], seed=2)
    with torch.no_grad():
        whole, cache = model(TOKENS), DecoderCache()
        parts = [model(part, cache=cache) for part in TOKENS.split([5, 1, 1, 3, 1], 1)]
        assert torch.allclose(torch.cat(parts, 1), whole, **CLOSE)
        assert cache.positions.tolist() == list(range(11))


@names
def test_the_last_places_alone_are_those_of_the_whole_pass(encoding):
    model = Transformer(DECODER, [encoding], seed=2)
    with torch.no_grad():
        assert torch.allclose(model(TOKENS, last=3), model(TOKENS)[:, -3:], **CLOSE)


@names
def test_logits_move_with_the_positions_unless_the_encoding_is_relative(encoding):
    model = Transformer(DECODER, [encoding], seed=3)
    places = torch.arange(11)
    with torch.no_grad():
        moved = (model(TOKENS, places + 40) - model(TOKENS, places)).abs().max()
    if "relative" in encoding.claims:
        assert moved < CLOSE["atol"]
    else:
        assert moved > 1e-3


@names
def test_an_encoder_follows_a_permutation_only_without_an_encoding(encoding):
    model = Transformer(ENCODER, [encoding], seed=4)
    order = torch.from_numpy(np.random.default_rng(0).permutation(11))
    with torch.no_grad():
        moved = (model(TOKENS[:, order]) - model(TOKENS)[:, order]).abs().max()
    if isinstance(encoding, NoPE):
        assert moved < CLOSE["atol"]
    else:
        assert moved > 1e-3


def test_a_decoder_sees_no_later_token():
    model = Transformer(DECODER, [RoPE(dim=8)], seed=5)
    changed = TOKENS.clone()
    changed[:, 6:] = 0
    with torch.no_grad():
        assert torch.allclose(model(changed)[:, :6], model(TOKENS)[:, :6], **CLOSE)
        assert not torch.allclose(model(changed)[:, 6:], model(TOKENS)[:, 6:], **CLOSE)


def test_models_that_differ_in_encoding_begin_with_the_same_weights():
    models = [Transformer(DECODER, [encoding], seed=6) for encoding in INSIDE + ADDED]
    first = {key: value for key, value in models[0].named_parameters() if not key.startswith("stack.encodings.")}
    for model in models:
        shared = {key: value for key, value in model.named_parameters() if not key.startswith("stack.encodings.")}
        assert shared.keys() == first.keys()
        assert all(torch.equal(shared[key], first[key]) for key in first)
    assert not torch.equal(Transformer(DECODER, [NoPE(dim=24)], seed=7).embedding, models[0].embedding)


def test_a_learned_table_has_an_end():
    model = Transformer(DECODER, [Learned(dim=24, length=10)], seed=0)
    with pytest.raises(ValueError, match=r"positions must be from 0 to 9"):
        model(TOKENS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"vocabulary": 1}, "vocabulary must be an integer from 2"),
        ({"vocabulary": 9, "width": 10, "heads": 4}, r"heads must divide width=10; got 4\."),
        ({"vocabulary": 9, "layers": 0}, "layers must be an integer from 1"),
        ({"vocabulary": 9, "causal": 1}, "causal must be True or False"),
    ],
)
def test_a_shape_that_cannot_be_is_refused(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Shape(**arguments)
