"""Encodings appended to the embedding as channels of their own instead of added to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from posenc.core import arrays
from posenc.core.arrays import Array
from posenc.core.declared_fields import Instance
from posenc.core.doors import AdditiveEncoding, Params, check_tokens, fits_batch
from posenc.core.row import Row
from posenc.encodings._wrapped import AddsOne
from posenc.encodings.adds.learned import Learned
from posenc.encodings.adds.sinusoidal import Sinusoidal


@dataclass(frozen=True)
class Concatenated(AddsOne):
    """Append the encoding's vector to the embedding instead of adding it: `attach` widens x by `width` channels.

    Args:
        encoding: An additive encoding; positions and `embed` are as for it.

    Raises:
        TypeError: `encoding` is no additive encoding.

        ValueError: A field breaks its rule; the message names it.

    Example:
        >>> import numpy as np
        >>> from posenc import Sinusoidal
        >>> Concatenated(Sinusoidal(dim=2)).attach(np.zeros((1, 3)), [0]).tolist()
        [[0.0, 0.0, 0.0, 0.0, 1.0]]
    """

    encoding: Annotated[AdditiveEncoding, Instance("an encoding that adds")]

    def embed(self, positions: Array, params: Params | None = None, *, dtype: Any = None) -> Array:
        return self.encoding.embed(positions, params, dtype=dtype)

    def attach(self, x: Array, positions: Array, params: Params | None = None) -> Array:
        """Append the vectors of positions to x.

        Args:
            x: Embeddings of tokens, (*batch, n, d), any float dtype.
            positions: As for `embed`.
            params: As for `embed`.

        Returns:
            (*batch, n, d + width), in the dtype of x.

        Raises:
            TypeError: An argument has the wrong type or dtype.
            ValueError: x has not one token for each position.
        """
        positions = arrays.as_array("positions", positions, like=arrays.floats("x", x))
        lib = arrays.library(x, positions)
        check_tokens(x, positions)
        rows = lib.astype(self.embed(positions, params, dtype=lib.wide_dtype(x.dtype)), x.dtype)
        if x.shape[:-1] != (*x.shape[:-2], rows.shape[-2]):
            raise ValueError(
                f"x must have one token for each of {rows.shape[-2]} positions; got shape {tuple(x.shape)}. Give as "
                "many positions as tokens."
            )
        if not fits_batch(x.shape[:-2], rows.shape[:-2]):
            raise ValueError(
                f"positions must be (n,) or (*batch, n) for x of shape {tuple(x.shape)}; got shape "
                f"{tuple(positions.shape)}. Give one row, or one for each sequence."
            )
        return lib.xp.concatenate([x, lib.xp.broadcast_to(rows, (*x.shape[:-1], rows.shape[-1]))], -1)


ROW = Row(
    Concatenated,
    (Concatenated(Sinusoidal(dim=4)), Concatenated(Learned(dim=3, length=7))),
    "no paper: the notes' first idea, a feature next to the others",
    ("position as a feature",),
    "To keep position and content in separate channels, at the cost of a wider model.",
)
