"""Scores of a trained model at each test length, on the same sequences for equal tasks and seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from posenc.lab.models.example import Example
from posenc.lab.models.generate import greedy
from posenc.lab.result import LengthScore
from posenc.lab.tasks.task import NOTHING, Batch, Task
from posenc.lab.tasks.written import END, Written

#: Sequences at each length; windows of a text, whose targets are many.
SEQUENCES, WINDOWS = 256, 128
#: Tokens read at once: few enough for the logits of a long context to stay in a processor's cache; and logits at once.
TOKENS, LOGITS = 1 << 13, 1 << 27
BINS, CONTEXTS = 16, 8

#: A batch as an example of the model's positions, with a generator for what a sampler draws.
Placing = Callable[[Batch, np.random.Generator], Example]


class Predictions(NamedTuple):
    """Predictions of a model for a batch; each array is (batch, n).

    Attributes:
        losses: Nats at each token.
        right: Whether the likeliest token is right.
        predicted: Whether anything is predicted there.
        about: The index that the target is about.
    """

    losses: np.ndarray
    right: np.ndarray
    predicted: np.ndarray
    about: np.ndarray


@dataclass(frozen=True, eq=False)
class Examination:
    """A trained model, and the sequences that it is measured on.

    Args:
        model: Trained, in evaluation mode.
        task: Gives the sequences.
        seed: Of the sequences.
        place: Gives the tokens of a batch their positions.
    """

    model: Any
    task: Task
    seed: int
    place: Placing

    def sequences(self, length: int, count: int = SEQUENCES) -> Batch:
        """Sequences of a length, the same for equal tasks, seeds and counts."""
        return self.task.test_batch(np.random.default_rng([self.seed, length]), count, length)

    def examples(self, batch: Batch, *stream: int) -> Iterator[Example]:
        """Split a batch into examples of as many rows as are read at once; (seed, *stream) seeds their positions."""
        rng = np.random.default_rng([self.seed, *stream])
        rows = max(1, min(TOKENS, LOGITS // self.model.vocabulary) // batch.tokens.shape[1])
        for start in range(0, len(batch.tokens), rows):
            parts = (None if part is None else part[start : start + rows] for part in vars(batch).values())
            yield self.place(Batch(*parts), rng)  # type: ignore[arg-type]

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def predictions(self, batch: Batch, *stream: int) -> Predictions:
        """The model's predictions for a batch."""
        losses, right = [], []
        for example in self.examples(batch, *stream):
            logits, targets = example.logits(self.model), example.targets
            flat = cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=NOTHING, reduction="none")
            losses.append(flat.view_as(targets).cpu().double().numpy())
            right.append((logits.argmax(-1) == targets).cpu().numpy())
        return Predictions(np.concatenate(losses), np.concatenate(right), batch.targets != NOTHING, _about(batch))


def scores(exam: Examination, lengths: tuple[int, ...]) -> tuple[LengthScore, ...]:
    """Score a model at each length.

    Each length has a generator of its own, so that no length changes the sequences of another.

    Args:
        exam: The model and its task.
        lengths: In rising order.

    Returns:
        A score for each length.
    """
    if exam.task.cuttable:
        whole, last = exam.sequences(lengths[-1], WINDOWS), _last_targets(lengths)
        return tuple(_score(exam, n, cut(whole, n), last) for n in lengths)
    return tuple(_score(exam, n, exam.sequences(n)) for n in lengths)


def by_context(
    exam: Examination, lengths: tuple[int, ...], contexts: Sequence[int] | None = None, windows: int = WINDOWS
) -> tuple[tuple[int, float], ...]:
    """Loss of the same last targets with more and more tokens to read.

    Args:
        exam: The model and its task.
        lengths: In rising order; a quarter of the first is how many targets are measured.
        contexts: Tokens to read; equal steps up to the longest length where None.
        windows: How many sequences.

    Returns:
        (context, nats a token); empty for tasks whose targets mean something else when the start is cut off.
    """
    if not exam.task.cuttable:
        return ()
    if contexts is None:
        last = _last_targets(lengths)
        contexts = sorted({max(last, lengths[-1] * part // CONTEXTS) for part in range(1, CONTEXTS + 1)})
    found = _at_contexts(exam, lengths, contexts, windows)
    means = [float(losses[predicted].mean()) for losses, predicted in found]
    return tuple(zip(contexts, means, strict=True))


def losses_of_windows(exam: Examination, lengths: tuple[int, ...], contexts: Sequence[int], windows: int) -> np.ndarray:
    """Mean loss of the same last targets of each window, with more and more tokens to read.

    Args:
        exam: A model of text that predicts every token, and its task.
        lengths: In rising order; a quarter of the first is how many targets are measured.
        contexts: Tokens to read.
        windows: How many.

    Returns:
        Nats a token, shape (windows, contexts).
    """
    return np.stack([losses.mean(1) for losses, _ in _at_contexts(exam, lengths, contexts, windows)], 1)


def _at_contexts(
    exam: Examination, lengths: tuple[int, ...], contexts: Sequence[int], windows: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Losses of the last targets at each context, and whether they are predicted, each (windows, targets)."""
    whole, last = exam.sequences(lengths[-1], windows), _last_targets(lengths)
    for context in contexts:
        found = exam.predictions(cut(whole, context), context)
        yield found.losses[:, -last:], found.predicted[:, -last:]


def by_depth(exam: Examination, length: int, *, parts: int = CONTEXTS, sequences: int) -> tuple[float, ...]:
    """Share of right answers at a length, by where in the sequence the fact asked for stands.

    Args:
        exam: The model and its task.
        length: Of the sequences.
        parts: How many depths; their numbers of sequences differ by one at most.
        sequences: How many in all.

    Returns:
        A share for each depth, from the start of the sequence to its end.
    """
    found = exam.predictions(exam.sequences(length, sequences), length, 1)
    in_order = found.right[found.predicted][np.argsort(found.about[found.predicted], kind="stable")]
    return tuple(float(part.mean()) for part in np.array_split(in_order, parts))


def cut(batch: Batch, length: int) -> Batch:
    """The last tokens of a batch."""
    return Batch(batch.tokens[:, -length:], batch.targets[:, -length:])


def bleu(task: Written, batch: Batch, written: list[list[int]]) -> float:
    """BLEU of a model's output (Papineni et al. 2002), by sacrebleu, from 0 to 100.

    Args:
        task: Turns tokens into text.
        batch: Has the references as targets.
        written: Tokens that the model wrote, a list for each row.

    Returns:
        BLEU of the whole batch.
    """
    from sacrebleu import corpus_bleu

    references = [task.written([token for token in row if token != NOTHING]) for row in batch.targets.tolist()]
    return float(corpus_bleu([task.written(row) for row in written], [references]).score)


def bleu_signature() -> str:
    """Signature of sacrebleu: how it counts here, in its own words."""
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU()
    metric.corpus_score(["a"], [["a"]])
    return str(metric.get_signature())


def _score(exam: Examination, length: int, batch: Batch, last: int | None = None) -> LengthScore:
    found = exam.predictions(batch, length, 1)
    counted = found.predicted.copy()
    if last is not None:
        counted[:, :-last] = False
    rows = counted.any(1)
    if not rows.any():
        raise ValueError(
            f"test_lengths must be lengths at which the task asks something; got {length}, at which nothing has a "
            "target. Use longer ones."
        )
    return LengthScore(
        length,
        accuracy=float(found.right[counted].mean()),
        exact=float((found.right | ~counted).all(1)[rows].mean()),
        loss=float(found.losses[counted].mean()),
        bleu=_bleu(exam, length, batch),
        by_position=_binned(found),
        chance=_entropy(batch.targets[counted]),
    )


def _entropy(targets: np.ndarray) -> float:
    """Entropy of the targets' frequencies in nats: the loss of the best guess that reads nothing."""
    counts = np.unique(targets, return_counts=True)[1]
    shares = counts / targets.size
    return float(0.0 - (shares * np.log(shares)).sum())


def _bleu(exam: Examination, length: int, batch: Batch) -> float | None:
    if not isinstance(exam.task, Written):
        return None
    most = exam.task.tokens_at(length)
    room = max(0, most - batch.tokens.shape[1])  # a text that is longer than all references has positions, too
    examples = exam.examples(replace(batch, tokens=np.pad(batch.tokens, ((0, 0), (0, room)))), length, 1)
    return bleu(exam.task, batch, [row for each in examples for row in greedy(exam.model, each, most, end=END)])


def _binned(predictions: Predictions) -> tuple[tuple[int, float], ...]:
    """Mean loss in equal stretches of the sequence, as pairs (end of the stretch in tokens, loss)."""
    count = predictions.losses.shape[1]
    ends = sorted({-(-count * part // BINS) for part in range(1, BINS + 1)})
    bins = [
        (end, predictions.predicted & (start <= predictions.about) & (predictions.about < end))
        for start, end in zip([0, *ends[:-1]], ends, strict=True)
    ]
    return tuple((end, float(predictions.losses[within].mean())) for end, within in bins if within.any())


def _about(batch: Batch) -> np.ndarray:
    own = np.broadcast_to(np.arange(batch.tokens.shape[1]), batch.tokens.shape)
    return own if batch.about is None else batch.about


def _last_targets(lengths: tuple[int, ...]) -> int:
    """Number of last tokens that are the same targets at every context length."""
    return max(1, lengths[0] // 4)
