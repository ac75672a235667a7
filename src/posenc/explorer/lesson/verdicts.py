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
from posenc.lab.tour_plan import TrainingOutcome, TrainingRecipe

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
    """Difference of losses (windows,) from those of the same windows."""
    difference = losses - base
    return Change(float(difference.mean()), float(difference.std(ddof=1) / np.sqrt(len(difference))))


def lengths(recipe: TrainingRecipe) -> tuple[int, ...]:
    """Context lengths that are named: the training length, twice that, the longest."""
    return tuple(sorted({recipe.length, min(2 * recipe.length, recipe.longest), recipe.longest}))


def at(outcome: TrainingOutcome, length: int, recipe: TrainingRecipe) -> np.ndarray:
    """Losses (windows,) with a context of so many tokens."""
    return outcome.at(length / recipe.longest)


def at_training_length(outcomes: Sequence[TrainingOutcome], recipe: TrainingRecipe) -> list[str]:
    """Ranking where training stopped, and the gain of the best encoding over none."""
    sound = _sound(outcomes)
    if not sound:
        return []
    worth = _worth(sound, recipe)
    return [_ranking(sound, recipe), *([worth] if worth else [])]


def beyond_training_length(outcomes: Sequence[TrainingOutcome], recipe: TrainingRecipe) -> list[str]:
    """Models that lose on longer texts, and those that do not."""
    sound, sentences = _sound(outcomes), []
    near, far = recipe.length, recipe.longest
    moved = {outcome.candidate.name: change(at(outcome, far, recipe), at(outcome, near, recipe)) for outcome in sound}
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


def _sound(outcomes: Sequence[TrainingOutcome]) -> list[TrainingOutcome]:
    """Outcomes that did not diverge."""
    return [outcome for outcome in outcomes if np.isfinite(outcome.losses).all()]


def _ranking(sound: Sequence[TrainingOutcome], recipe: TrainingRecipe) -> str:
    ordered = sorted(sound, key=lambda outcome: at(outcome, recipe.length, recipe).mean())
    listed = ", ".join(
        f"{outcome.candidate.name} {at(outcome, recipe.length, recipe).mean():.2f}" for outcome in ordered
    )
    best = ordered[0]
    level = [
        other.candidate.name
        for other in ordered[1:]
        if not change(at(other, recipe.length, recipe), at(best, recipe.length, recipe)).is_significant
    ]
    equal = f" Too near to the first to be told from it: {', '.join(level)}." if level else ""
    return (
        f"Loss on held-out text at the training length of {recipe.length} tokens, in nats a token, the best first: "
        f"{listed}.{equal}"
    )


def _worth(sound: Sequence[TrainingOutcome], recipe: TrainingRecipe) -> str | None:
    """Gain of the best encoding over none."""
    bare = next((outcome for outcome in sound if isinstance(outcome.candidate.encoding, NoPE)), None)
    others = [outcome for outcome in sound if outcome is not bare]
    if bare is None or not others:
        return None
    best = min(others, key=lambda outcome: at(outcome, recipe.length, recipe).mean())
    gain = change(at(bare, recipe.length, recipe), at(best, recipe.length, recipe))
    if not gain.is_significant or gain.mean < 0:
        return "No encoding beats none here, by a difference that counts: train longer (--steps)."
    return (
        f"Telling the model where each token stands gains {gain.mean:.2f} nats a token: {best.candidate.name} gives "
        f"the right token {np.exp(gain.mean):.2f} times the probability that the model without an encoding gives it "
        "(geometric mean)."
    )


def verdict(outcome: TrainingOutcome, outcomes: Sequence[TrainingOutcome], recipe: TrainingRecipe) -> str:
    """Result of one encoding, and the reason where it follows from its definition."""
    if not np.isfinite(outcome.losses).all():
        return "Diverged: its loss is no number any more. Try another seed or fewer steps."
    near, *further = lengths(recipe)
    base = at(outcome, near, recipe)
    sentences = [
        f"{base.mean():.2f} nats a token at the training length{_compared_with_none(outcome, outcomes, recipe)}."
    ]
    moves = [change(at(outcome, length, recipe), base) for length in further]
    for length, moved in zip(further, moves, strict=True):
        word = "no difference to be seen" if not moved.is_significant else "worse" if moved.mean > 0 else "better"
        sentences.append(f"The same tokens at {length // near}× that length: {moved}, {word}.")
    sentences.append(_reason(outcome, recipe, any(moved.is_significant and moved.mean > 0 for moved in moves)))
    return " ".join(part for part in sentences if part)


def _compared_with_none(outcome: TrainingOutcome, outcomes: Sequence[TrainingOutcome], recipe: TrainingRecipe) -> str:
    bare = next((other for other in outcomes if isinstance(other.candidate.encoding, NoPE)), outcome)
    if bare is outcome or not np.isfinite(bare.losses).all():
        return ""
    gain = change(at(outcome, recipe.length, recipe), at(bare, recipe.length, recipe))
    return f", {gain} compared with none" + ("" if gain.is_significant else " (no difference to be seen)")


def _reason(outcome: TrainingOutcome, recipe: TrainingRecipe, fell: bool) -> str:
    encoding = outcome.candidate.encoding
    last = recipe.length - 1
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
        return _untrained(encoding, recipe) if fell else ""
    return ""


def _untrained(encoding: T5Bias, recipe: TrainingRecipe) -> str:
    """Distance from which the buckets are those that no training window reaches."""
    buckets = encoding.bucket(-np.arange(recipe.longest))
    beyond = np.flatnonzero(~np.isin(buckets, buckets[: recipe.length]))
    if not len(beyond):
        return ""
    return f"Its numbers for distances from {beyond[0]} on were never trained: they are still those it was drawn with."
