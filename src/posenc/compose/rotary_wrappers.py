"""Rotary encodings that wrap another one: on some channels of a wider head, or by the negated angles."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.declared_fields import Instance, Whole
from posenc.core.doors import Params, Role, RotaryEncoding
from posenc.core.rotation import Pairing, Rotation, of_pairs
from posenc.core.row import Row
from posenc.encodings._wrapped import RotatesOne
from posenc.encodings.rotates.rope import RoPE
from posenc.frequencies import YaRN
from posenc.phase import FixedFrequencies, fixed_frequencies_of


@dataclass(frozen=True)
class Partial(RotatesOne):
    """Rotate some channels of a wider head; the others pass unchanged.

    The frequencies are those of the rotated width, as in GPT-NeoX. Any consecutive channels can rotate: the first
    (`start=0`) or, as in DeepSeek, the last (`start=dim - encoding.head_dim`). Positions, parameters, roles and dtype
    are those of the encoding.

    Args:
        encoding: A rotary encoding that rotates pairs.
        dim: Channels of the whole head.
        start: First channel that rotates.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: The rotated channels do not fit in the head.

    References:
        Black et al. 2022, arXiv:2204.06745, §2.1.

    Example:
        >>> import numpy as np
        >>> from posenc import RoPE
        >>> Partial(RoPE(dim=2), dim=4).rotation([1])(np.ones((1, 4))).round(3)
        array([[-0.301,  1.382,  1.   ,  1.   ]])
    """

    encoding: RotaryEncoding
    dim: int
    start: Annotated[int, Whole(0)] = 0

    def _check_together(self) -> None:
        encoding = validation.instance("encoding", self.encoding, RotaryEncoding, "an encoding that rotates")
        validation.settle(self, dim=validation.integer("dim", self.dim, encoding.head_dim))
        if self.start + encoding.head_dim > self.dim:
            raise ValueError(
                f"start must leave room for {encoding.head_dim} rotated channels within dim={self.dim}; got "
                f"{self.start}. Use a smaller start."
            )

    @property
    def head_dim(self) -> int:
        return self.dim

    @cached_property
    def fixed_frequencies(self) -> FixedFrequencies | None:
        """Frequencies of the rotation, for compiled kernels."""
        inner = fixed_frequencies_of(self.encoding)
        return None if inner is None else replace(inner, pairing=self._within(inner.pairing))

    def rotation(
        self, positions: Array, params: Params | None = None, *, role: Role = "both", dtype: Any = None
    ) -> Rotation:
        inner = of_pairs("encoding", self.encoding.rotation(positions, params, role=role, dtype=dtype))
        return Rotation(inner.cos, inner.sin, self._within(inner.pairing), inner.factor, inner.heads)

    def _within(self, inside: Pairing) -> Pairing:
        """Move the wrapped encoding's pairing to its channels of the whole head."""
        return Pairing(inside.layout, self.dim, inside.width, self.start + inside.start, inside.blocks)


@dataclass(frozen=True)
class Backward(RotatesOne):
    """(a, b) → (a·cos + b·sin, b·cos - a·sin) for every pair: rotate by the negative of each angle of another encoding.

    NanoChat rotates this way. The score at a distance is that of the encoding at the negative distance, so weights
    trained with one run with the other without an error, but wrong. Swapping the two channels of every pair has the
    same effect. Positions, parameters, roles and dtype are those of the encoding; an attention factor does not change.

    Args:
        encoding: A rotary encoding that rotates pairs, such as RoPE.

    Raises:
        TypeError: `encoding` is no rotary encoding.

        ValueError: A field breaks its rule; the message names it.

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


ROWS = (
    Row(
        Partial,
        (
            Partial(RoPE(dim=4, pairing="halves"), dim=10),
            Partial(RoPE(dim=6, scaling=YaRN(factor=8.0, original=128)), dim=10, start=3),
        ),
        "Black et al. 2022, arXiv:2204.06745",
        ("partial_rotary_factor", "rotary_pct (GPT-NeoX)", "rotary_dim (GPT-J)", "qk_rope_head_dim (DeepSeek)"),
        "To keep some channels of a head free of position.",
    ),
    Row(
        Backward,
        (
            Backward(RoPE(dim=6, pairing="halves")),
            Backward(RoPE(dim=4, base=100.0, scaling=YaRN(factor=8.0, original=128))),
        ),
        "no paper: released code of NanoChat; the rotation is Su et al. 2021, arXiv:2104.09864",
        ("NanoChatRotaryEmbedding", "rotate_half of (b, -a)"),
        "To run weights that were trained with the other sign.",
    ),
)
