"""Row 1: self-attention has no order; an encoding, or a causal mask, gives it one."""

import numpy as np
import pytest

from posenc import CATALOG
from posenc.encodings.adds.fourier_features import FourierFeatures
from posenc.encodings.adds.nope import NoPE
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.biases.fire import FIRE
from posenc.encodings.rotates.temperature import LogNTemperature, StepTemperature
from posenc.inspect import order_blindness

CAT = ("The cat sat on the mat", "The mat sat on the cat")
DOG = ("Dog bites man", "Man bites dog")
LION = ("Rohan killed the lion", "lion killed the Rohan")
PAIRS = (CAT, DOG, LION)
#: Six words, sixteen channels, values of size 3: 22 roundings of 2^-52 · 3 come to 1.5e-14.
ROUNDING = 1.5e-14


@pytest.mark.parametrize("pair", PAIRS)
def test_without_an_encoding_every_word_has_one_output_in_both_orders(pair):
    seen = order_blindness(*pair)
    assert seen.blind
    assert max(word.amount for word in seen.words) <= ROUNDING
    assert [word.shown for word in seen.words] == ["0.0"] * len(pair[0].split())
    assert "The outputs are the same in both orders: self-attention sees a set." in seen.lines()


@pytest.mark.parametrize("pair", PAIRS)
def test_a_causal_mask_alone_tells_the_order(pair):
    seen = order_blindness(*pair, causal=True)
    assert not seen.blind
    assert seen.largest > 0.1
    assert any("causal mask tells the order" in line for line in seen.lines())


def spoken(sample):
    """Drawn parameters for a sample whose own begin as zeros, which say nothing; None for the others."""
    begun = sample.init(np.random.default_rng(0))
    if not begun or any(value.any() for value in begun.values()):
        return None
    return {name: np.random.default_rng(1).standard_normal(value.shape) for name, value in begun.items()}


def comes_back(sample, seen):
    """Octaves of half revolutions, made for coordinates in [-1, 1], are alike at positions an even number apart."""
    octaves = isinstance(sample, FourierFeatures) and sample.spacing == "octaves" and not sample.coordinate
    return octaves and all((word.here - word.there) % 2 == 0 for word in seen.words)


def untempered(sample, seen):
    """A temperature sharpens the rows of places past a length, and tells nothing of those before."""
    if not isinstance(sample, LogNTemperature | StepTemperature):
        return False
    last = max(word.here for word in seen.words) + sample.start
    return last <= sample.length if isinstance(sample, LogNTemperature) else last < sample.floor


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("row", CATALOG)
def test_each_encoding_tells_the_order_by_a_printed_amount_unless_it_is_symmetric_and_the_other_a_mirror(row, pair):
    for sample in row.samples:
        seen = order_blindness(*pair, sample, params=spoken(sample))
        # FIRE looks at distances alone, and in both directions alike, for queries below its threshold.
        mirror = pair is DOG and ("symmetric" in sample.claims or isinstance(sample, FIRE))
        blind = isinstance(sample, NoPE) or untempered(sample, seen) or comes_back(sample, seen)
        assert seen.blind == (mirror or blind)
        printed = [line.split()[-1] for line in seen.lines()[2 : 2 + len(seen.words)]]
        assert printed == [word.shown for word in seen.words]
        if not seen.blind:
            assert max(float(amount) for amount in printed) > 1e-4


def test_a_symmetric_bias_takes_a_sentence_for_its_mirror_image():
    seen = order_blindness(*DOG, ALiBi(heads=8))
    assert [(word.word, word.shown) for word in seen.words] == [("dog", "0.0"), ("bites", "0.0"), ("man", "0.0")]
    assert any("mirror image" in line for line in seen.lines())
    assert not order_blindness(*DOG, ALiBi(heads=8), causal=True).blind
    assert not order_blindness(*LION, ALiBi(heads=8)).blind


def test_a_word_as_far_from_both_that_changed_places_keeps_its_output_under_a_symmetric_bias():
    """ "on" stands two words from both "cat" and "mat", in either order."""
    seen = order_blindness(*CAT, ALiBi(heads=8))
    assert [word.word for word in seen.words if word.same] == ["on"]


def test_the_word_that_stands_there_twice_is_compared_in_order():
    seen = order_blindness(*CAT, ALiBi(heads=8))
    assert [(word.here, word.there) for word in seen.words if word.word == "the"] == [(0, 0), (4, 4)]
    assert any("first with first" in line for line in seen.lines())


def test_the_blind_output_is_that_of_plain_softmax_attention():
    """The claim is about attention itself: the same in a few lines that use nothing of posenc."""
    rng = np.random.default_rng(3)
    words = rng.standard_normal((3, 8))
    q, k, v = (words @ rng.standard_normal((8, 8)) for _ in range(3))

    def attend(order):
        weights = np.exp(q[order] @ k[order].T / np.sqrt(8))
        return weights / weights.sum(axis=1, keepdims=True) @ v[order]

    np.testing.assert_allclose(attend([2, 1, 0])[::-1], attend([0, 1, 2]), rtol=1e-13)
    assert attend([0, 1, 2]).shape == (3, 8)
