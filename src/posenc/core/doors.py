"""Four doors through which a position enters a transformer.

An encoding is a frozen dataclass of plain numbers. It *adds* to the embeddings, *rotates* queries and keys, *biases*
the logits or *scores* content against position: one abstract method a door, from which everything else is derived.
The first two, which act on vectors, are here; `logit_doors` has the two that act on logits.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, final

from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import Positions, checked
from posenc.core.encoding import Claim as Claim
from posenc.core.encoding import Encoding as Encoding
from posenc.core.encoding import Params as Params
from posenc.core.encoding import first_array as first_array
from posenc.core.logit_doors import AttentionBias as AttentionBias
from posenc.core.logit_doors import AttentionScore as AttentionScore
from posenc.core.rotation import Operator

#: Of the queries and of the keys: which document of a row each token belongs to; None where a row holds one.
Documents = tuple[Array, Array] | None
Role = Literal["both", "query", "key", "value", "output"]
ROLES = ("both", "query", "key", "value", "output")


def check_tokens(x: Array, positions: Array) -> None:
    """Refuse embeddings and positions without an axis of tokens."""
    if x.ndim < 2 or not positions.ndim:
        raise ValueError(
            f"x and positions must have an axis of tokens; got shapes {tuple(x.shape)} and {tuple(positions.shape)}. "
            "Put a single position into a list."
        )


def fits_batch(batch: tuple[int, ...], of_positions: tuple[int, ...]) -> bool:
    """Whether positions of a batch broadcast to the batch of x, and leave it as it is.

    Example:
        >>> fits_batch((2, 3), (3,)), fits_batch((2, 3), (1, 3)), fits_batch((2, 3), (2, 1, 3)), fits_batch((1,), (2,))
        (True, True, False, False)
    """
    ahead = len(batch) - len(of_positions)
    return ahead >= 0 and all(
        validation.equals_one_of(size, 1, own) for own, size in zip(batch[ahead:], of_positions, strict=True)
    )


@dataclass(frozen=True)
class AdditiveEncoding(Encoding):
    """Door at the input: a vector for every position, added to the token's embedding."""

    door: ClassVar[str] = "adds"

    @property
    def width(self) -> int:
        """Channels of the vector: the field `dim`, of encodings that have one."""
        dim: int = self.dim  # type: ignore[attr-defined]
        return dim

    @abc.abstractmethod
    def embed(self, positions: Array, params: Params | None = None, *, dtype: Any = None) -> Array:
        """Compute the vectors of positions.

        Args:
            positions: (*batch, n), with a last axis of coordinates where `axes` is above 1; integers, float32 or
                float64.
            params: Parameters by name, as `init` returns them; None where nothing is learned.
            dtype: Of the result; None is float64 in NumPy and float32 in PyTorch and JAX.

        Returns:
            Vectors, (*batch, n, width).

        Raises:
            TypeError: An argument has the wrong type or dtype.
            ValueError: Positions are out of range, or parameters have other names or shapes.
        """

    @final
    def checked_call(self, positions: Array, params: Params | None, dtype: Any) -> tuple[Positions, Params, Any]:
        """Check the arguments of `embed` once.

        Args:
            positions: As `embed` takes them.
            params: As `embed` takes them.
            dtype: Of the result, or None.

        Returns:
            Positions, parameters of their library, and the dtype of the result.
        """
        learned = self.checked(params)
        positions = checked(positions, like=first_array(learned))
        positions.check_size(self.width, dtype := positions.lib.result_dtype(dtype))
        return positions, learned, dtype

    def attach(self, x: Array, positions: Array, params: Params | None = None) -> Array:
        """Add the vectors of positions to x, in float32 at least, rounded once to the dtype of x.

        Args:
            x: Embeddings of tokens, (*batch, n, width), any float dtype.
            positions: As for `embed`.
            params: As for `embed`.

        Returns:
            x + embed(positions), of the shape and dtype of x.

        Raises:
            TypeError: An argument has the wrong type or dtype.
            ValueError: x has not one vector of `width` channels for each position.
        """
        positions = arrays.as_array("positions", positions, like=arrays.floats("x", x))
        lib = arrays.library(x, positions)
        check_tokens(x, positions)
        lib.check_size("x", math.prod(x.shape), x.dtype, x)
        table = self.embed(positions, params, dtype=lib.wide_dtype(x.dtype))
        if x.shape[-1] != self.width or x.shape[-2] != table.shape[-2]:
            raise ValueError(
                f"x must have shape (..., {table.shape[-2]}, {self.width}); got {tuple(x.shape)}. Give one vector for "
                "each position."
            )
        if not fits_batch(x.shape[:-2], table.shape[:-2]):
            raise ValueError(
                f"x must have the batch of positions, {tuple(table.shape[:-2])}; got {tuple(x.shape[:-2])}. Give one "
                "row of positions, or one for each sequence."
            )
        return lib.astype(lib.wide(x) + table, x.dtype)


@dataclass(frozen=True)
class RotaryEncoding(Encoding):
    """Door at queries and keys: a rotation for every position.

    Attributes:
        roles: Vectors that are rotated: "query" and "key", or "value" and, back again, "output".
        roles_differ: Why each role needs a rotation of its own, as part of a sentence; empty where one serves both.
    """

    door: ClassVar[str] = "rotates"
    #: Vectors that are rotated: queries and keys, or values and, back again, the output.
    roles: ClassVar[tuple[Role, ...]] = ("query", "key")
    #: Why each role needs a rotation of its own, as part of a sentence; empty where one rotation serves both.
    roles_differ: ClassVar[str] = ""

    @property
    def head_dim(self) -> int:
        """Channels of a head: the field `dim`, of encodings that have one."""
        dim: int = self.dim  # type: ignore[attr-defined]
        return dim

    @abc.abstractmethod
    def rotation(
        self, positions: Array, params: Params | None = None, *, role: Role = "both", dtype: Any = None
    ) -> Operator:
        """Make the rotation of positions, to be applied in every layer and head.

        Args:
            positions: (*batch, n), with a last axis of coordinates where `axes` is above 1; integers, float32 or
                float64.
            params: Parameters by name, as `init` returns them; None where nothing is learned.
            role: Vectors that it is for; "both" is an error where queries and keys are treated differently.
            dtype: Of cosines and sines, as precise as the vectors; None is float64 in NumPy, float32 in PyTorch and
                JAX.

        Returns:
            A `Rotation`, or another `Operator` where it is no rotation of pairs.

        Raises:
            TypeError: An argument has the wrong type or dtype.
            ValueError: Positions are out of range, the role is unknown, or parameters have other names or shapes.
        """

    @final
    def checked_call(
        self, positions: Array, params: Params | None, role: Role, dtype: Any
    ) -> tuple[Positions, Params, Any]:
        """Check the arguments of `rotation` once.

        Args:
            positions: As `rotation` takes them.
            params: As `rotation` takes them.
            role: Whose vectors rotate.
            dtype: Of the result, or None.

        Returns:
            Positions, parameters of their library, and the dtype of the result.

        Raises:
            ValueError: `role` is unknown, or positions have too few axes or ask for too much memory.
        """
        learned = self.checked(params)
        if not self.roles_differ:
            validation.choice("role", role, ROLES)
        elif not isinstance(role, str) or role not in self.roles:
            raise ValueError(
                f"role must be {' or '.join(map(repr, self.roles))} for {type(self).__name__}, {self.roles_differ}; "
                f"got {validation.shown(role)}. Make a rotation for each."
            )
        positions = checked(positions, like=first_array(learned))
        if len(positions.array.shape) < (1 if self.axes == 1 else 2):
            last = "" if self.axes == 1 else f", {self.axes}"
            raise ValueError(
                f"positions must have an axis of positions, (*batch, n{last}); got shape "
                f"{tuple(positions.array.shape)}. Put a single position into a list."
            )
        positions.check_size(self.head_dim, dtype := positions.lib.result_dtype(dtype))
        return positions, learned, dtype
