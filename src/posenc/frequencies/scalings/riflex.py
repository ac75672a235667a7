"""RIFLEx: one pair of the time of a video is slowed until it makes less than a revolution."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

from posenc.core import validation
from posenc.core.arrays import Array, Library
from posenc.core.declared_fields import Real, Whole
from posenc.frequencies.geometric import Geometric
from posenc.frequencies.scalings.scaling import LONGEST, PositionCount, Scaling
from posenc.phase.frequencies import EXACT, TWO_PI


@dataclass(frozen=True)
class RIFLEx(Scaling):
    """ω'_pair = share · 2π / length; the other frequencies stay.

    The pair is the one whose wavelength is nearest to the number of frames after which videos of the model begin to
    repeat themselves; `RIFLEx.pair_repeating` finds it. It is a scaling of time: `encoding.scaled(RIFLEx(…), axis=0)`
    of an `AxialRoPE` changes that axis alone.

    Args:
        pair: Number of the pair, from 0 for the fastest; the k of the authors' code is one more.
        length: Number of frames that are generated, in positions (`L_test`).
        share: Share of a revolution over that length: 1 in the paper, 0.9 in the authors' code, so that the last frames
            do not repeat the first.

    Raises:
        TypeError: A field is no number.
        ValueError: A field is out of range, there is no such pair, or it would rotate faster than before.

    References:
        Zhao et al. 2025, arXiv:2502.15894, eq. 8, in the authors' code (thu-ml/RIFLEx, commit 2bff7fe).

    Example:
        >>> from posenc.frequencies import Geometric, Rescaled
        >>> Rescaled(Geometric(dim=4), RIFLEx(pair=0, length=9)).radians().round(4).tolist()
        [0.6283, 0.01]
    """

    pair: Annotated[int, Whole(0)]
    length: PositionCount
    share: Annotated[float, Real(0.0, 1.0, above=True)] = 0.9

    def fits(self, unscaled: Geometric) -> None:
        if self.pair >= unscaled.pairs:
            raise ValueError(
                f"pair must be below the {unscaled.pairs} pairs that there are; got {self.pair}. Count from 0."
            )
        before, after = unscaled.exact()[self.pair], self._slowed()
        if after > before:
            least = math.ceil(EXACT.divide(EXACT.multiply(Decimal(self.share), TWO_PI), before))
            raise ValueError(
                f"length must be at least {least}, or pair {self.pair} would rotate faster than before; got "
                f"{self.length}. Leave the scaling out for shorter videos."
            )

    def exact(self, unscaled: Geometric) -> tuple[Decimal, ...]:
        before = unscaled.exact()
        return (*before[: self.pair], self._slowed(), *before[self.pair + 1 :])

    def float32(self, unscaled: Geometric, lib: Library) -> Array:
        before = unscaled.float32(lib)
        slowed = self.share * 2 * math.pi / self.length + 0 * before[self.pair : self.pair + 1]
        return lib.xp.concatenate([before[: self.pair], slowed, before[self.pair + 1 :]], 0)

    def _slowed(self) -> Decimal:
        """New frequency of the pair, share · 2π / length, to 100 digits."""
        return EXACT.divide(EXACT.multiply(Decimal(self.share), TWO_PI), Decimal(self.length))

    @staticmethod
    def pair_repeating(frequencies: Geometric, frames: int) -> int:
        """Pair whose wavelength, rounded to whole positions, is nearest to a number of frames; the fastest of several.

        Args:
            frequencies: Frequencies of time before the scaling.
            frames: First frame, in positions, at which videos of the model repeat themselves.

        Returns:
            Number of the pair, from 0.

        Raises:
            TypeError: An argument has the wrong type.
            ValueError: `frames` is out of range.

        Example:
            >>> RIFLEx.pair_repeating(Geometric(dim=16, base=256.0), frames=50)  # HunyuanVideo
            3
        """
        unscaled = validation.instance("frequencies", frequencies, Geometric, "Geometric(dim=16), say")
        frames = validation.integer("frames", frames, 1, LONGEST)
        apart = [abs(round(2 * math.pi / radians) - frames) for radians in unscaled.radians().tolist()]
        return apart.index(min(apart))
