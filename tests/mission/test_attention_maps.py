"""Row 23: the attention maps of one sentence, with and without an encoding, before and after training."""

import math

import numpy as np
import pytest

from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.rotates.rope import RoPE
from posenc.inspect import attention_map
from posenc.inspect.order import usual_encodings
from posenc.lab.word_roles import trained_attention
from posenc.plot import attention_map as draw


@pytest.mark.parametrize("encoding", [None, *usual_encodings(3)], ids=lambda encoding: type(encoding).__name__)
def test_an_untrained_map_of_every_kind_of_encoding(encoding):
    here, there = (attention_map(sentence, encoding) for sentence in ("Dog bites man", "Man bites dog"))
    np.testing.assert_allclose(here.weights.sum(-1), 1, atol=1e-15)
    rotated = there.weights[:, ::-1, ::-1]
    mirror = encoding is None or isinstance(encoding, ALiBi)
    assert bool(np.abs(here.weights - rotated).max() <= 1e-15) == mirror


def test_a_causal_map_looks_at_nothing_ahead():
    weights = attention_map("Dog bites man", causal=True).weights
    assert (np.triu(weights, 1) == 0).all()


def test_training_finds_who_bites_whom_only_with_an_order():
    """Agent and patient: 0.5 is a guess. 384 nouns or more are asked for: a guess stays within 0.5 ± 4/(2·√384)."""
    guess = 4 * 0.5 / math.sqrt(384)
    results = {
        name: trained_attention("Today dog bites man", encoding, steps=150)
        for name, encoding in (
            ("none", None),
            ("sinusoidal", Sinusoidal(dim=32)),
            ("rotary", RoPE(dim=16)),
            ("symmetric", ALiBi(heads=2)),
        )
    }
    assert results["sinusoidal"].accuracy > 0.95
    assert results["rotary"].accuracy > 0.95
    assert abs(results["none"].accuracy - 0.5) < guess
    assert abs(results["symmetric"].accuracy - 0.5) < guess
    rotary = results["rotary"]
    assert np.abs(rotary.after.weights - rotary.before.weights).max() > 0.2
    assert "after 150 steps of training" in rotary.after.lines()[0]


def test_the_picture_holds_the_weights():
    shown = attention_map("Dog bites man", RoPE(dim=8))
    axes = draw(shown)
    assert len(axes) == 2
    for ax, weights in zip(axes, shown.weights, strict=True):
        np.testing.assert_array_equal(np.asarray(ax.images[0].get_array()), weights)
