"""Verdicts of the measured numbers in sentences: every claim is decided by a number that stands in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from posenc.encodings.adds.learned import Learned
from posenc.encodings.adds.nope import NoPE
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.biases.t5 import T5Bias
from posenc.encodings.rotates.rope import RoPE
from posenc.lab.experiment import Experiment
from posenc.lab.tour_plan import TourModel

#: A difference counts when it is twice its standard error over the held-out windows, and more than another seed may
#: make (nats).
SURE, LEAST = 2.0, 0.05


class Change(NamedTuple):
    """A mean difference of losses of the same tokens, and its standard error over windows."""

    mean: float
    error: float

    @property
    def is_significant(self) -> bool:
        return abs(self.mean) > max(SURE * self.error, LEAST)

    def __str__(self) -> str:
        return f"{self.mean:+.2f} ± {SURE * self.error:.2f}".replace("-", "−")


def change(losses: np.ndarray, base: np.ndarray) -> Change:
    """Compute the mean difference of `losses` from `base`, both (windows,), and its standard error."""
    difference = losses - base
    return Change(float(difference.mean()), float(difference.std(ddof=1) / np.sqrt(len(difference))))


def at_training_length(outcomes: Sequence[TourModel]) -> list[str]:
    """Rank the models at the training length, and state the gain of the best encoding over none, in sentences."""
    worth = _worth(outcomes)
    return [_ranking(outcomes), *([worth] if worth else [])]


def beyond_training_length(outcomes: Sequence[TourModel]) -> list[str]:
    """Models that lose on longer texts, and those that do not."""
    sentences = []
    near, far = (outcomes[0].experiment.test_lengths[end] for end in (0, -1))
    moved = {outcome.name: change(outcome.at(far), outcome.at(near)) for outcome in outcomes}
    worse = {
        name: moved[name]
        for name in sorted(moved, key=lambda name: -moved[name].mean)
        if moved[name].is_significant and moved[name].mean > 0
    }
    steady_names = [name for name in moved if name not in worse]
    if worse:
        listed = ", ".join(f"{name} ({gain})" for name, gain in worse.items())
        sentences.append(
            f"The same tokens at the end of {far} tokens instead of {near} cost more with: {listed} nats a token."
        )
    if steady_names:
        sentences.append(
            f"No loss to be seen from {near} to {far} tokens with: "
            f"{', '.join(f'{name} ({moved[name]})' for name in steady_names)}."
        )
    return sentences


def _ranking(outcomes: Sequence[TourModel]) -> str:
    length = outcomes[0].experiment.length
    ordered = sorted(outcomes, key=lambda outcome: outcome.at(length).mean())
    listed = ", ".join(f"{outcome.name} {outcome.at(length).mean():.2f}" for outcome in ordered)
    best = ordered[0]
    level = [other.name for other in ordered[1:] if not change(other.at(length), best.at(length)).is_significant]
    equal = f" Too near to the first to be told from it: {', '.join(level)}." if level else ""
    return (
        f"Loss on held-out text at the training length of {length} tokens, in nats a token, the best first: "
        f"{listed}.{equal}"
    )


def _worth(outcomes: Sequence[TourModel]) -> str | None:
    """Gain of the best encoding over none."""
    length = outcomes[0].experiment.length
    bare = next((outcome for outcome in outcomes if isinstance(outcome.encoding, NoPE)), None)
    others = [outcome for outcome in outcomes if outcome is not bare]
    if bare is None or not others:
        return None
    best = min(others, key=lambda outcome: outcome.at(length).mean())
    gain = change(bare.at(length), best.at(length))
    if not gain.is_significant or gain.mean < 0:
        return "No encoding beats none here, by a difference that counts: train longer (--steps)."
    return (
        f"Telling the model where each token stands gains {gain.mean:.2f} nats a token: {best.name} gives "
        f"the right token {np.exp(gain.mean):.2f} times the probability that the model without an encoding gives it "
        "(geometric mean)."
    )


def verdict(outcome: TourModel, outcomes: Sequence[TourModel]) -> str:
    """Result of one encoding, and the reason where it follows from its definition."""
    near, *further = outcome.experiment.test_lengths
    base = outcome.at(near)
    sentences = [f"{base.mean():.2f} nats a token at the training length{_compared_with_none(outcome, outcomes)}."]
    moves = [change(outcome.at(length), base) for length in further]
    for length, moved in zip(further, moves, strict=True):
        word = "no difference to be seen" if not moved.is_significant else "worse" if moved.mean > 0 else "better"
        sentences.append(f"The same tokens at {length // near}× that length: {moved}, {word}.")
    sentences.append(_reason(outcome, any(moved.is_significant and moved.mean > 0 for moved in moves)))
    return " ".join(part for part in sentences if part)


def _compared_with_none(outcome: TourModel, outcomes: Sequence[TourModel]) -> str:
    bare = next((other for other in outcomes if isinstance(other.encoding, NoPE)), outcome)
    if bare is outcome:
        return ""
    length = outcome.experiment.length
    gain = change(outcome.at(length), bare.at(length))
    return f", {gain} compared with none" + ("" if gain.is_significant else " (no difference to be seen)")


def _reason(outcome: TourModel, fell: bool) -> str:
    encoding = outcome.encoding
    last = outcome.experiment.length - 1
    if isinstance(encoding, NoPE):
        return (
            "It knows order only through the causal mask: a layer sees which tokens came before, not in what order, "
            "and only the next one can work out some of that."
        )
    if isinstance(encoding, Sinusoidal):
        return (
            f"Its vectors exist at every position, but those after {last} were never seen in training. The sources "
            "say that a fixed encoding carries on to longer texts; this run contradicts them."
            if fell
            else ""
        )
    if isinstance(encoding, Learned):
        rows = (
            f"Its table has {encoding.length} rows; every later token gets the last row (outside={encoding.outside!r})"
        )
        return rows + (", so it cannot tell those tokens apart." if fell else ".")
    if isinstance(encoding, RoPE):
        return f"It sees distances alone, but distances above {last} never occurred in training." if fell else ""
    if isinstance(encoding, ALiBi):
        return (
            "Its bias goes on in a straight line: "
            "the farther a token, the less it counts, and what training never showed counts least."
        )
    if isinstance(encoding, T5Bias):
        return _untrained(encoding, outcome.experiment) if fell else ""
    return ""


def _untrained(encoding: T5Bias, experiment: Experiment) -> str:
    """Sentence on the distance from which T5's buckets were never trained, as no training window reaches it; or ""."""
    buckets = encoding.bucket(-np.arange(experiment.test_lengths[-1]))
    beyond = np.flatnonzero(~np.isin(buckets, buckets[: experiment.length]))
    if not len(beyond):
        return ""
    return f"Its numbers for distances from {beyond[0]} on were never trained: they are still those it was drawn with."
