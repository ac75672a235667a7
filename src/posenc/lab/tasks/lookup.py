"""Tasks that say an earlier token: at a fixed distance, at an index that the content names, at a key, or the needle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from posenc.core.declared_fields import Real, Whole
from posenc.lab.tasks.task import NOTHING, Batch, Task, TaskRow


@dataclass(frozen=True)
class FixedOffset(Task):
    """Say the token a fixed number of places back: yᵢ = x₍ᵢ₋offset₎, for random x.

    Args:
        offset: How many places.
        symbols: How many different tokens there are.

    Example:
        >>> batch = FixedOffset(offset=2).batch(np.random.default_rng(0), 1, 5)
        >>> bool((batch.targets[0, 2:] == batch.tokens[0, :3]).all()), batch.targets[0, :2].tolist()
        (True, [-100, -100])
    """

    offset: Annotated[int, Whole(1, 1 << 16)] = 3
    symbols: Annotated[int, Whole(2, 1 << 16)] = 16

    @property
    def vocabulary(self) -> int:
        return self.symbols

    def batch(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        tokens = rng.integers(0, self.symbols, (size, length))
        targets = np.full_like(tokens, NOTHING)
        targets[:, self.offset :] = tokens[:, : max(0, length - self.offset)]
        return Batch(tokens, targets)

    def require(self, length: int) -> None:
        _require(self.offset + 1, length)


@dataclass(frozen=True)
class CuedOffset(Task):
    """Say the symbol at the distance that the content names: yᵢ = the symbol at i - kᵢ, where there is one.

    Each token is a symbol with a cue k from 1 to `cues`. Token numbers: plain symbols, the targets, first; then each
    symbol with each cue.

    Args:
        cues: How many different distances there are.
        symbols: How many different symbols there are.
    """

    cues: Annotated[int, Whole(1, 1 << 10)] = 8
    symbols: Annotated[int, Whole(2, 1 << 10)] = 8

    @property
    def vocabulary(self) -> int:
        return self.symbols * (1 + self.cues)

    def batch(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        symbols, cues = rng.integers(0, self.symbols, (size, length)), rng.integers(0, self.cues, (size, length))
        return naming(symbols, cues, np.arange(length) - cues - 1, self.symbols)

    def require(self, length: int) -> None:
        _require(2, length)


@dataclass(frozen=True)
class AbsoluteIndex(CuedOffset):
    """Say the symbol at the index that the content names, where there is one.

    Each token is a symbol with a cue j from 0 to `cues` - 1.

    Args:
        cues: How many different indices there are.
        symbols: How many different symbols there are.
    """

    cues: Annotated[int, Whole(1, 1 << 10)] = 16

    def batch(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        symbols, cues = rng.integers(0, self.symbols, (size, length)), rng.integers(0, self.cues, (size, length))
        return naming(symbols, cues, cues, self.symbols)

    def require(self, length: int) -> None:
        """Nothing: a sequence of one token has an index 0."""


def _require(least: int, length: int) -> None:
    if length < least:
        raise ValueError(f"length must be at least {least}, or nothing is asked; got {length}. Ask for a longer one.")


def naming(symbols: np.ndarray, cues: np.ndarray, index: np.ndarray, count: int) -> Batch:
    """Make a batch: each token combines a symbol and a cue, its target is the symbol at `index` if there is one.

    Token numbers: plain symbols, the targets, first; then each symbol with each cue.

    Args:
        symbols: (batch, n).
        cues: (batch, n).
        index: (batch, n), of the symbols that are said.
        count: How many different symbols there are.

    Returns:
        The batch.

    Example:
        >>> batch = naming(np.array([[0, 1, 1]]), np.array([[0, 0, 2]]), np.array([[-1, 0, 3]]), count=2)
        >>> batch.tokens.tolist(), batch.targets.tolist()
        ([[2, 3, 7]], [[-100, 0, -100]])
    """
    length = symbols.shape[1]
    named = np.take_along_axis(symbols, index.clip(0, length - 1), 1)
    return Batch(count * (1 + cues) + symbols, np.where((index >= 0) & (index < length), named, NOTHING))


@dataclass(frozen=True)
class Last(Task):
    """Say the value at the last earlier token with the same key.

    Each token is a key with a value. Token numbers: plain values, the targets, first; then each key with each value.

    Args:
        keys: How many different keys there are.
        values: How many different values there are.
    """

    keys: Annotated[int, Whole(1, 1 << 10)] = 8
    values: Annotated[int, Whole(2, 1 << 10)] = 16

    @property
    def vocabulary(self) -> int:
        return self.values * (1 + self.keys)

    def batch(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        keys, values = rng.integers(0, self.keys, (size, length)), rng.integers(0, self.values, (size, length))
        return naming(values, keys, self.earlier(keys), self.values)

    def require(self, length: int) -> None:
        _require(2, length)

    def earlier(self, keys: np.ndarray) -> np.ndarray:
        """Index of the earlier token that is meant, (batch, n), -1 where there is none."""
        same = (keys[:, :, None] == np.arange(self.keys)) * np.arange(1, keys.shape[1] + 1)[:, None]
        latest = np.maximum.accumulate(same, 1)
        before = np.concatenate([np.zeros_like(latest[:, :1]), latest[:, :-1]], 1)
        return np.take_along_axis(before, keys[..., None], 2)[..., 0] - 1


@dataclass(frozen=True)
class First(Last):
    """Say the value at the first token with the same key, in sequences as those of `Last`."""

    def earlier(self, keys: np.ndarray) -> np.ndarray:
        first = (keys[:, :, None] == np.arange(self.keys)).argmax(1)
        index = np.take_along_axis(first, keys, 1)
        return np.where(index < np.arange(keys.shape[1]), index, -1)


@dataclass(frozen=True)
class Needle(Task):
    """Say the value of a key that stands somewhere in a text of fillers.

    There are `needles` keys, each followed by its value, and at the end a question and one of the keys. Length counts
    all tokens; it must hold the needles and the question.

    Args:
        depth: Where the key that is asked for stands in tests, 0 at the start and 1 at the end of the text; -1 for all
            depths in equal steps, by which the losses of a score are then binned. In training it stands anywhere.
        needles: Keys in the text.
        keys: How many different keys there are.
        values: How many different values there are.
        fillers: How many different fillers there are.
        updates: Older values of the key that is asked for, which stand before the one that counts. Without positions
            nothing tells which one that is.
    """

    depth: Annotated[float, Real(-1.0, 1.0)] = -1.0
    needles: Annotated[int, Whole(1, 1 << 8)] = 4
    keys: Annotated[int, Whole(1, 1 << 10)] = 16
    values: Annotated[int, Whole(2, 1 << 10)] = 16
    fillers: Annotated[int, Whole(1, 1 << 10)] = 16
    updates: Annotated[int, Whole(0, 1 << 8)] = 0

    def _check_together(self) -> None:
        if self.needles > self.keys:
            raise ValueError(f"needles must be at most the {self.keys} keys; got {self.needles}. Ask for fewer.")
        if -1.0 < self.depth < 0.0:
            raise ValueError(f"depth must be from 0 to 1, or -1 for anywhere; got {self.depth}. Use one of these.")

    @property
    def vocabulary(self) -> int:
        return self.values + self.keys + self.fillers + 1

    def batch(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        return self._drawn(rng, size, length, None)

    def test_batch(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        depths = np.linspace(0.0, 1.0, size) if self.depth < 0 else np.full(size, self.depth)
        return self._drawn(rng, size, length, depths)

    def require(self, length: int) -> None:
        least = 2 * (self.needles + self.updates) + 2
        if length < least:
            raise ValueError(
                f"length must be at least {least} for {self.needles + self.updates} needles; got {length}. Ask for a "
                "longer text."
            )

    def _drawn(self, rng: np.random.Generator, size: int, length: int, depths: np.ndarray | None) -> Batch:
        self.require(length)
        room = (length - 2) // 2  # pairs of tokens before the question
        tokens = self.values + self.keys + rng.integers(0, self.fillers, (size, length))
        slots = rng.permuted(np.broadcast_to(np.arange(room), (size, room)), axis=1)
        last = room - 1 - self.updates
        asked = None if depths is None else self.updates + np.rint(depths * last).astype(np.int64)[:, None]
        if self.updates:
            slots = self._slots(slots, rng.integers(self.updates, room, (size, 1)) if asked is None else asked)
        elif asked is not None:
            others = slots[:, 1 : self.needles]
            slots = np.concatenate([asked, np.where(others == asked, slots[:, :1], others)], 1)
        slots = slots[:, : self.needles + self.updates]
        keys = rng.permuted(np.broadcast_to(np.arange(self.keys), (size, self.keys)), axis=1)[:, : self.needles]
        values = rng.integers(0, self.values, keys.shape)
        if self.updates:
            older = (values[:, :1] + rng.integers(1, self.values, (size, self.updates))) % self.values
            values = np.concatenate([values, older], 1)
            keys = np.concatenate([keys, np.repeat(keys[:, :1], self.updates, 1)], 1)
        np.put_along_axis(tokens, 2 * slots, self.values + keys, 1)
        np.put_along_axis(tokens, 2 * slots + 1, values, 1)
        tokens[:, -2], tokens[:, -1] = self.vocabulary - 1, self.values + keys[:, 0]
        targets = np.full_like(tokens, NOTHING)
        targets[:, -1] = values[:, 0]
        return Batch(tokens, targets, about=np.broadcast_to(2 * slots[:, :1], tokens.shape))

    def _slots(self, drawn: np.ndarray, asked: np.ndarray) -> np.ndarray:
        """Slots of the needles, that of the one asked for first, then of its older values, which are before it."""
        older = _first(drawn, drawn < asked, self.updates)
        used = (drawn[..., None] == np.concatenate([asked, older], 1)[:, None]).any(-1)
        return np.concatenate([asked, _first(drawn, ~used, self.needles - 1), older], 1)


def _first(numbers: np.ndarray, wanted: np.ndarray, count: int) -> np.ndarray:
    """First `count` numbers of each row at which `wanted` is true, (rows, count)."""
    return np.take_along_axis(numbers, np.argsort(~wanted, 1, kind="stable")[:, :count], 1)


ROWS = (
    TaskRow(
        "fixed-offset",
        FixedOffset,
        "What stands three places back?",
        "Barbero et al. 2024, arXiv:2410.06205, §5: heads that attend to the previous token need positions",
        ("encoder", "decoder"),
        steps=150,
    ),
    TaskRow(
        "cued-offset",
        CuedOffset,
        "What stands k places back, where the token here says k?",
        "the content-addressed form of fixed-offset",
        ("encoder", "decoder"),
    ),
    TaskRow(
        "absolute-index",
        AbsoluteIndex,
        "What stands at index j of the sequence?",
        "an index without a first token to count from",
        ("encoder",),
        steps=500,
    ),
    *(
        TaskRow(
            name,
            kind,
            question,
            "the recall of a key with its value (Arora et al. 2023, arXiv:2312.04927), with repeated keys",
        )
        for name, kind, question in (("last", Last, "Which came last?"), ("first", First, "Which came first?"))
    ),
    TaskRow(
        "needle",
        Needle,
        "Where in a long text is the one fact that is asked for?",
        "the passkey of Mohtashami and Jaggi 2023, arXiv:2305.16300; length and depth as in RULER, arXiv:2404.06654",
        ("decoder", "encoder"),
        length=64,
        test_lengths=(64, 128, 256),
        steps=2000,
    ),
)
