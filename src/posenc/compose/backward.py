"""A rotation the other way round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from posenc.core.arrays import Array
from posenc.core.declared_fields import Instance
from posenc.core.doors import Params, Role, RotaryEncoding
from posenc.core.rotation import Rotation, of_pairs
from posenc.core.row import Row
from posenc.encodings._wrapped import RotatesOne
from posenc.encodings.rotates.rope import RoPE
from posenc.frequencies import YaRN


@dataclass(frozen=True)
class Backward(RotatesOne):
    """(a, b) → (a·cos + b·sin, b·cos - a·sin) for every pair.

    The rotation of another encoding by the negative of each angle.

    NanoChat rotates this way. The score at a distance is that of the encoding at the negative distance, so weights
    trained with one run with the other without an error, but wrong. Swapping the two channels of every pair has the
    same effect.

    Positions, parameters, roles and dtype are those of the encoding.

    Args:
        encoding: An encoding that rotates pairs, such as RoPE. An attention factor does not change.

    Raises:
        ValueError: A value breaks its rule; the message names the argument.
        TypeError: A value breaks its rule; the message names the argument.

    Example:
        >>> import numpy as np
        >>> from posenc import RoPE
        >>> Backward(RoPE(dim=2)).rotation([1])(np.array([[1.0, 0.0]])).round(4).tolist()  # cos 1 and -sin 1
        [[0.5403, -0.8415]]
    """

    encoding: Annotated[RotaryEncoding, Instance("an encoding that rotates")]

    def rotation(
        self, positions: Array, params: Params | None = None, *, role: Role = "both", dtype: Any = None
    ) -> Rotation:
        rotation = of_pairs("encoding", self.encoding.rotation(positions, params, role=role, dtype=dtype))
        return Rotation(rotation.cos, -rotation.sin, rotation.pairing, rotation.factor, rotation.heads)


ROW = Row(
    Backward,
    (
        Backward(RoPE(dim=6, pairing="halves")),
        Backward(RoPE(dim=4, base=100.0, scaling=YaRN(factor=8.0, original=128))),
    ),
    "no paper: released code of NanoChat; the rotation is Su et al. 2021, arXiv:2104.09864",
    ("NanoChatRotaryEmbedding", "rotate_half of (b, -a)"),
    "To run weights that were trained with the other sign.",
)
