"""Two naive encodings for teaching: the count of a token, and the count divided by the length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import Positions
from posenc.core.declared_fields import Whole
from posenc.core.doors import AdditiveEncoding, Params
from posenc.core.row import Row


@dataclass(frozen=True)
class Count(AdditiveEncoding):
    """embed(p) = p + start, one channel: the raw count, to be appended to the embedding (`compose.Concatenated`).

    The notes' first step. Its flaw: the value has no bound, so it dominates the embedding and its gradients.

    Positions (*batch, n), integers or float32/float64, in steps; result (*batch, n, 1), in steps.

    Args:
        start: The count of position 0; 1 counts tokens from one.

    Raises:
        ValueError: A field or `positions` breaks its rule; the message names it.
        TypeError: A field or `positions` has the wrong type.

    Example:
        >>> Count().embed([0, 1, 2]).tolist()
        [[1.0], [2.0], [3.0]]
    """

    start: int = 1

    claims = frozenset({"streaming", "unlimited", "fractional"})

    def _check_together(self) -> None:
        validation.settle(self, start=_start(self.start))

    @property
    def width(self) -> int:
        return 1

    def embed(self, positions: Array, params: Params | None = None, *, dtype: Any = None) -> Array:
        positions, _, dtype = self.checked_call(positions, params, dtype)
        return _counted(positions, self.start, 1, dtype)


@dataclass(frozen=True)
class NormalisedCount(AdditiveEncoding):
    """embed(p) = (p + start) / length, one channel: the count as a share of the sentence.

    The notes' second step. Its flaw: the same position has another value in a sentence of another length. Values lie in
    (0, 1] inside a sentence of `length` tokens and grow beyond it.

    Positions (*batch, n), integers or float32/float64, in steps; result (*batch, n, 1), without unit.

    The example is the second word of "Thank you" and of a sentence of four words.

    Args:
        length: How many tokens the sentence has.
        start: The count of position 0; 1 counts tokens from one.

    Raises:
        ValueError: A field or `positions` breaks its rule; the message names it.
        TypeError: A field or `positions` has the wrong type.

    Example:
        >>> NormalisedCount(length=2).embed([1]).item(), NormalisedCount(length=4).embed([1]).item()
        (1.0, 0.5)
    """

    length: Annotated[int, Whole(1, 1 << 30)]
    start: int = 1

    claims = frozenset({"streaming", "unlimited", "fractional"})

    def _check_together(self) -> None:
        validation.settle(self, start=_start(self.start))

    @property
    def width(self) -> int:
        return 1

    def embed(self, positions: Array, params: Params | None = None, *, dtype: Any = None) -> Array:
        positions, _, dtype = self.checked_call(positions, params, dtype)
        return _counted(positions, self.start, self.length, dtype)


def _start(start: int) -> int:
    return validation.integer("start", start, -(2**30), 2**30)


def _counted(positions: Positions, start: int, length: int, dtype: Any) -> Array:
    """(positions + start) / length, with a last axis of one channel."""
    lib, xp = positions.lib, positions.lib.xp
    steps = lib.signed(positions.array)
    count = steps + start
    # A 32-bit integer wraps at its end; a count that went the wrong way is not a number.
    wrapped = (count < steps) if start >= 0 else (count > steps)
    real = lib.widest(count)
    share = (xp.where(wrapped, float("nan"), real) + positions.guard()) / length
    return lib.astype(share, dtype)[..., None]


ROWS = (
    Row(
        Count,
        (Count(), Count(start=0)),
        "no paper: the notes' first idea",
        ("position ids as a feature",),
        "To see what an unbounded value does to embeddings and gradients.",
    ),
    Row(
        NormalisedCount,
        (NormalisedCount(length=2), NormalisedCount(length=5, start=0)),
        "no paper: the notes' second idea",
        ("relative coordinate", "progress feature"),
        "To see that the same position then has another value at another length.",
    ),
)
