"""Prompts of a probe: which tokens an engine is given, and which rows of its logits are wanted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from posenc.models.model_positions import Window
from posenc.probe import bucket_weights as buckets
from posenc.probe.stream import FILLER, FIRST_QUERY, KEY

#: The longest window whose edge is asked for.
LONGEST_WINDOW = 16_384
#: The longest distance at which a bias is asked for.
LONGEST_BIAS = 64
#: The prompt of equal tokens, which shows whether values rotate, and its length.
VALUES, EQUAL = "values", 8
#: Beginning of the names of prompts in which the key does not stand at position 0, so that its rotation shows.
MOVED = "moved_"
#: The prompt of a decoder in which the key comes after the query.
LATER_KEY = "decoder_later_key"
#: Position of the key in the prompts of an encoder, behind the token that fills.
KEY_IN_ENCODER = 1
#: Distances around the edge of a window that are asked for.
EDGE = 2


#: Positions of the tokens, or a tuple of them for each coordinate.
PositionIds = tuple[int, ...] | tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Prompt:
    """Tokens for an engine, and the rows of its logits that are wanted.

    Attributes:
        name: Name of its array in the answer.
        tokens: Token ids.
        position_ids: Positions of the tokens, for engines that take them; a tuple for each coordinate where there are
            several; None for 0, 1, 2, ....
        rows: Rows of the logits, from 0; of the decoder's, where there is one.
        decoder_tokens: Token ids of the decoder, where the model has one besides an encoder; None elsewhere.
    """

    name: str
    tokens: tuple[int, ...]
    rows: tuple[int, ...]
    position_ids: PositionIds | None = None
    decoder_tokens: tuple[int, ...] | None = None

    def plain(self) -> dict[str, object]:
        """Return the prompt as plain data for probe.json."""
        held = asdict(self)
        return held if self.decoder_tokens is not None else {key: held[key] for key in held if key != "decoder_tokens"}

    def distances(self) -> tuple[int, ...]:
        """Positions of the rows less that of the first key; the largest of several coordinates."""
        return tuple(max(steps) for steps in self.steps())

    def steps(self) -> list[tuple[int, ...]]:
        """Positions of the rows less that of the first key, (rows, coordinates)."""
        key = self.tokens.index(KEY)
        return [tuple(one[row] - one[key] for one in self.coordinates()) for row in self.rows]

    def coordinates(self) -> list[tuple[int, ...]]:
        """Positions of the tokens by each coordinate, (coordinates, tokens)."""
        ids = (tuple(range(len(self.tokens))),) if self.position_ids is None else self.position_ids
        several = [one for one in ids if isinstance(one, tuple)]
        return several or [tuple(one for one in ids if isinstance(one, int))]


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


def encoder_prompts(queries: int, length: int, windows: Sequence[Window]) -> list[Prompt]:
    """Make prompts for queries that see later keys: a token that fills, then the key, then queries of one channel.

    The key's weight is read over that of the token that fills, so that it does not matter how many others are seen. A
    key with tokens that fill on both sides shows windows.
    """
    inside = (window.before - 1 for window in windows if 1 < window.before <= length)
    distances = sorted({*asked_distances(length), *inside})
    asked = [
        Prompt(
            f"channel_{channel}",
            (FILLER, KEY, *(FIRST_QUERY + channel,) * length),
            tuple(KEY_IN_ENCODER + distance for distance in distances),
        )
        for channel in range(queries)
    ]
    edges = sorted({side + 1 for window in windows for side in (window.before, window.after) if side < LONGEST_WINDOW})
    longest = max([length, *(edge + EDGE for edge in edges)])
    far = {*asked_distances(longest), *(edge + step for edge in edges for step in range(-EDGE, EDGE + 1))}
    rows = tuple(sorted(longest + side * one for one in far if one > 0 for side in (-1, 1)))
    sides = (FILLER,) * longest
    return [
        *asked,
        Prompt("window", (*sides, KEY, *sides), rows),
        Prompt(VALUES, (KEY, FILLER), (1,)),
    ]


def placed_prompts(queries: int, length: int, axes: int) -> list[Prompt]:
    """Three tokens for each query channel and distance, by position ids; the last token is at the longest distance.

    So frequencies that depend on the length of the sequence are the same in every prompt. Of several coordinates, all
    are alike, as in a text, and then each one is asked by itself, at the distance 1 and the longest.
    """
    asked = {f"distance_{distance}": (distance,) * axes for distance in asked_distances(length)}
    if axes > 1:
        asked |= {
            f"coordinate_{axis}_distance_{distance}": (0,) * axis + (distance,) + (0,) * (axes - axis - 1)
            for axis in range(axes)
            for distance in sorted({1, length})
        }
    return [
        Prompt(
            f"channel_{channel}_{name}",
            (KEY, FIRST_QUERY + channel, FILLER),
            (1,),
            _of_coordinates([(0, step, length) for step in steps]),
        )
        for channel in range(queries)
        for name, steps in asked.items()
    ]


def moved_prompts(queries: int, length: int, windows: Iterable[int]) -> list[Prompt]:
    """Make prompts whose key stands behind tokens that fill, before a query of each channel, inside every window.

    They are as long as the others, since frequencies may depend on the length.
    """
    last = min([length, *(window - 1 for window in windows)])
    place = last // 2
    prompts = []
    for first in range(0, queries, last - place) if place > 0 else ():
        channels = range(first, min(first + last - place, queries))
        tokens = [*(FILLER,) * place, KEY, *(FIRST_QUERY + channel for channel in channels)]
        rows = tuple(range(place + 1, len(tokens)))
        prompts.append(Prompt(f"{MOVED}{first}", (*tokens, *(FILLER,) * (length + 1 - len(tokens))), rows))
    return prompts


def moved_placed_prompts(queries: int, length: int, axes: int) -> list[Prompt]:
    """Make prompts of three tokens whose key has half the longest distance as its position, in every coordinate."""
    place = length // 2
    if not place:
        return []
    ids = _of_coordinates([(place, place + 1, length)] * axes)
    asked = range(queries)
    return [Prompt(f"{MOVED}{channel}", (KEY, FIRST_QUERY + channel, FILLER), (1,), ids) for channel in asked]


def _of_coordinates(ids: list[tuple[int, ...]]) -> PositionIds:
    """Position ids as engines take them: a plain list where there is one coordinate."""
    return ids[0] if len(ids) == 1 else tuple(ids)


def bias_prompt(length: int) -> Prompt:
    """Make a prompt whose rows are every distance, since each score is read off the sum of those before."""
    longest = min(length, LONGEST_BIAS)
    return Prompt("bias", (KEY, *(FILLER,) * longest), tuple(range(1, longest + 1)))


def value_prompt(position_ids: bool, axes: int = 1) -> Prompt:
    """Make a prompt of equal key tokens, so that attention output is the same in every row unless values rotate."""
    places = _of_coordinates([tuple(range(EQUAL))] * axes) if position_ids else None
    return Prompt(VALUES, (KEY,) * EQUAL, tuple(range(1, EQUAL)), places)


def bucket_prompts(before: Iterable[int], after: Iterable[int]) -> list[Prompt]:
    """Make prompts with the key at each distance from the query, for the encoder and for the decoder; and one more.

    In it the key comes after the query, where a decoder must not see it.
    """
    earlier, later = tuple(before), tuple(after)
    longest = max((*earlier, *later))
    prompts = []
    for distance in sorted({0, *(-one for one in earlier), *later}):
        tokens = [FILLER] * (2 * longest + 1)
        tokens[longest], tokens[longest + distance] = buckets.ASKED, buckets.KEY
        tokens[longest] = tokens[longest] if distance else buckets.ASKED_KEY
        prompts.append(Prompt(f"encoder_distance_{distance}", tuple(tokens), (0,), None, (FILLER,)))
    asked = (FILLER, buckets.ASKED)
    for distance in sorted({0, *(-one for one in earlier)}):
        tokens = [FILLER] * (longest + 1)
        tokens[longest + distance] = KEY
        prompts.append(Prompt(f"decoder_distance_{distance}", asked, (longest,), None, tuple(tokens)))
    return [*prompts, Prompt(LATER_KEY, asked, (0,), None, (FILLER, KEY))]


def row_prompts(last: int, position_ids: bool) -> list[Prompt]:
    """Make prompts for positions 0 to 4, around powers of two, and `last`: one prompt, or one for each position id."""
    near = {power + step for power in asked_distances(max(last, 1)) for step in (-1, 0, 1)}
    rows = tuple(sorted(row for row in {0, 1, 2, 3, 4, last, *near} if 0 <= row <= last))
    if not position_ids:
        return [Prompt("rows", (FILLER,) * (last + 1), rows)]
    return [Prompt(f"row_{row}", (FILLER,), (0,), (row,)) for row in rows]


def window_prompt(length: int, windows: Iterable[int]) -> list[Prompt]:
    """Make the prompt that shows up to which distance the key is seen, with dense rows at the edges of windows."""
    asked = sorted({window for window in windows if window <= LONGEST_WINDOW})
    longest = max([length, *(window + EDGE for window in asked)])
    edges = {window + step for window in asked for step in range(-EDGE, EDGE + 1)}
    rows = tuple(sorted(row for row in {*asked_distances(longest), *edges} if row > 0))
    return [Prompt("window", (KEY, *(FILLER,) * longest), rows)]
