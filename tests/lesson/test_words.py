"""Every sentence about the models is decided by the numbers it states."""

import numpy as np
import pytest

from lesson.pretend_models import pretend_model, pretend_run
from posenc import ALiBi, Learned, NoPE, RoPE, Sinusoidal, T5Bias
from posenc.explorer.lesson.verdicts import at_training_length, beyond_training_length, change, verdict

RNG = np.random.default_rng(0)
#: How hard each window is, the same for every model: differences are paired.
HARD = RNG.standard_normal(50)


def findings(outcomes):
    return [*at_training_length(outcomes), *beyond_training_length(outcomes)]


def outcome(name, encoding, near, far, spread=0.01):
    """Losses near up to the training length (a quarter), far beyond, differing from window to window by little."""
    level = np.where(np.arange(16) < 4, near, far)
    losses = level + HARD[:, None] + spread * RNG.standard_normal((50, 16))
    return pretend_model(name, pretend_run(encoding), losses)


def test_a_change_is_paired_by_window():
    moved = change(HARD + 1.0 + 0.01 * (np.arange(50) % 2), HARD)
    assert moved.is_significant
    assert moved.error < 0.01 < HARD.std() / 50**0.5  # unpaired, it would be ten times as large
    assert not change(HARD + 0.3 * RNG.standard_normal(50), HARD).is_significant
    assert not change(HARD + 0.04, HARD).is_significant  # certain, and too small to outlast another seed
    assert str(change(HARD - 0.5, HARD)) == "−0.50 ± 0.00"


@pytest.mark.parametrize(
    ("near", "far", "said"),
    [(3.0, 3.5, "+0.50 ± 0.00, worse"), (3.0, 2.5, "−0.50 ± 0.00, better"), (3.0, 3.0, "no difference to be seen")],
)
def test_a_verdict_follows_the_numbers(near, far, said):
    text = verdict(outcome("rotary", RoPE(dim=16), near, far, spread=0.001), [])
    assert text.count(said) == 2
    assert f"{near + HARD.mean():.2f} nats a token" in text


@pytest.mark.parametrize(
    ("encoding", "reason"),
    [
        (Sinusoidal(dim=64), "those after 63 were never seen"),
        (Learned(dim=64, length=64, outside="clamp"), "cannot tell those tokens apart"),
        (RoPE(dim=16), "distances above 63 never occurred"),
        (T5Bias(heads=4, bidirectional=False), "distances from 67 on were never trained"),
    ],
)
def test_a_failure_has_a_reason_and_a_success_has_none(encoding, reason):
    assert reason in verdict(outcome("x", encoding, 3.0, 4.0), [])
    assert reason not in verdict(outcome("x", encoding, 3.0, 3.0), [])


def test_an_encoding_is_compared_with_none():
    none = outcome("none", NoPE(dim=64), 3.4, 3.6, spread=0.001)
    good, equal = (outcome("x", RoPE(dim=16), loss, 3.0, spread=0.001) for loss in (3.0, 3.39))
    assert "−0.40 ± 0.00 compared with none." in verdict(good, [none, good])
    assert "compared with none (no difference to be seen)" in verdict(equal, [none, equal])
    assert "compared with none" not in verdict(none, [none, good])


def test_the_findings_rank_and_group():
    said = " ".join(
        findings(
            [
                outcome("none", NoPE(dim=64), 3.5, 3.5, spread=0.001),
                outcome("rotary", RoPE(dim=16), 3.0, 4.0, spread=0.001),
                outcome("ALiBi", ALiBi(heads=4), 3.02, 3.02, spread=0.001),
            ],
        )
    )
    mean = HARD.mean()
    assert f"rotary {3 + mean:.2f}, ALiBi {3.02 + mean:.2f}, none {3.5 + mean:.2f}" in said
    assert "Too near to the first to be told from it: ALiBi." in said
    assert "gains 0.50 nats a token: rotary gives the right token 1.65 times" in said
    assert "cost more with: rotary (+1.00 ± 0.00) nats" in said
    assert "No loss to be seen from 64 to 256 tokens with: none (" in said


def test_no_gain_is_said_as_it_is():
    both = [outcome("none", NoPE(dim=64), 3.0, 3.0), outcome("rotary", RoPE(dim=16), 3.0, 3.0)]
    assert any("No encoding beats none here" in line for line in findings(both))
