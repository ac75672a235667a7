"""Training learns, repeats itself, and treats every encoding alike."""

import itertools

import numpy as np
import pytest
import torch

from posenc import ALiBi, Learned, NoPE, RoPE, Sinusoidal, T5Bias
from posenc.lab.data import Corpus
from posenc.lab.experiment import Shape
from posenc.lab.models.transformer import Transformer
from posenc.lab.result import Progress
from posenc.lab.tour_plan import Candidate, TrainingOutcome, TrainingRecipe
from posenc.lab.tour_training import train_and_measure, train_on_text
from posenc.lab.train import schedule

SMALL = TrainingRecipe(
    steps=60, length=16, batch=8, rate=5e-3, warmup=5, windows=6, bins=4, sample=5, width=16, heads=2, layers=1
)
#: A text with a rule: each token follows from the one two before it.
RULED = np.array([(7 * (i // 2) + 3 * (i % 2)) % 20 for i in range(3000)])
CORPUS = Corpus(RULED[:2500], RULED[2500:], 20)


def trained(encoding, recipe=SMALL, lr_multiplier=1.0, causal=True):
    model = Transformer(Shape(20, 16, 2, 1, causal), [encoding], seed=0)
    return model, list(train_on_text(model, RULED, recipe, lr_multiplier=lr_multiplier))


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(
    "encoding",
    [NoPE(dim=16), Sinusoidal(dim=16), Learned(dim=16, length=16), RoPE(dim=8), ALiBi(heads=2), T5Bias(heads=2)],
)
def test_loss_falls(encoding, causal):
    _, curve = trained(encoding, causal=causal)
    assert [progress.step for progress in curve] == [10, 20, 30, 40, 50, 60]
    assert curve[-1].loss < curve[0].loss - 0.1


def test_every_learned_number_of_an_encoding_moves():
    before = (
        Transformer(Shape(20, 16, 2, 1), [T5Bias(heads=2, bidirectional=False)], seed=0)
        .stack.encodings[0]
        .params["table"]
    )
    after, _ = trained(T5Bias(heads=2, bidirectional=False))
    moved = (after.stack.encodings[0].params["table"] - before).abs().detach()
    assert (moved[:16] > 0).all()  # distances 0 … 15 occur in windows of 16
    assert (moved[20:] == 0).all()  # longer ones do not, and nothing decays


def test_pace_moves_the_encoding_faster():
    start = (
        Transformer(Shape(20, 16, 2, 1), [T5Bias(heads=2, bidirectional=False)], seed=0)
        .stack.encodings[0]
        .params["table"]
    )
    slow, fast = (
        trained(T5Bias(heads=2, bidirectional=False), lr_multiplier=lr_multiplier)[0] for lr_multiplier in (1.0, 10.0)
    )
    slow, fast = ((model.stack.encodings[0].params["table"] - start).abs().mean().item() for model in (slow, fast))
    assert fast > 3 * slow
    still, _ = trained(T5Bias(heads=2, bidirectional=False), lr_multiplier=0.0)
    assert torch.equal(still.stack.encodings[0].params["table"], start)


def outcome(candidate, recipe=SMALL):
    *progress, last = train_and_measure(candidate, CORPUS, recipe)
    assert isinstance(last, TrainingOutcome)
    assert tuple(progress) == last.curve
    return last


def test_the_same_seed_gives_the_same_numbers():
    first, again = (outcome(Candidate("rotary", RoPE(dim=8))) for _ in range(2))
    assert first.curve == again.curve
    assert first.sample == again.sample
    assert np.array_equal(first.losses, again.losses)
    other = outcome(Candidate("rotary", RoPE(dim=8)), TrainingRecipe(**{**vars(SMALL), "seed": 1}))
    assert other.curve != first.curve


def test_an_encoding_of_zeros_and_none_are_one_run():
    """The encoding is the only difference between candidates: take it away, and every number is the same."""
    bare = outcome(Candidate("none", NoPE(dim=16)))
    zero = outcome(Candidate("zero", Learned(dim=16, length=64, std=0.0), lr_multiplier=0.0))
    assert bare.curve == zero.curve
    assert bare.sample == zero.sample
    assert np.array_equal(bare.losses, zero.losses)
    assert (bare.learned, zero.learned, zero.parameters - bare.parameters) == (0, 1024, 1024)


def test_an_outcome_tells_losses_by_context():
    result = outcome(Candidate("rotary", RoPE(dim=8)))
    assert result.losses.shape == (6, 4)
    assert len(result.sample) == 5
    assert np.array_equal(result.at(1.0), result.losses[:, -1])
    assert np.array_equal(result.at(0.25), result.losses[:, 0])


def test_progress_tells_the_mean_since_the_last_time():
    recipe = TrainingRecipe(**{**vars(SMALL), "steps": 7})
    fine, coarse = (
        list(train_on_text(Transformer(Shape(20, 16, 2, 1), [NoPE(dim=16)]), RULED, recipe, every=n)) for n in (1, 5)
    )
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"steps": 0}, "steps must be an integer from 1"),
        ({"steps": 1, "seed": -1}, "seed must be an integer from 0"),
        ({"steps": 1, "rate": 0.0}, "rate must be a finite number above 0"),
        ({"steps": 1, "temperature": 0.0}, "temperature must be a finite number above 0"),
        ({"steps": 1, "bins": 7}, r"bins must divide length·reach=256; got 7\."),
    ],
)
def test_a_recipe_that_cannot_be_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        TrainingRecipe(**arguments)


def test_candidates_are_encodings():
    with pytest.raises(TypeError, match="encoding must be an encoding"):
        Candidate("none", None)
    assert Progress(1, 2.0) == Progress(1, 2.0)
