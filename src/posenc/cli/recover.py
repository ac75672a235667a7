"""`posenc recover`: the position that a value came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import tyro

from posenc.cli.answer import Answer, Verb, attributes
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.learn import find_positions
from posenc.learn.course.find_positions import conventions_of


@dataclass(frozen=True)
class RecoverVerb(Verb):
    """Find the positions where a sinusoidal encoding has the values you know, under every convention or a stated one.

    A value fits within one unit of its last printed digit, since printed digits may be rounded or cut off.

    Some examples:
      posenc recover --dim 5120 --at 1088=0.488814
      posenc recover --dim 5120 --at 1088=0.488814 --exponent 2i/d
      posenc recover --dim 16 --base 100 --at 3=0.85
      posenc recover --dim 8 --at 0=0.1411 --at 2=0.2955 --largest 1000
      posenc recover --dim 8 --at 0=0.1411 --layout interleaved --first sine --start 0 --json
    """

    dim: int
    """How many dimensions the encoding has."""

    at: Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="DIMENSION=VALUE")] = ()
    """A dimension, counted from 0, and its value; give several to narrow the search."""

    base: float = 10_000.0
    """The base n of the formula."""

    exponent: Annotated[str | None, tyro.conf.arg(metavar="RULE")] = None
    """2i/d, i/d or i/(d/2-1); all three if left out."""

    layout: Annotated[str | None, tyro.conf.arg(metavar="LAYOUT")] = None
    """interleaved or concatenated; both if left out."""

    first: Annotated[str | None, tyro.conf.arg(metavar="WAVE")] = None
    """sine or cosine; both if left out."""

    start: int | None = None
    """What is added to every position; 0 and 1 if left out."""

    largest: int = 10_000_000
    """The largest position to search."""

    def run(self) -> Answer:
        if not self.at:
            raise ValueError("at must name a dimension and its value; got nothing. Write --at 1088=0.488814.")
        match = find_positions(self._values(), conventions=self._conventions(), largest=self.largest)
        facts = attributes(self, "dim", "base", "largest") | attributes(match, "printed", "fits")
        return Answer(lambda: {**facts, "lines": match.lines()}, match.lines)

    def _values(self) -> dict[int, float | str]:
        values: dict[int, float | str] = {}
        for text in self.at:
            dimension, equals, value = text.partition("=")
            if not equals or not dimension.strip().isdecimal():
                raise ValueError(f"at must be DIMENSION=VALUE; got {text!r}. Write --at 1088=0.488814.")
            if int(dimension) in values:
                raise ValueError(f"at must name a dimension once; got {int(dimension)} twice. Leave one out.")
            values[int(dimension)] = _sine_or_cosine(value.strip())
        return values

    def _conventions(self) -> list[Sinusoidal]:
        """Published conventions that are not ruled out."""
        stated = {"exponent": self.exponent, "layout": self.layout, "first": self.first, "start": self.start}
        return conventions_of(self.dim, self.base, stated)


def _sine_or_cosine(text: str) -> str:
    """Refuse a number outside [-1, 1]; return any other text as it is, since `find_positions` checks that."""
    try:
        size = abs(float(text))
    except ValueError:
        return text
    if size > 1.0:
        raise ValueError(
            f"at must give a value from -1 to 1, the range of sine and cosine; got {text}. Correct the value."
        )
    return text
