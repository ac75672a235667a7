"""An embedding at several positions: the change that position makes, and the dimensions that hold it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posenc.core import arrays, text_lines, validation
from posenc.core.arrays import Array
from posenc.core.doors import AdditiveEncoding, Encoding, Params, RotaryEncoding
from posenc.inspect.encoding_facts import added, drawn_params, width_of

#: The positions of the article: beginning, middle and end of 100 tokens.
ARTICLE_POSITIONS = (0, 50, 99)
QUARTERS = 4


@dataclass(frozen=True, eq=False)
class PositionChange(text_lines.Lines):
    """A vector at several positions.

    Attributes:
        encoding: The encoding.
        vector: The vector, (d,).
        positions: The positions, (n,).
        encoded: The vector at each position, (n, d).
        against: Reference of `differences`, in words: the vector at the first position (adds) or the vector itself.
        compared: Positions that have a difference, (m,).
        differences: Differences from the reference, (m, d).
        shares: Part of each squared difference in each quarter of the dimensions, low ones first, (m, 4).
    """

    encoding: Encoding
    vector: np.ndarray
    positions: np.ndarray
    encoded: np.ndarray
    against: str
    compared: np.ndarray
    differences: np.ndarray
    shares: np.ndarray

    def lines(self) -> list[str]:
        """A row for each difference: its length and its share in each quarter."""
        rows = [
            [
                text_lines.number(position),
                text_lines.number(float(np.linalg.norm(difference)), 3),
                *(f"{share:.1%}" for share in shares),
            ]
            for position, difference, shares in zip(self.compared, self.differences, self.shares, strict=True)
        ]
        head = ["position", "difference", *(f"quarter {index + 1}" for index in range(QUARTERS))]
        return [
            f"{text_lines.short(self.encoding)}: one vector at positions "
            f"{', '.join(map(text_lines.number, self.positions))}",
            f"Length of the difference from {self.against}, and the share of its square in each quarter of the "
            "dimensions:",
            *text_lines.aligned(head, rows),
        ]


def position_change(
    encoding: Encoding,
    vector: Array | None = None,
    positions: Array = ARTICLE_POSITIONS,
    *,
    params: Params | None = None,
) -> PositionChange:
    """The same vector at several positions, and how its difference is spread over the dimensions.

    Args:
        encoding: An encoding that adds or rotates, with one axis.
        vector: (d,); by default what NumPy's legacy generator draws with seed 42, as the article does.
        positions: Two or more, (n,). The article's rotary code starts at position 1, so its slices 0, 50 and 99 are
            positions 1, 51 and 100 here.
        params: Learned parameters; drawn with seed 0 if left out.

    Returns:
        The vector at each position and its differences.

    Raises:
        TypeError: `encoding` neither adds nor rotates every head alike, or changes the width of a vector.
        ValueError: `vector` has another width, or there are fewer than two positions.

    Example:
        >>> from posenc import Sinusoidal
        >>> position_change(Sinusoidal(dim=128)).shares.round(3)[0].tolist()
        [0.421, 0.562, 0.017, 0.0]
    """
    if not isinstance(encoding, AdditiveEncoding | RotaryEncoding):
        raise TypeError(
            f"encoding must be one that adds or rotates; got {validation.shown(encoding)}. "
            "Give Sinusoidal(dim=128), say."
        )
    added(encoding)
    validation.one_axis("encoding", encoding)
    width = width_of(encoding)
    x = (
        np.random.RandomState(42).standard_normal(width)
        if vector is None
        else np.float64(arrays.numbers_on_host("vector", vector))
    )
    if x.shape != (width,):
        raise ValueError(f"vector must have shape ({width},); got {x.shape}. Give one number for each dimension.")
    at = arrays.numbers_on_host("positions", positions)
    if at.ndim != 1 or at.size < 2:
        raise ValueError(f"positions must be a list of two or more; got shape {at.shape}. Give [0, 50, 99], say.")
    params = drawn_params(encoding, params)
    if isinstance(encoding, AdditiveEncoding):
        encoded = x + np.asarray(encoding.embed(at, params))
        differences, against, compared = encoded[1:] - encoded[0], f"position {text_lines.number(at[0])}", at[1:]
    else:
        rotation = encoding.rotation(at, params, role=encoding.roles[0])
        if rotation.heads is not None or rotation.width != width:
            raise TypeError(
                f"encoding must rotate every head alike and keep its width; got {text_lines.short(encoding):.60}. "
                "Give RoPE(dim=128), say."
            )
        encoded = arrays.to_numpy(rotation(np.broadcast_to(x, (at.size, width))))
        differences, against, compared = encoded - x, "the vector itself", at
    return PositionChange(encoding, x, at, encoded, against, compared, differences, _shares(differences))


def _shares(differences: np.ndarray) -> np.ndarray:
    """Part of each squared difference in each quarter of the dimensions; zeros where nothing differs."""
    parts = np.array_split(differences**2, QUARTERS, axis=-1)
    sums = np.stack([part.sum(axis=-1) for part in parts], axis=-1)
    whole = sums.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(sums, whole, out=np.zeros_like(sums), where=whole > 0))
