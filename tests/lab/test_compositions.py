"""Models with several encodings, other ones in each layer, positions for each row, padding and a source."""

import re

import numpy as np
import pytest
import torch

from posenc import (
    ALiBi,
    ForgettingGate,
    Learned,
    NoPE,
    RoPE,
    Sinusoidal,
    T5Bias,
    TransformerXL,
    ValueRotation,
    axial,
)
from posenc.attention import attention
from posenc.compose import PerLayer
from posenc.lab.encodings import encoding_parts, read_encodings
from posenc.lab.experiment import Shape
from posenc.lab.models.transformer import DecoderCache, Transformer

DECODER = Shape(vocabulary=40, width=24, heads=3, layers=2)
ENCODER = Shape(vocabulary=40, width=24, heads=3, layers=2, causal=False)
BOTH = Shape(vocabulary=40, width=24, heads=3, layers=2, reads_source=True)
MIXED = [
    [RoPE(dim=8), ALiBi(heads=3)],
    [Sinusoidal(dim=24), RoPE(dim=8), T5Bias(heads=3)],
    [RoPE(dim=8), ValueRotation(RoPE(dim=8, base=100.0))],
    [RoPE(dim=8), TransformerXL(dim=8, heads=3, model_dim=24), ALiBi(heads=3)],
    [PerLayer((RoPE(dim=8), None)), PerLayer((None, ALiBi(heads=3)))],
    [ForgettingGate(heads=3, model_dim=24)],
]
TOKENS = torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5], [2, 7, 1, 8, 2, 8, 1, 8, 2, 8, 4]])
# Two float32 layers of width 24 on logits of size about 1: some hundred roundings of 6e-8 each.
CLOSE = {"rtol": 0, "atol": 2e-5}
mixed = pytest.mark.parametrize("encodings", MIXED, ids=lambda encodings: "+".join(type(r).__name__ for r in encodings))


@mixed
def test_several_encodings_act_as_the_reference_attention_says(encodings):
    """The first layer, at positions of its own for each row, some of them repeated."""
    model = Transformer(DECODER, encodings, seed=1)
    gathers = any(getattr(encoding, "gathers", False) for encoding in encodings)  # these refuse repeated positions
    positions = torch.stack([torch.arange(11) // (1 if gathers else 2), torch.arange(11) * 3 + 2])
    block, modules = model.stack.blocks[0], {each.encoding: each for each in model.stack.encodings}
    inside = [modules[encoding] for encoding in model.stack.layers[0]]
    with torch.no_grad():
        x = model.embedding[TOKENS] * 24**0.5
        for each in model.stack.added:
            x = each.encoding.attach(x, positions, each.params)
        q, k, v = ((block.norms[0](x) @ block.project).reshape(2, -1, 3, 3, 8)[:, :, part] for part in range(3))
        reads = next((r.reads for r in model.stack.layers[0] if getattr(r, "reads", None)), None)
        attended = attention(
            q, k, v, query_positions=positions, key_positions=positions, layout="bthd", causal=True,
            encodings=[each.encoding for each in inside], params=[each.params for each in inside],
            hidden=block.norms[0](x) if reads else None,
        )  # fmt: skip
        seen = []
        block.register_forward_hook(lambda *call: seen.append(call[2]))
        model(TOKENS, positions)
        expected = x + attended.output.reshape(x.shape) @ block.mix
        expected = expected + torch.nn.functional.gelu(block.norms[1](expected) @ block.up) @ block.down
    assert torch.allclose(seen[0], expected, **CLOSE)


@mixed
def test_a_decoder_with_a_cache_is_the_whole_pass(encodings):
    model, positions = Transformer(DECODER, encodings, seed=2), torch.stack([torch.arange(11), torch.arange(11) + 4])
    with torch.no_grad():
        whole, cache = model(TOKENS, positions), DecoderCache()
        pairs = zip(TOKENS.split([5, 1, 2, 3], 1), positions.split([5, 1, 2, 3], 1), strict=True)
        parts = [model(tokens, where, cache) for tokens, where in pairs]
    assert torch.allclose(torch.cat(parts, 1), whole, **CLOSE)


def test_layers_without_an_encoding_have_none_and_equal_encodings_share_what_they_learn():
    first, second = T5Bias(heads=3), RoPE(dim=8)
    model = Transformer(DECODER, [PerLayer((first, second))], seed=0)
    assert model.stack.layers == ((first,), (second,))
    shared = Transformer(DECODER, [first], seed=0)
    assert [parameter.shape for parameter in shared.encoding_parameters()] == [(32, 3)]
    one = Transformer(DECODER, [PerLayer((second, None))], seed=0)
    both = Transformer(DECODER, [second], seed=0)
    with torch.no_grad():
        assert not torch.allclose(one(TOKENS), both(TOKENS), **CLOSE)


@pytest.mark.parametrize("encodings", [[RoPE(dim=8)], [T5Bias(heads=3)], [Sinusoidal(dim=24)]])
def test_padding_changes_nothing_that_is_read(encodings):
    encoder, model = Transformer(ENCODER, encodings, seed=3), Transformer(BOTH, encodings, seed=3)
    visible = torch.tensor([[True] * 11, [True] * 7 + [False] * 4])
    with torch.no_grad():
        padded = encoder(TOKENS, visible=visible)
        assert torch.allclose(padded[1, :7], encoder(TOKENS[1:, :7])[0], **CLOSE)
        assert torch.allclose(padded[:1], encoder(TOKENS[:1]), **CLOSE)
        target = TOKENS[:, :5]
        logits = model(target, memory=model.read(TOKENS, visible=visible), visible=visible)
        alone = model(target[1:], memory=model.read(TOKENS[1:, :7]))
        assert torch.allclose(logits[1:], alone, **CLOSE)


def test_a_decoder_reads_the_whole_source_and_no_later_target():
    model = Transformer(BOTH, [RoPE(dim=8)], seed=4)
    changed = TOKENS.clone()
    changed[:, -1] = 0
    with torch.no_grad():
        logits = model(TOKENS, memory=model.read(TOKENS))
        assert not torch.allclose(model(TOKENS, memory=model.read(changed)), logits, **CLOSE)
        assert torch.allclose(model(changed, memory=model.read(TOKENS))[:, :-1], logits[:, :-1], **CLOSE)
        memory, cache = model.read(TOKENS), DecoderCache()
        steps = [model(part, cache=cache, memory=memory) for part in TOKENS.split([4, 1, 6], 1)]
        assert torch.allclose(torch.cat(steps, 1), logits, **CLOSE)
    with pytest.raises(ValueError, match="source must be left out for a model without an encoder"):
        Transformer(DECODER, [], seed=0).read(TOKENS)


def test_float_positions_and_grids_are_positions_too():
    rotating = Transformer(ENCODER, [RoPE(dim=8)], seed=5)
    grid = torch.from_numpy(np.stack([np.arange(11) // 4, np.arange(11) % 4], -1))
    on_grid = Transformer(ENCODER, [axial(dim=8)], seed=5)
    with torch.no_grad():
        halves = rotating(TOKENS, torch.arange(11) / 2)
        assert not torch.allclose(halves, rotating(TOKENS), **CLOSE)
        assert torch.allclose(on_grid(TOKENS, grid + 7), on_grid(TOKENS, grid), rtol=0, atol=1e-4)
        assert not torch.allclose(on_grid(TOKENS, grid.flip(-1)), on_grid(TOKENS, grid), **CLOSE)


def test_a_text_names_any_number_of_encodings(tmp_path):
    size = {"width": 24, "heads": 3, "layers": 2}
    assert encoding_parts("Sinusoidal(dim=24, layout='a+b') +ALiBi(heads=3)") == [
        "Sinusoidal(dim=24, layout='a+b')",
        "ALiBi(heads=3)",
    ]
    found = read_encodings("NoPE(dim=24) + PerLayer(layers=(RoPE(dim=8), None))", **size)
    assert found.added == (NoPE(dim=24),)
    assert found.inside == ((RoPE(dim=8),), ())
    mine = tmp_path / "mine.py"
    mine.write_text("from posenc import ALiBi, Learned\nclass Mine(ALiBi): pass\nTABLE = Learned(dim=24, length=9)\n")
    assert read_encodings(f"{mine}:Mine", **size).encodings[0].heads == 3
    assert read_encodings(f"{mine}:TABLE + RoPE(dim=8)", **size).encodings == (Learned(dim=24, length=9), RoPE(dim=8))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("RoPE(dim=8) +", "encoding must be a name with its fields in brackets; got ''"),
        ("Linear(factor=2.0)", "encoding must be an encoding; got .* which is Linear"),
        ("PerLayer(layers=(RoPE(dim=8),))", "encoding must have a layer for each of 2; got a schedule of 1"),
        ("PerLayer(layers=(NoPE(dim=24), None))", "encoding must be added at the input, not in a layer"),
        ("nowhere.py:Mine", "target must name a file that exists; got 'nowhere.py'"),
        (3, "encoding must be the text of an encoding"),
    ],
)
def test_a_text_that_names_none_is_refused(text, message):
    with pytest.raises((ValueError, TypeError), match=message):
        read_encodings(text, width=24, heads=3, layers=2)


def test_a_class_with_fields_of_its_own_is_named_with_its_numbers(tmp_path):
    mine = tmp_path / "mine.py"
    mine.write_text("from posenc import Learned as Table\n")
    message = "encoding must be an encoding where Learned has other fields to fill: length. Write MINE = Learned(...)"
    with pytest.raises(ValueError, match=re.escape(message)):
        read_encodings(f"{mine}:Table", width=24, heads=3, layers=2)
