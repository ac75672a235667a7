"""Tasks with a rule: repeat, add, remember, count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from posenc.core.declared_fields import Real, Whole
from posenc.lab.tasks.task import NOTHING, Batch, Task, TaskRow
from posenc.positions import coupled

PLUS, EQUALS = 10, 11
WRITE, READ, IGNORE = 2, 3, 4


@dataclass(frozen=True)
class Copy(Task):
    """Repeat a sequence: begin x separator x, where the model says the second x.

    A sequence is right where each token is, given those before: the same as if the model had written it all by itself,
    greedily.

    Args:
        symbols: How many different ones there are.

    Example:
        >>> batch = Copy(symbols=4).batch(np.random.default_rng(0), 1, 3)
        >>> batch.tokens[0].tolist(), batch.targets[0].tolist()
        ([4, 3, 2, 2, 5, 3, 2], [-100, -100, -100, -100, 3, 2, 2])
    """

    varies: ClassVar[bool] = True
    symbols: Annotated[int, Whole(2, 1 << 16)] = 16

    @property
    def vocabulary(self) -> int:
        return self.symbols + 2

    def batch(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        x = rng.integers(0, self.symbols, (size, length))
        begin, separator = (np.full((size, 1), self.symbols + which) for which in (0, 1))
        return question_and_answer(np.concatenate([begin, x, separator], 1), self.answer(x))

    def answer(self, x: np.ndarray) -> np.ndarray:
        """Answer to x."""
        return x

    def tokens_at(self, length: int) -> int:
        return 2 * length + 1


@dataclass(frozen=True)
class Reverse(Copy):
    """Repeat a sequence from its end to its beginning: begin x separator x̄."""

    def answer(self, x: np.ndarray) -> np.ndarray:
        return x[:, ::-1]


def question_and_answer(question: np.ndarray, answer: np.ndarray) -> Batch:
    """Batch for a decoder that reads a question and says an answer, whose last token it need not read."""
    tokens = np.concatenate([question, answer[:, :-1]], 1)
    targets = np.concatenate([np.full_like(question[:, 1:], NOTHING), answer], 1)
    return Batch(tokens, targets)


@dataclass(frozen=True)
class Addition(Task):
    """Add two numbers: "a+b=c", with as many digits in a as in b and one more in c.

    c is written from its least significant digit. Batches have coupled ids: digits of the same significance share one
    (Cho et al. 2024).

    Args:
        spare: In training, the ids of each row are moved by a random number from 0 to `spare`.

    Example:
        >>> batch = Addition().batch(np.random.default_rng(0), 1, 2)  # 86 + 52 = 138, and 831 is said
        >>> batch.tokens[0].tolist(), batch.targets[0, -3:].tolist()
        ([8, 6, 10, 5, 2, 11, 8, 3], [8, 3, 1])
        >>> batch.coupled[0].tolist()
        [3, 2, 1, 3, 2, 1, 2, 3]
    """

    varies: ClassVar[bool] = True
    spare: Annotated[int, Whole(0, 1 << 16)] = 0

    @property
    def vocabulary(self) -> int:
        return 12

    def batch(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        made = self.test_batch(rng, size, length)
        if not self.spare or made.coupled is None:
            return made
        return Batch(made.tokens, made.targets, made.coupled + rng.integers(0, self.spare, (size, 1), endpoint=True))

    def test_batch(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        first, second = rng.integers(0, 10, (2, size, length))
        plus, equals = (np.full((size, 1), sign) for sign in (PLUS, EQUALS))
        batch = question_and_answer(np.concatenate([first, plus, second, equals], 1), reversed_sum(first, second))
        ids = coupled(length, length, length + 1)[: batch.tokens.shape[1]]
        return Batch(batch.tokens, batch.targets, np.broadcast_to(ids, batch.tokens.shape))

    def tokens_at(self, length: int) -> int:
        return 3 * length + 2 + self.spare


def reversed_sum(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Digits of sums, least significant first, one more than each number has.

    Example:
        >>> reversed_sum(np.array([[9, 9]]), np.array([[0, 1]])).tolist()
        [[0, 0, 1]]
    """
    carry, digits = np.zeros(len(first), np.int64), []
    for one, other in zip(first.T[::-1], second.T[::-1], strict=True):
        total = one + other + carry
        carry = total // 10
        digits.append(total % 10)
    return np.stack([*digits, carry], 1)


@dataclass(frozen=True)
class SelectiveCopy(Task):
    """Repeat the symbols of a text and leave out the blanks between them.

    There are `count` symbols at random indices among blanks, then a separator, after which the model says them in
    order. Length counts symbols and blanks; a length below `count` holds symbols alone.

    Args:
        count: Symbols to repeat.
        symbols: How many different ones there are.
    """

    count: Annotated[int, Whole(1, 1 << 16)] = 8
    symbols: Annotated[int, Whole(2, 1 << 16)] = 16

    @property
    def vocabulary(self) -> int:
        return self.symbols + 2

    def batch(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        count = min(self.count, length)
        indices = np.sort(rng.permuted(np.broadcast_to(np.arange(length), (size, length)), axis=1)[:, :count], 1)
        answer = rng.integers(0, self.symbols, (size, count))
        text = np.full((size, length + 1), self.symbols)
        np.put_along_axis(text, indices, answer, 1)
        text[:, -1] = self.symbols + 1
        return question_and_answer(text, answer)

    def tokens_at(self, length: int) -> int:
        return length + self.count


@dataclass(frozen=True)
class FlipFlop(Task):
    """Pairs of an instruction and a bit: write, ignore, or read, after which the model says the bit last written.

    The first instruction writes and the last one reads; write and read are equally likely between. Length counts
    instructions, two at least.

    Args:
        ignore: The share of instructions to ignore.
    """

    ignore: Annotated[float, Real(0.0, 1.0)] = 0.8

    @property
    def vocabulary(self) -> int:
        return 5

    def batch(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        rest = (1 - self.ignore) / 2
        instructions = rng.choice([WRITE, READ, IGNORE], (size, max(2, length)), p=[rest, rest, self.ignore])
        instructions[:, 0], instructions[:, -1] = WRITE, READ
        bits = rng.integers(0, 2, instructions.shape)
        written = np.maximum.accumulate(np.where(instructions == WRITE, np.arange(instructions.shape[1]), 0), 1)
        bits = np.where(instructions == READ, np.take_along_axis(bits, written, 1), bits)
        tokens = np.stack([instructions, bits], -1).reshape(size, -1)
        targets = np.full_like(tokens, NOTHING)
        targets[:, ::2] = np.where(instructions == READ, bits, NOTHING)
        return Batch(tokens, targets)

    def tokens_at(self, length: int) -> int:
        return 2 * max(2, length)


@dataclass(frozen=True)
class Parity(Task):
    """Say whether the number of ones so far is odd: yᵢ = (x₀ + … + xᵢ) mod 2, for random bits.

    Hard for every transformer, whatever its positions.

    Example:
        >>> batch = Parity().batch(np.random.default_rng(0), 1, 6)
        >>> batch.tokens[0].tolist(), batch.targets[0].tolist()
        ([1, 1, 1, 0, 0, 0], [1, 0, 1, 1, 1, 1])
    """

    @property
    def vocabulary(self) -> int:
        return 2

    def batch(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        bits = rng.integers(0, 2, (size, length))
        return Batch(bits, bits.cumsum(1) % 2)


ROWS = (
    *(
        TaskRow(
            name,
            kind,
            question,
            "Kazemnejad et al. 2023, arXiv:2305.19466, Table 1",
            length=20,
            test_lengths=(20, 30, 40, 80),
            steps=2000,
            unit="symbols",
            metric="exact",
        )
        for name, kind, question in (("copy", Copy, "Say it again."), ("reverse", Reverse, "Say it backwards."))
    ),
    TaskRow(
        "addition",
        Addition,
        "Which digits belong together?",
        "Kazemnejad et al. 2023, arXiv:2305.19466; coupled ids: Cho et al. 2024, arXiv:2405.20671",
        length=8,
        test_lengths=(8, 12, 16, 24),
        steps=3000,
        unit="digits",
        metric="exact",
    ),
    TaskRow(
        "selective-copy",
        SelectiveCopy,
        "Which tokens count, and in which order?",
        "Golovneva et al. 2024, arXiv:2405.18719, §4.2",
        steps=2000,
        unit="symbols and blanks",
        metric="exact",
    ),
    TaskRow(
        "flip-flop",
        FlipFlop,
        "Which bit was written last?",
        "Liu et al. 2023, arXiv:2306.00946; Golovneva et al. 2024, arXiv:2405.18719, §4.1",
        unit="instructions",
        metric="exact",
    ),
)
PARITY = TaskRow(
    "parity",
    Parity,
    "Is the number of ones odd? A control: no encoding should generalise here.",
    "Hahn 2020, arXiv:1906.06755; Kazemnejad et al. 2023, arXiv:2305.19466",
    length=20,
    test_lengths=(20, 40, 80),
)
