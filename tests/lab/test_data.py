"""Random numbers of a run are apart, and what is blanked is asked for."""

import itertools

import numpy as np
import pytest

from posenc.lab import data

TOKENS = np.random.default_rng(0).integers(0, 50, 2000)


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
