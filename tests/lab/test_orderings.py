"""Known orderings appear: what the lab says of encodings agrees with what is proved and published of them."""

import pytest

from posenc.lab.tasks.task_table import experiment
from posenc.lab.trial import run

pytestmark = pytest.mark.nightly


def accuracy(encoding, task, length, **changes):
    *_, result = run(experiment(encoding, task, **changes))
    return result.at(length).accuracy


def test_an_offset_needs_positions():
    """Without positions an encoder is a function of sets (Barbero et al. 2024, Prop. 5.2)."""
    assert accuracy("RoPE(dim=16)", "fixed-offset", 32) > 0.95
    assert accuracy("NoPE(dim=64)", "fixed-offset", 32) < 0.3


def test_a_table_learns_an_index():
    sizes = {"steps": 500, "test_lengths": (16, 32, 64)}
    assert accuracy("Learned(dim=64, length=128)", "absolute-index", 32, **sizes) > 0.9


def test_a_causal_mask_gives_order_to_a_decoder_without_positions():
    """Haviv et al. 2022, arXiv:2203.16634."""
    sizes = {"steps": 600, "test_lengths": (32,)}
    assert accuracy("NoPE(dim=64)", "first", 32, **sizes) > 0.9


def test_what_came_last_is_found_by_a_bias_beyond_the_training_length():
    sizes = {"steps": 600, "test_lengths": (32, 128)}
    assert accuracy("ALiBi(heads=4)", "last", 128, **sizes) > accuracy("Sinusoidal(dim=64)", "last", 128, **sizes) + 0.2


def test_words_are_put_in_another_order():
    *_, result = run(experiment("RoPE(dim=16)", "translation", steps=500))
    assert result.at(2).bleu > 90
    *_, result = run(experiment("NoPE(dim=64)", "translation", steps=500))
    assert result.at(2).bleu < 50
