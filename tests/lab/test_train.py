"""Training learns, and treats every encoding alike."""

import itertools

import numpy as np
import pytest
import torch

from lab.small_text import on_text, ruled_text
from posenc import ALiBi, Learned, NoPE, RoPE, Sinusoidal, T5Bias
from posenc.lab import trial
from posenc.lab.prepare import prepare
from posenc.lab.train import schedule


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return ruled_text(tmp_path_factory.mktemp("text"))


def trained(encoding, text, *, every=10, **changes):
    *curve, last = trial.train_trial(on_text(encoding, text, **changes), every=every)
    assert tuple(curve) == last.curve
    return last


@pytest.mark.parametrize("task", ["character-lm", "masked-lm"])
@pytest.mark.parametrize(
    "encoding",
    [NoPE(dim=16), Sinusoidal(dim=16), Learned(dim=16, length=16), RoPE(dim=8), ALiBi(heads=2), T5Bias(heads=2)],
)
def test_loss_falls(encoding, task, text):
    curve = trained(encoding, text, task=task).curve
    assert [progress.step for progress in curve] == [10, 20, 30, 40, 50, 60]
    assert curve[-1].loss < curve[0].loss - 0.1


def t5_table(text, **changes):
    """The table of a T5 bias before and after training."""
    experiment = on_text(T5Bias(heads=2, bidirectional=False), text, **changes)
    before = prepare(experiment).model.stack.encodings[0].params["table"].detach()
    after = trained(T5Bias(heads=2, bidirectional=False), text, **changes).trial.model
    return before, after.stack.encodings[0].params["table"].detach()


def test_every_learned_number_of_an_encoding_moves(text):
    before, after = t5_table(text)
    moved = (after - before).abs()
    assert (moved[:16] > 0).all()  # distances 0 … 15 occur in windows of 16
    assert (moved[20:] == 0).all()  # longer ones do not, and nothing decays


def test_its_own_rate_moves_an_encoding_faster(text):
    pairs = [t5_table(text, encoding_rate=rate) for rate in (1.0, 10.0, 0.0)]
    slow, fast, still = ((after - before).abs().mean().item() for before, after in pairs)
    assert fast > 3 * slow
    assert still == 0.0


def test_an_encoding_of_zeros_and_none_are_one_run(text):
    """The encoding is the only difference between runs: take it away, and every number is the same."""
    zeros = Learned(dim=16, length=64, std=0.0)
    bare = trial.result_of(trained(NoPE(dim=16), text, test_lengths=(16, 32)))
    zero = trial.result_of(trained(zeros, text, test_lengths=(16, 32), encoding_rate=0.0))
    assert (bare.curve, bare.scores, bare.by_context) == (zero.curve, zero.scores, zero.by_context)
    assert bare.sample == zero.sample != ""
    assert (bare.learned, zero.learned, zero.parameters - bare.parameters) == (0, 1024, 1024)


def test_progress_tells_the_mean_since_the_last_time(text):
    fine, coarse = (trained(NoPE(dim=16), text, steps=7, every=n).curve for n in (1, 5))
    assert [progress.step for progress in coarse] == [5, 7]
    # Sums of at most five Python floats in another order.
    assert coarse[0].loss == pytest.approx(np.mean([progress.loss for progress in fine[:5]]), rel=1e-12)
    assert coarse[1].loss == pytest.approx(np.mean([progress.loss for progress in fine[5:]]), rel=1e-12)


def test_the_schedule_rises_then_falls_to_a_tenth():
    shares = [schedule(step, 100, 10) for step in range(1, 101)]
    assert shares[9] == max(shares) == 1.0
    assert shares[0] == 0.1
    assert all(a > b for a, b in itertools.pairwise(shares[9:]))
    assert shares[-1] == pytest.approx(0.1, abs=1e-12)
    assert schedule(1, 1, 50) <= 1.0


@pytest.fixture(autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
