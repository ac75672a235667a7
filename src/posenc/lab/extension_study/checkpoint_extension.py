"""A user's own model at a longer context, by every way that posenc knows: loss by length, and needles by depth."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from posenc.core.declared_fields import Declared, Instance, Whole
from posenc.core.doors import Encoding, RotaryEncoding
from posenc.encodings.rotates.rope import RoPE
from posenc.lab.experiment import digest
from posenc.lab.extension_study.ways import at_length, extension_candidates
from posenc.lab.kept_measurements import KeptMeasurements
from posenc.lab.models.checkpoint import LoadedDecoder, spread_windows, state_of_folder
from posenc.models import from_config
from posenc.models.extension_planning.metrics import LONGEST
from posenc.models.extension_planning.planner import UNCHANGED, plan_context, scaling_candidates
from posenc.models.extension_planning.snippets import rewrapped, sees_whole_context
from posenc.models.pair_rotation import unwrapped
from posenc.transformers.swapping.swap import swap

#: How many lengths are read, in equal steps up to the one to reach.
STEPS = 4
#: Where the needle stands, from the start of the text to its end.
DEPTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
#: After Mohtashami and Jaggi 2023, arXiv:2305.16300, §4.2.
NEEDLE = "\nThe pass key is {key}. Remember it. {key} is the pass key.\n"
QUESTION = "\nWhat is the pass key? The pass key is"
#: Keys that are drawn for one whose tokens are as many as those of the others.
TRIES = 16


class PassKey(NamedTuple):
    """A pass key as tokens.

    Attributes:
        needle: The sentences that give it.
        question: The question at the end.
        answer: The key, behind the question.
    """

    needle: np.ndarray
    question: np.ndarray
    answer: np.ndarray

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Tokens of each part."""
        return len(self.needle), len(self.question), len(self.answer)


def needle_rows(
    checkpoint: LoadedDecoder, windows: np.ndarray, length: int, count: int
) -> list[tuple[np.ndarray, int]]:
    """Rows with a needle at each depth.

    Args:
        checkpoint: Reads the sentences.
        windows: Of the text, with the mark of a begin, (windows, n).
        length: Tokens that are read, the last token of the answer left out.
        count: Rows for each depth.

    Returns:
        For each depth the rows, (count, length + 1), and how many tokens at their end are the answer.

    Raises:
        ValueError: The length has no room for a needle.
    """
    keys, start = pass_keys(checkpoint, count), len(checkpoint.start)
    room = length + 1 - start - sum(keys[0].sizes)
    if room < 0:
        raise ValueError(
            f"length must be at least {length - room} tokens for a needle and its question; got {length}. Ask for a "
            "longer trained length."
        )
    found = []
    for depth in DEPTHS:
        at, rows = round(depth * room), []
        for index, key in enumerate(keys):
            text = windows[index % len(windows)][start : start + room]
            parts = (windows[0][:start], text[:at], key.needle, text[at:], key.question, key.answer)
            rows.append(np.concatenate(parts))
        found.append((np.stack(rows), len(keys[0].answer)))
    return found


def pass_keys(checkpoint: LoadedDecoder, count: int) -> list[PassKey]:
    """Draw pass keys of five digits that all have the same number of tokens.

    Args:
        checkpoint: Reads them.
        count: How many.

    Returns:
        The keys, the same for equal counts.
    """
    rng = np.random.default_rng(0)
    drawn = [_pass_key(checkpoint, str(rng.integers(10_000, 100_000))) for _ in range(TRIES * count)]
    usual, _ = Counter(each.sizes for each in drawn).most_common(1)[0]
    fitting = [each for each in drawn if each.sizes == usual]
    return [fitting[index % len(fitting)] for index in range(count)]


def _pass_key(checkpoint: LoadedDecoder, key: str) -> PassKey:
    question, asked = checkpoint.tokens(QUESTION), checkpoint.tokens(f"{QUESTION} {key}")
    whole = len(asked) > len(question) and bool((asked[: len(question)] == question).all())
    answer = asked[len(question) :] if whole else checkpoint.tokens(f" {key}")
    return PassKey(checkpoint.tokens(NEEDLE.format(key=key)), question, answer)


@dataclass(frozen=True)
class CheckpointStudy(Declared):
    """Plan of the measurements of a user's own model.

    Args:
        text: That it reads.
        trained: The length of its training, in tokens.
        length: To reach.
        windows: That are read at each length.
        needles: That are looked for at each length and depth.

    Raises:
        TypeError: A value has the wrong type; the message names the field.
        ValueError: A value breaks its rule; the message names the field.
    """

    text: Annotated[str, Instance("a text")]
    trained: Annotated[int, Whole(2, LONGEST)]
    length: Annotated[int, Whole(2, LONGEST)]
    windows: Annotated[int, Whole(1, 1 << 16)] = 8
    needles: Annotated[int, Whole(1, 1 << 16)] = 4

    def _check_together(self) -> None:
        if self.length <= self.trained:
            raise ValueError(
                f"length must exceed the trained length, {self.trained}; got {self.length}. Ask for a longer."
            )

    @property
    def lengths(self) -> tuple[int, ...]:
        """Lengths that are read: the trained one, and those of equal steps beyond it."""
        steps = {self.length * part // STEPS for part in range(1, STEPS + 1)}
        return (self.trained, *sorted(step for step in steps if step > self.trained))

    @property
    def last(self) -> int:
        """How many last tokens are predicted at every length, the same ones: a quarter of the trained length."""
        return max(1, self.trained // 4)

    def identity(self, checkpoint: LoadedDecoder) -> str:
        """Digest that names the measurements; it changes with the model's files, dtype, device and with the plan."""
        facts = [state_of_folder(checkpoint.path), digest(self.text), self.trained, self.length]
        facts += [self.windows, self.needles, str(checkpoint.model.dtype), checkpoint.device]
        return digest(json.dumps(facts))


class CheckpointWay(NamedTuple):
    """A way to a longer context of a loaded model.

    Attributes:
        name: Of the way.
        long: Encoding of the layers that see the whole context, beyond the trained length; None to change nothing.
        short: Their encoding within it.
        layers: Their numbers.
    """

    name: str
    long: Encoding | None
    short: Encoding | None
    layers: tuple[int, ...]

    def at(self, length: int, trained: int) -> Encoding | None:
        """Encoding for `length` tokens: `short` up to the trained length, else `long`, with DynamicNTK at `length`."""
        chosen = self.short if length <= trained else self.long
        return None if chosen is None else at_length(chosen, length)


class MeasuredLength(NamedTuple):
    """Measurement of a way at a length.

    Attributes:
        losses: Nats a token in each window.
        found: For each depth, the share of needles whose every token is the likeliest one.
        answers: For each depth, nats a token of the answers.
    """

    losses: tuple[float, ...]
    found: tuple[float, ...]
    answers: tuple[float, ...]

    @property
    def loss(self) -> float:
        """Mean loss of the windows."""
        return sum(self.losses) / len(self.losses)


@dataclass(frozen=True)
class CheckpointExtension:
    """Outcome of a study.

    Args:
        subject: The model, in words.
        study: What was done.
        measured: By way and length.
    """

    subject: str
    study: CheckpointStudy
    measured: dict[str, dict[int, MeasuredLength]]


def checkpoint_ways(checkpoint: LoadedDecoder, trained: int, length: int) -> tuple[CheckpointWay, ...]:
    """Every way for the layers of a model that see the whole context, the unchanged one first.

    Args:
        checkpoint: The model.
        trained: The length of its training.
        length: To reach.

    Returns:
        The ways of the planner, and for a rotation without a scaling all others that posenc knows.

    Raises:
        ValueError: The layers do not rotate by one plain rotation, or a length is out of range.
    """
    config = checkpoint.model.config.to_dict()
    own = plan_context(config, length=length, trained=trained).encoding
    inner = unwrapped(own)
    layers = tuple(
        layer
        for group in from_config(config).groups
        if group.rotary_encoding == own and sees_whole_context(group)
        for layer in group.layers
    )
    if not isinstance(inner, RoPE) or not layers:
        raise ValueError(f"model must rotate by one plain rotation; got {own!r:.100}. posenc has no way for others.")
    width = int(checkpoint.model.config.get_text_config().hidden_size)
    if inner.scaling is None:
        found = [(each.name, each.long, each.short) for each in extension_candidates(inner, trained, length, width)]
    else:
        planned = scaling_candidates(inner, trained, length, trained)
        found = [(each.name, each.encoding, each.short) for each in planned]
    changed = [(name, _in_head(own, long), _in_head(own, short)) for name, long, short in found[1:]]
    return (
        CheckpointWay(UNCHANGED, None, None, layers),
        *(CheckpointWay(name, long, short, layers) for name, long, short in changed),
    )


def _in_head(own: RotaryEncoding | None, encoding: Encoding) -> Encoding:
    """RoPE inside the wrappers of the model's own encoding (Partial, Backward); any other encoding as it is."""
    return rewrapped(own, encoding) if isinstance(encoding, RoPE) else encoding


def extend_checkpoint(
    checkpoint: LoadedDecoder, study: CheckpointStudy, kept: KeptMeasurements
) -> Iterator[tuple[int, int] | CheckpointExtension]:
    """Measure every way at every length, without training.

    Args:
        checkpoint: The model.
        study: What is measured.
        kept: Gets each measurement when it comes.

    Yields:
        (done, planned) after each measurement, and at last the outcome.

    Raises:
        ValueError: The model has no such ways, or the text is too short; raised before any measurement.
    """
    ways = checkpoint_ways(checkpoint, study.trained, study.length)
    windows = spread_windows(checkpoint, study.text, study.length + 1, study.windows, purpose="for a window")
    needles = {length: needle_rows(checkpoint, windows, length, study.needles) for length in study.lengths}
    identity, measured = study.identity(checkpoint), {way.name: dict[int, MeasuredLength]() for way in ways}
    planned, done = len(ways) * len(study.lengths), 0
    for length in study.lengths:
        for way in ways:
            name = f"{identity} {way.name} {length}"
            if name not in kept.known:
                kept.add(name, _measured(checkpoint, study, way, length, windows, needles[length]))
            measured[way.name][length] = MeasuredLength(*map(tuple, kept.known[name]))
            done += 1
            yield done, planned
    subject = f"{checkpoint.path} ({checkpoint.model.dtype}, {checkpoint.device})".replace("torch.", "")
    yield CheckpointExtension(subject, study, measured)


def _measured(
    checkpoint: LoadedDecoder,
    study: CheckpointStudy,
    way: CheckpointWay,
    length: int,
    windows: np.ndarray,
    needles: list[tuple[np.ndarray, int]],
) -> MeasuredLength:
    """Measure a way at a length: the same last tokens of each window, and the answers at each depth."""
    start = len(checkpoint.start)
    rows = np.concatenate([windows[:, :start], windows[:, windows.shape[1] - (length + 1 - start) :]], 1)
    encoding = way.at(length, study.trained)
    with ExitStack() as stack:
        if encoding is not None:
            stack.enter_context(swap(checkpoint.model, encoding, layers=way.layers))
        losses = checkpoint.scores(rows, study.last).losses.mean(1)
        scored = [checkpoint.scores(asked, answer) for asked, answer in needles]
    found = [float(each.right.all(1).mean()) for each in scored]
    return MeasuredLength(tuple(losses.tolist()), tuple(found), tuple(float(each.losses.mean()) for each in scored))
