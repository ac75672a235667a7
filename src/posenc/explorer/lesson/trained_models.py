"""Results of the small models: attention maps, losses, behaviour beyond the training length, generated text."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from typing import Any

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
    at_training_length,
    beyond_training_length,
    change,
    verdict,
)
from posenc.lab.data import seeds
from posenc.lab.tour_plan import TourModel, contexts
from posenc.lab.word_roles import HEAD_DIM, HEADS, WIDTH, trained_attention


def trained_models(outcomes: Sequence[TourModel], reading: Reading) -> dict[str, Any]:
    """Collect the results of the models trained so far, one or more, for the page."""
    one = outcomes[0].experiment
    shared = min(each.result.parameters - each.result.learned for each in outcomes)
    block, windows = one.test_lengths[0] // 4, len(outcomes[0].losses)
    return {
        "text": f"{reading.source}: {len(reading.text):,} characters, {reading.tokens:,} tokens",
        "setting": (
            f"Each is the same decoder: {one.layers} layers, {one.width} channels, {one.heads} heads, "
            f"{shared:,} parameters that all share, drawn from the same "
            f"seed. Each reads the same {one.steps} batches of {one.batch} windows of {one.length} tokens in "
            "the same order and learns to predict the next token. Only the encoding differs."
        ),
        "fairness": (
            f"The targets stay the same: the last {block} tokens of each of {windows} held-out windows "
            f"({block * windows:,} tokens). Only the text before them grows."
        ),
        "length": one.length,
        "lengths": list(one.test_lengths),
        "contexts": list(contexts(one)),
        "findings": at_training_length(outcomes),
        "beyond": beyond_training_length(outcomes),
        "prompt": reading.shown(reading.corpus.held_out[: one.length // 4].tolist()).strip("\n"),
        "models": [_model(each, outcomes, reading) for each in outcomes],
        "conditions": conditions(outcomes, reading),
    }


def _model(outcome: TourModel, outcomes: Sequence[TourModel], reading: Reading) -> dict[str, Any]:
    result, named = outcome.result, outcome.experiment.test_lengths
    inside = outcome.experiment.length - outcome.experiment.length // 4
    tokens = list(outcome.sample)
    changes = [change(outcome.at(n), outcome.at(named[0])) for n in named[1:]]
    return {
        "name": outcome.name,
        "encoding": short(outcome.encoding),
        "learned": result.learned,
        "curve": [[point.step for point in result.curve], rounded([point.loss for point in result.curve])],
        "losses": rounded(outcome.losses.mean(0)),
        "at": [f"{outcome.at(n).mean():.3f}" for n in named],
        "changes": [str(one) for one in changes],
        "outcome": _outcome_of(changes[-1].mean, changes[-1].is_significant),
        "verdict": verdict(outcome, outcomes),
        "sample": [reading.shown(tokens[:inside]), reading.shown(tokens[inside:])],
    }


def _outcome_of(mean: float, significant: bool) -> str:
    """Outcome that the reader is asked to predict: same, worse or better."""
    if not significant:
        return "same"
    return "worse" if mean > 0 else "better"


def conditions(outcomes: Sequence[TourModel], reading: Reading) -> list[str]:
    """Conditions that the numbers depend on, so that nobody takes them for more than they are."""
    multiples = [
        f"{each.name} {each.experiment.encoding_rate:g}× the model's" for each in outcomes if each.result.learned
    ]
    tables = [each.encoding for each in outcomes if isinstance(each.encoding, Learned)]
    one = outcomes[0].experiment
    seen = one.steps * one.batch * one.length / len(reading.corpus.train)
    lines = [
        f"One seed ({one.seed}). Another seed moves every loss by some hundredths; the ± is the spread over "
        f"held-out text and knows nothing of that. This page calls nothing below {LEAST:g} a difference.",
        f"{one.steps} steps of {one.batch * one.length:,} tokens, {seen:.1f} times through the training text. "
        "Orderings can change with budget: what learns fastest is not always best in the end.",
        f"AdamW (0.9, 0.98), peak learning rate {one.rate:g} after {one.warmup} steps, cosine to a tenth, "
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
        f"{seeds(one.seed)}; Python {platform.python_version()}; "
        f"{sum(each.result.seconds for each in outcomes):.0f} seconds of processor time for {len(outcomes)} models. "
        "The same command on the same machine gives the same numbers.",
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
    """Attention weights (heads, query, key) of both sentences before and after training, and the role accuracy."""
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
