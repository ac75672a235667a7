"""Row 22: a recurrence and a convolution distinguish word orders without an encoding; attention does not."""

import numpy as np
import pytest

from posenc.inspect import order_by_architecture

PAIRS = (
    ("Dog bites man", "Man bites dog"),
    ("The cat sat on the mat", "The mat sat on the cat"),
    ("Rohan killed the lion", "lion killed the Rohan"),
)


@pytest.mark.parametrize("pair", PAIRS)
def test_only_attention_gives_every_word_the_same_output_in_both_orders(pair):
    recurrence, convolution, attention = order_by_architecture(*pair)
    assert attention.blind
    assert [word.shown for word in attention.words] == ["0.0"] * len(pair[0].split())
    for architecture in (recurrence, convolution):
        assert not architecture.blind
        assert max(word.amount for word in architecture.words) > 0.1
        assert architecture.lines()[0] == f"{architecture.architecture} distinguishes the orders"


def test_the_outputs_are_those_of_each_formula():
    """By hand: the last state reads every word, the middle of three reads its neighbours, on its own side each."""
    recurrence, convolution, attention = order_by_architecture("Dog bites man", "Man bites dog")
    assert recurrence.here.shape == convolution.here.shape == attention.here.shape == (3, 16)
    # "dog" is the first word of the one and the last of the other: without a past its state knows itself alone.
    assert {word.word for word in recurrence.words if not word.same} == {"dog", "bites", "man"}
    same = order_by_architecture("Dog bites man", "Dog bites man")
    assert all(one.blind for one in same)


def test_a_convolution_sees_no_further_than_its_neighbours():
    """What lies outside a word's window changes nothing: "a b" and "b a" far to the right do not reach the first."""
    _, convolution, _ = order_by_architecture("one two three four a b", "one two three four b a")
    amounts = {word.word: word.same for word in convolution.words}
    assert (amounts["one"], amounts["two"], amounts["three"]) == (True, True, True)
    assert not amounts["four"]
    np.testing.assert_array_equal(convolution.here[:3], convolution.there[:3])
