"""What a model reads is the same for every encoding, and targets are what comes next."""

import itertools

import numpy as np
import pytest

from posenc.lab import data

TOKENS = np.random.default_rng(0).integers(0, 50, 2000)


def test_batches_depend_on_their_seed_alone():
    first, again, other = (list(data.batches(TOKENS, 8, 4, 5, seed)) for seed in (1, 1, 2))
    assert all(
        np.array_equal(a, b) for one, two in zip(first, again, strict=True) for a, b in zip(one, two, strict=True)
    )
    assert not np.array_equal(first[0][0], other[0][0])
    assert not np.array_equal(first[0][0], first[1][0])


def test_targets_are_the_next_tokens():
    numbers = np.arange(100)
    for inputs, targets in data.batches(numbers, 7, 3, 20, 0):
        assert inputs.shape == targets.shape == (3, 7)
        assert np.array_equal(targets, inputs + 1)
        assert np.array_equal(np.diff(inputs, axis=1), np.ones((3, 6)))


def test_batches_reach_both_ends():
    seen = np.concatenate([targets for _, targets in data.batches(np.arange(12), 10, 8, 20, 0)]).ravel()
    inputs = np.concatenate([inputs for inputs, _ in data.batches(np.arange(12), 10, 8, 20, 0)]).ravel()
    assert seen.max() == 11
    assert inputs.min() == 0


def test_the_held_out_part_is_the_end_and_never_trained_on():
    corpus = data.split(TOKENS, 50, longest=64)
    assert np.array_equal(np.concatenate([corpus.train, corpus.held_out]), TOKENS)
    assert len(corpus.held_out) == 200


def test_a_short_text_holds_out_enough_for_the_longest_context():
    corpus = data.split(TOKENS[:300], 50, longest=64)
    assert len(corpus.held_out) == 96
    with pytest.raises(ValueError, match=r"text must give at least 192 tokens; got 191\."):
        data.split(TOKENS[:191], 50, longest=64)


def test_streams_of_a_seed_are_apart():
    streams = [data.seeds(seed) for seed in range(20)]
    numbers = list(itertools.chain.from_iterable((s.weights, s.batches, s.samples) for s in streams))
    assert len(set(numbers)) == 60
    with pytest.raises(ValueError, match="seed must be an integer from 0"):
        data.seeds(-1)


def test_masked_hides_what_it_asks_for():
    inputs = TOKENS.reshape(-1, 10)
    blanked, targets = data.masked(inputs, 50, np.random.default_rng(0))
    hidden = targets != -100
    assert np.array_equal(blanked[hidden], np.full(hidden.sum(), 50))
    assert np.array_equal(blanked[~hidden], inputs[~hidden])
    assert np.array_equal(targets[hidden], inputs[hidden])
    assert hidden.any(axis=1).all()
    assert 0.15 < hidden.mean() < 0.35  # 15%, and one a row for certain
