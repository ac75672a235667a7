"""Order blindness: what is compared with what, and errors."""

import numpy as np
import pytest

from posenc.compose import Concatenated, Sum
from posenc.encodings.adds.count import Count
from posenc.encodings.adds.learned import Learned
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.rotates.rope import RoPE
from posenc.inspect import input_sum, order_blindness
from posenc.inspect.order import embedding
from posenc.learn import ERRATA, errata

DOG = ("Dog bites man", "Man bites dog")


def test_a_word_has_one_embedding_wherever_it_stands():
    assert np.array_equal(embedding("dog", 8), embedding("dog", 8))
    assert not np.array_equal(embedding("dog", 8), embedding("god", 8))
    assert not np.array_equal(embedding("dog", 8), embedding("dog", 8, seed=1))
    assert np.array_equal(embedding("löwe", 8), embedding("löwe", 8))


def test_the_same_sentence_twice_differs_in_nothing():
    for encoding in (None, Sinusoidal(dim=8), RoPE(dim=4), ALiBi(heads=3)):
        assert order_blindness(DOG[0], DOG[0], encoding).largest == 0.0


def test_the_seed_changes_the_amounts_and_not_the_verdict():
    first, second = (order_blindness(*DOG, RoPE(dim=4), seed=seed) for seed in (0, 1))
    assert first.largest != second.largest
    assert not first.blind
    assert not second.blind
    assert all(order_blindness(*DOG, seed=seed).blind for seed in range(20))


def test_words_in_one_sentence_only_are_named_and_left_out():
    seen = order_blindness("the dog bites the man", "man bites dog today")
    assert seen.alone == ("the", "today")
    assert [word.word for word in seen.words] == ["dog", "bites", "man"]
    assert not seen.blind  # another set of words
    assert "In one of them only: the, today." in seen.lines()


def test_repeated_words_are_matched_in_their_order():
    seen = order_blindness("a b a", "a a b")
    assert [(word.word, word.here, word.there) for word in seen.words] == [("a", 0, 0), ("b", 1, 2), ("a", 2, 1)]


def test_narrow_vectors_are_appended_and_wide_ones_added():
    assert order_blindness(*DOG, Count()).encoding == Concatenated(Count())
    assert order_blindness(*DOG, Sinusoidal(dim=8)).encoding == Sinusoidal(dim=8)
    assert not order_blindness(*DOG, Concatenated(Sinusoidal(dim=8)), dim=6).blind


def test_given_parameters_are_used():
    encoding = Sum((Sinusoidal(dim=4), Learned(dim=4, length=3)))
    drawn = order_blindness(*DOG, encoding)
    given = order_blindness(*DOG, encoding, params={"1.table": np.zeros((3, 4))})
    assert drawn.largest != given.largest
    assert given.largest == pytest.approx(order_blindness(*DOG, Sinusoidal(dim=4)).largest, rel=1e-12)


def test_no_words_in_common():
    seen = order_blindness("a b", "c d")
    assert (seen.words, seen.largest) == ((), 0.0)


@pytest.mark.parametrize(
    ("arguments", "options", "kind", "message"),
    [
        ((3, "a"), {}, TypeError, "sentence must be a sentence; got 3"),
        (("a", ""), {}, ValueError, "other's number of words must be an integer from 1"),
        (("a", "b", "RoPE"), {}, TypeError, "encoding must be an encoding, or None"),
        (("a", "b", Sinusoidal(dim=8)), {"dim": 6}, ValueError, "dim must be the width of the encoding, 8; got 6"),
        (("a", "b"), {"dim": 0}, ValueError, "dim must be an integer from 1"),
        (("a", "b"), {"causal": 1}, TypeError, "causal must be True or False"),
        (("a", "b"), {"seed": 0.5}, TypeError, "seed must be an integer"),
    ],
)
def test_bad_questions(arguments, options, kind, message):
    with pytest.raises(kind, match=message):
        order_blindness(*arguments, **options)


def test_errata_name_a_source_and_differ_from_what_is_right():
    for entry in ERRATA:
        assert entry.printed != entry.correct
        assert any(source in entry.source for source in ("lecture", "article", "lesson", "notes", "chapter"))
        if entry.position is not None:
            assert entry in errata(entry.encoding, entry.position, entry.dimension)


def test_a_name_keeps_its_capital_and_the_first_word_of_a_sentence_does_not():
    shown = [word.word for word in order_blindness("Ann met Bob at home", "At home Bob met Ann").words]
    assert shown == ["Ann", "met", "Bob", "at", "home"]
    assert order_blindness("Rohan killed the lion", "lion killed the Rohan").words[0].word == "Rohan"
    assert [word.word for word in order_blindness("Dog bites man", "Man bites dog").words] == ["dog", "bites", "man"]
    assert input_sum("Ann met Bob", Sinusoidal(dim=8)).words == ("Ann", "met", "Bob")
    drawn = [input_sum(text, Sinusoidal(dim=8)).embeddings for text in ("Ann met", "ann met")]
    np.testing.assert_array_equal(*drawn)
