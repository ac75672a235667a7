"""Frequencies along directions of the plane: the share of each coordinate in an angle."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Literal

from posenc.core import validation
from posenc.core.declared_fields import Instance
from posenc.phase.frequencies import EXACT, TWO_PI, Frequencies


@dataclass(frozen=True)
class Directed(Frequencies):
    """ω_i·cos(π·d_i) for the first coordinate, ω_i·sin(π·d_i) for the second: frequencies along directions d_i.

    Args:
        frequencies: ω, radians a step.
        direction: d, in half revolutions from -1 to 1, one for each pair.
        coordinate: Coordinate that these frequencies are for.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: A direction is out of range, or there is not one for each pair.

    Example:
        >>> from posenc.frequencies import Geometric
        >>> Directed(Geometric(dim=4), (0.0, 0.5), "first").radians().tolist()
        [1.0, 0.0]
    """

    frequencies: Annotated[Frequencies, Instance("a record of frequencies")]
    direction: tuple[float, ...]
    coordinate: Literal["first", "second"]

    def _check_together(self) -> None:
        if not isinstance(self.direction, tuple | list) or len(self.direction) != self.frequencies.pairs:
            raise ValueError(
                f"direction must be {self.frequencies.pairs} numbers of half revolutions, one a pair; got "
                f"{validation.shown(self.direction)}. "
                "Give as many."
            )
        validation.settle(self, direction=tuple(validation.real("direction", one, -1.0, 1.0) for one in self.direction))

    @property
    def pairs(self) -> int:
        return len(self.direction)

    def exact(self) -> tuple[Decimal, ...]:
        which = 0 if self.coordinate == "first" else 1
        shares = (cosine_and_sine(direction)[which] for direction in self.direction)
        return tuple(
            EXACT.multiply(frequency, share) for frequency, share in zip(self.frequencies.exact(), shares, strict=True)
        )


@lru_cache(maxsize=1024)
def cosine_and_sine(half_revolutions: float | Decimal) -> tuple[Decimal, Decimal]:
    """Cosine and sine of π·d to 100 digits, from the nearest quarter turn, so that zeros are exact.

    Example:
        >>> [float(value) for value in cosine_and_sine(0.5)]
        [0.0, 1.0]
    """
    half_revolutions = Decimal(half_revolutions)
    quarter = round(EXACT.multiply(half_revolutions, Decimal(2)))
    angle = EXACT.multiply(EXACT.subtract(half_revolutions, EXACT.divide(Decimal(quarter), Decimal(2))), _HALF_TURN)
    cosine, sine = _series(angle, Decimal(1), 0), _series(angle, angle, 1)
    for _ in range(quarter % 4):
        cosine, sine = EXACT.minus(sine), cosine
    return cosine, sine


_HALF_TURN = EXACT.divide(TWO_PI, Decimal(2))


def _series(angle: Decimal, term: Decimal, power: int) -> Decimal:
    """Taylor series of cosine or sine from its first term, of degree `power`, until terms are below 1e-110."""
    square, total = EXACT.multiply(angle, angle), term
    while term.copy_abs() > Decimal("1e-110"):
        term = EXACT.minus(EXACT.divide(EXACT.multiply(term, square), Decimal((power + 1) * (power + 2))))
        power, total = power + 2, EXACT.add(total, term)
    return total
