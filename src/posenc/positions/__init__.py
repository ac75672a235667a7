"""Where each token is: ranges, padding, packing, decoding, and the distance between two places."""

from posenc.positions.distance import difference, steps
from posenc.positions.sequences import decoding, from_mask, packed, span

__all__ = ["decoding", "difference", "from_mask", "packed", "span", "steps"]
