"""Where each token is: ranges, padding, packing, decoding, random and coupled positions, and the distance between two places."""

from posenc.positions.augmented import augmented
from posenc.positions.bi_level import bi_level
from posenc.positions.coupled import coupled
from posenc.positions.distance import difference, steps
from posenc.positions.randomised import randomised
from posenc.positions.sequences import decoding, from_mask, packed, span
from posenc.positions.shifted import shifted
from posenc.positions.skip_wise import skip_wise

__all__ = [
    "augmented",
    "bi_level",
    "coupled",
    "decoding",
    "difference",
    "from_mask",
    "packed",
    "randomised",
    "shifted",
    "skip_wise",
    "span",
    "steps",
]
