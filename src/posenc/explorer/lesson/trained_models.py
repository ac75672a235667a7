"""Results of the small models: attention maps, losses, behaviour beyond the training length, generated text."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from typing import Any

import numpy as np

from posenc.core.doors import Encoding
from posenc.core.text_lines import short
from posenc.encodings.adds.learned import Learned
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.biases.t5 import T5Bias
from posenc.encodings.rotates.rope import RoPE
from posenc.explorer.lesson.reading import Reading
from posenc.explorer.lesson.rounded import rounded
from posenc.explorer.lesson.verdicts import (
    LEAST,
    at,
    at_training_length,
    beyond_training_length,
    change,
    lengths,
    verdict,
)
from posenc.lab.data import seeds
from posenc.lab.tour_plan import TrainingOutcome, TrainingRecipe
from posenc.lab.word_roles import HEAD_DIM, HEADS, WIDTH, trained_attention


def trained_models(outcomes: Sequence[TrainingOutcome], recipe: TrainingRecipe, reading: Reading) -> dict[str, Any]:
    """Part of the page that waits for training; the same as far as it goes while some are missing."""
    block = recipe.longest // recipe.bins
    windows = len(outcomes[0].losses)
    return {
        "text": f"{reading.source}: {len(reading.text):,} characters, {reading.tokens:,} tokens",
        "setting": (
            f"Each is the same decoder: {recipe.layers} layers, {recipe.width} channels, {recipe.heads} heads, "
            f"{min(one.parameters - one.learned for one in outcomes):,} parameters that all share, drawn from the same "
            f"seed. Each reads the same {recipe.steps} batches of {recipe.batch} windows of {recipe.length} tokens in "
            "the same order and learns to predict the next token. Only the encoding differs."
        ),
        "fairness": (
            f"The targets stay the same: the last {block} tokens of each of {windows} held-out windows "
            f"({block * windows:,} tokens). Only the text before them grows."
        ),
        "length": recipe.length,
        "lengths": list(lengths(recipe)),
        "contexts": [block * (index + 1) for index in range(recipe.bins)],
        "findings": at_training_length(outcomes, recipe),
        "beyond": beyond_training_length(outcomes, recipe),
        "prompt": reading.shown(reading.corpus.held_out[: recipe.length // 4].tolist()).strip("\n"),
        "models": [_model(one, outcomes, recipe, reading) for one in outcomes],
        "conditions": conditions(outcomes, recipe, reading),
    }


def _model(
    outcome: TrainingOutcome, outcomes: Sequence[TrainingOutcome], recipe: TrainingRecipe, reading: Reading
) -> dict[str, Any]:
    named = lengths(recipe)
    inside = recipe.length - recipe.length // 4
    tokens = list(outcome.sample)
    finite = bool(np.isfinite(outcome.losses).all())
    changes = [change(at(outcome, n, recipe), at(outcome, named[0], recipe)) for n in named[1:]] if finite else []
    return {
        "name": outcome.candidate.name,
        "encoding": short(outcome.candidate.encoding),
        "learned": outcome.learned,
        "curve": [[point.step for point in outcome.curve], rounded([point.loss for point in outcome.curve])],
        "losses": rounded(outcome.losses.mean(0)) if finite else None,
        "at": [f"{at(outcome, n, recipe).mean():.3f}" for n in named],
        "changes": [str(one) for one in changes],
        "outcome": _outcome_of(changes[-1].mean, changes[-1].is_significant) if changes else "diverged",
        "verdict": verdict(outcome, outcomes, recipe),
        "sample": [reading.shown(tokens[:inside]), reading.shown(tokens[inside:])],
    }


def _outcome_of(mean: float, significant: bool) -> str:
    """Outcome that the reader is asked to predict: same, worse or better."""
    if not significant:
        return "same"
    return "worse" if mean > 0 else "better"


def conditions(outcomes: Sequence[TrainingOutcome], recipe: TrainingRecipe, reading: Reading) -> list[str]:
    """Conditions that the numbers depend on, so that nobody takes them for more than they are."""
    multiples = [
        f"{one.candidate.name} {one.candidate.lr_multiplier:g}× the model's" for one in outcomes if one.learned
    ]
    tables = [one.candidate.encoding for one in outcomes if isinstance(one.candidate.encoding, Learned)]
    seen = recipe.steps * recipe.batch * recipe.length / len(reading.corpus.train)
    lines = [
        f"One seed ({recipe.seed}). Another seed moves every loss by some hundredths; the ± is the spread over "
        f"held-out text and knows nothing of that. This page calls nothing below {LEAST:g} a difference.",
        f"{recipe.steps} steps of {recipe.batch * recipe.length:,} tokens, {seen:.1f} times through the training text. "
        "Orderings can change with budget: what learns fastest is not always best in the end.",
        f"AdamW (0.9, 0.98), peak learning rate {recipe.rate:g} after {recipe.warmup} steps, cosine to a tenth, "
        "gradients clipped at norm 1, no dropout; one rate for all, tuned for none.",
        f"The encoding's own parameters have their own learning rate: {', '.join(multiples)}. At the model's rate a T5 "
        "bias hardly moves in so few steps and looks like no encoding."
        if multiples
        else "",
        f"A learned table has no rows beyond its length. What happens there is a policy, here "
        f"outside={tables[0].outside!r}; the library's default is an error."
        if tables
        else "",
        "A decoder: its causal mask tells order even without an encoding. In an encoder, “none” would be a bag of "
        "words.",
        f"{seeds(recipe.seed)}; Python {platform.python_version()}; {sum(one.seconds for one in outcomes):.0f} seconds "
        f"of processor time for {len(outcomes)} models. The same command on the same machine gives the same numbers.",
    ]
    return [line for line in lines if line]


#: The sentence has a word in front, so that no position gives a role away.
SENTENCES = ("Today dog bites man", "Today man bites dog")
LEARNERS: tuple[tuple[str, Encoding | None], ...] = (
    ("no encoding", None),
    ("sinusoidal", Sinusoidal(dim=WIDTH)),
    ("learned", Learned(dim=WIDTH, length=16)),
    ("rotary", RoPE(dim=HEAD_DIM)),
    ("ALiBi", ALiBi(heads=HEADS)),
    ("T5", T5Bias(heads=HEADS)),
)


def learned_maps(name: str, encoding: Encoding | None, steps: int, seed: int) -> dict[str, Any]:
    """Weights (heads, query, key) of both sentences before and after training, and the share of right roles."""
    trained = [trained_attention(sentence, encoding, steps=steps, seed=seed) for sentence in SENTENCES]
    return {
        "name": name,
        "encoding": "" if encoding is None else short(encoding),
        "steps": steps,
        "accuracy": trained[0].accuracy,
        "words": [list(one.after.words) for one in trained],
        "before": [rounded(one.before.weights) for one in trained],
        "after": [rounded(one.after.weights) for one in trained],
    }
