"""Prompts of a probe: which tokens an engine is given, and which rows of its logits are wanted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from posenc.probe.stream import FILLER, FIRST_QUERY, KEY

#: The longest window whose edge is asked for.
LONGEST_WINDOW = 16_384
#: The longest distance at which a bias is asked for.
LONGEST_BIAS = 64
#: The prompt of equal tokens, which shows whether values rotate, and its length.
VALUES, EQUAL = "values", 8
#: Distances around the edge of a window that are asked for.
EDGE = 2


@dataclass(frozen=True)
class Prompt:
    """Tokens for an engine, and the rows of its logits that are wanted.

    Attributes:
        name: Name of its array in the answer.
        tokens: Token ids.
        position_ids: Positions of the tokens, for engines that take them; None for 0, 1, 2, ....
        rows: Rows of the logits, from 0.
    """

    name: str
    tokens: tuple[int, ...]
    rows: tuple[int, ...]
    position_ids: tuple[int, ...] | None = None

    def plain(self) -> dict[str, object]:
        """As `probe.json` has it."""
        return asdict(self)

    def distances(self) -> tuple[int, ...]:
        """Positions of the rows less that of the first token, which is the key."""
        ids = self.position_ids or range(len(self.tokens))
        return tuple(ids[row] - ids[0] for row in self.rows)


def asked_distances(length: int) -> tuple[int, ...]:
    """Distances 1, 2, 4, ... and the longest itself.

    Example:
        >>> asked_distances(10)
        (1, 2, 4, 8, 10)
    """
    return tuple(sorted({length, *(1 << power for power in range(length.bit_length()))}))


def channel_prompts(queries: int, length: int, windows: Iterable[int]) -> list[Prompt]:
    """Make a prompt for each query channel: every power of two as distance, and the last distance in each window."""
    last_seen = (window - 1 for window in windows if 1 < window <= length)
    distances = tuple(sorted({*asked_distances(length), *last_seen}))
    return [
        Prompt(f"channel_{channel}", (KEY, *(FIRST_QUERY + channel,) * length), distances) for channel in range(queries)
    ]


def placed_prompts(queries: int, length: int) -> list[Prompt]:
    """Three tokens for each query channel and distance, by position ids; the last token is at the longest distance.

    So frequencies that depend on the length of the sequence are the same in every prompt.
    """
    return [
        Prompt(
            f"channel_{channel}_distance_{distance}",
            (KEY, FIRST_QUERY + channel, FILLER),
            (1,),
            (0, distance, length),
        )
        for channel in range(queries)
        for distance in asked_distances(length)
    ]


def bias_prompt(length: int) -> Prompt:
    """Make a prompt whose rows are every distance, since each score is read off the sum of those before."""
    longest = min(length, LONGEST_BIAS)
    return Prompt("bias", (KEY, *(FILLER,) * longest), tuple(range(1, longest + 1)))


def value_prompt(position_ids: bool) -> Prompt:
    """Make a prompt of keys alone, whose values have the same sum in every row, unless they rotate."""
    places = tuple(range(EQUAL)) if position_ids else None
    return Prompt(VALUES, (KEY,) * EQUAL, tuple(range(1, EQUAL)), places)


def row_prompts(last: int, position_ids: bool) -> list[Prompt]:
    """Positions 0 to 4, every power of two and its neighbours, and the last; in one prompt, or by position ids."""
    near = {power + step for power in asked_distances(max(last, 1)) for step in (-1, 0, 1)}
    rows = tuple(sorted(row for row in {0, 1, 2, 3, 4, last, *near} if 0 <= row <= last))
    if not position_ids:
        return [Prompt("rows", (FILLER,) * (last + 1), rows)]
    return [Prompt(f"row_{row}", (FILLER,), (0,), (row,)) for row in rows]


def window_prompt(length: int, windows: Iterable[int]) -> list[Prompt]:
    """A prompt whose rows show up to which distance the key is seen, dense at the edges of the windows."""
    asked = sorted({window for window in windows if window <= LONGEST_WINDOW})
    longest = max([length, *(window + EDGE for window in asked)])
    edges = {window + step for window in asked for step in range(-EDGE, EDGE + 1)}
    rows = tuple(sorted(row for row in {*asked_distances(longest), *edges} if row > 0))
    return [Prompt("window", (KEY, *(FILLER,) * longest), rows)]
