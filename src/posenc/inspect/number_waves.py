"""A number as waves: its binary digits under square waves, its encoding under sinusoids."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from posenc.core import text_lines, validation
from posenc.core.doors import Encoding
from posenc.inspect.binary import Dials, dials

#: Points of a curve in its window, and whole periods that the window shows.
POINTS, PERIODS = 193, 3


@dataclass(frozen=True, eq=False)
class NumberWaves(text_lines.Lines):
    """The digits of a number and the pairs of its encoding, each with a stretch of its wave that ends at the number.

    Args:
        digits: (bits,) of 0 and 1, the last digit first.
        periods: 2, 4, 8, ... of the square waves.
        dials: The pairs of the encoding at the number. A window holds three periods of its own wave, so that every wave
            can be seen, whatever the number: `bit_windows` (bits, 2) and `pair_windows` (pairs, 2) say from where to
            where.
        sines: (pairs, 193), the sine of each pair at evenly spaced places of its window; the last is the number.
    """

    number: int
    encoding: Encoding
    digits: np.ndarray
    periods: np.ndarray
    bit_windows: np.ndarray
    dials: Dials
    pair_windows: np.ndarray
    sines: np.ndarray

    def lines(self) -> list[str]:
        bits = [
            [str(index), f"{period:,}", str(digit)]
            for index, (period, digit) in enumerate(zip(self.periods.tolist(), self.digits.tolist(), strict=True))
        ]
        return [
            f"{self.number} = {self.number:b} in binary",
            *text_lines.aligned(["bit", "period", "digit"], bits),
            *self.dials.lines(),
        ]


def number_waves(number: int, encoding: Encoding | None = None) -> NumberWaves:
    """The digits of a number under square waves and its encoding under sinusoids.

    Args:
        number: From 0 to 2^53, of any length.
        encoding: One with frequencies; Sinusoidal(dim=8) if left out.

    Raises:
        TypeError: For an encoding without frequencies, ValueError naming the argument.

    Example:
        >>> number_waves(150).digits.tolist()
        [0, 1, 1, 0, 1, 0, 0, 1]
    """
    from posenc.encodings.adds.sinusoidal import Sinusoidal

    number = validation.integer("number", number, 0, 2**53)
    encoding = Sinusoidal(dim=8) if encoding is None else encoding
    bits = max(1, number.bit_length())
    periods = np.array([2 << index for index in range(bits)], dtype=np.int64)
    hands = dials(encoding, number)
    back = np.linspace(-PERIODS, 0.0, POINTS)
    # A window reaches back from the number by whole periods, so its angles are the number's own less whole revolutions.
    sines = np.sin(2 * math.pi * (hands.revolutions[:, None] + back))
    ends = np.full(bits, number, dtype=np.float64)
    spans = PERIODS * hands.wavelengths
    return NumberWaves(
        number,
        encoding,
        np.array([number >> index & 1 for index in range(bits)]),
        periods,
        np.stack([ends - PERIODS * periods, ends], 1),
        hands,
        np.stack([number - spans, np.full(len(spans), float(number))], 1),
        sines,
    )
