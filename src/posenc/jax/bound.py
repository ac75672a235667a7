"""An encoding and its parameters as one pytree: the parameters are its leaves, the encoding its structure."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Any

from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.arrays.jax_library import Jax
from posenc.core.checked_attention import token_positions
from posenc.core.doors import (
    AdditiveEncoding,
    AttentionBias,
    AttentionScore,
    Documents,
    Encoding,
    Params,
    Role,
    RotaryEncoding,
)
from posenc.core.rotation import OPERATOR_LAYOUTS, OperatorLayout
from posenc.jax.host_values import parameters


class DoorMethods(abc.ABC):
    """Methods of all four doors; a method of a door that is not the encoding's raises TypeError."""

    encoding: Encoding

    @abc.abstractmethod
    def _arrays(self) -> Params:
        """Parameters as JAX arrays."""

    def add(self, x: Array, positions: Array) -> Array:
        """Add the encoding to vectors.

        Args:
            x: Vectors (*batch, n, width).
            positions: Positions (n,) or (*batch, n), with a last axis of coordinates where there are several.

        Returns:
            x plus the encoding, in the shape and dtype of x.

        Raises:
            TypeError: The encoding is of another door, or an argument of another kind.
            ValueError: `positions` or the shape of `x` do not fit the encoding.
        """
        return self._through(AdditiveEncoding, "add").attach(x, positions, self._arrays())

    def rotate(
        self, q: Array, k: Array, query_positions: Array, key_positions: Array, *, layout: OperatorLayout
    ) -> tuple[Array, Array]:
        """Rotate queries and keys, each at its own positions.

        Args:
            q: Queries, in the order of axes that `layout` says.
            k: Keys; they may have fewer heads than q.
            query_positions: Positions (n,) or (batch, n).
            key_positions: Positions (m,) or (batch, m).
            layout: "bhtd" or "bthd"; "thd" without a batch; "btkgd" for q of shape (batch, n, key heads, group, d) and
                k of shape (batch, m, key heads, d).

        Returns:
            Rotated q and k, in their own dtype.

        Raises:
            TypeError: The encoding is of another door, or an argument of another kind.
            ValueError: Positions or shapes do not fit the encoding or the layout.
        """
        encoding = self._through(RotaryEncoding, "rotate")
        rotated = self._rotated(encoding, "q", q, "query_positions", query_positions, "query", layout)
        of_keys: OperatorLayout = "bthd" if layout == "btkgd" else layout
        return rotated, self._rotated(encoding, "k", k, "key_positions", key_positions, "key", of_keys)

    def rotate_values(self, v: Array, key_positions: Array, *, layout: OperatorLayout) -> Array:
        """Rotate values at the positions of their keys.

        Args:
            v: Values, in the order of axes that `layout` says.
            key_positions: Positions (m,) or (batch, m).
            layout: "bhtd", "bthd" or "thd".

        Returns:
            Rotated v, in its own dtype.

        Raises:
            TypeError: The encoding is of another door, or an argument of another kind.
            ValueError: The encoding does not rotate values, or an argument does not fit it.
        """
        encoding = self._through(RotaryEncoding, "rotate_values and rotate_back")
        return self._rotated(encoding, "v", v, "key_positions", key_positions, "value", layout)

    def rotate_back(self, output: Array, query_positions: Array, *, layout: OperatorLayout) -> Array:
        """Rotate the output of attention back at the positions of its queries.

        Args:
            output: Output of attention over rotated values, in the order of axes that `layout` says.
            query_positions: Positions (n,) or (batch, n).
            layout: "bhtd", "bthd" or "thd".

        Returns:
            The output rotated back, in its own dtype.

        Raises:
            TypeError: The encoding is of another door, or an argument of another kind.
            ValueError: The encoding does not rotate values, or an argument does not fit it.
        """
        encoding = self._through(RotaryEncoding, "rotate_values and rotate_back")
        return self._rotated(encoding, "output", output, "query_positions", query_positions, "output", layout)

    def bias(self, query_positions: Array, key_positions: Array, *, dtype: Any = None) -> Array:
        """Compute the dense bias of the logits.

        Args:
            query_positions: Positions (*batch, n).
            key_positions: Positions (*batch, m).
            dtype: Float dtype of the result; None for float32.

        Returns:
            Bias (*batch, heads, n, m).

        Raises:
            TypeError: The encoding is of another door, or an argument of another kind.
            ValueError: Positions do not fit the encoding.
        """
        encoding, lib = self._through(AttentionBias, "bias"), Jax()
        query_positions = arrays.as_array("query_positions", query_positions, lib)
        key_positions = arrays.as_array("key_positions", key_positions, lib)
        return encoding.matrix(query_positions, key_positions, self._arrays(), dtype=dtype)

    def score(
        self,
        q: Array,
        k: Array,
        query_positions: Array,
        key_positions: Array,
        *,
        hidden: Array | None = None,
        documents: Documents = None,
    ) -> Array:
        """Compute what is added to the scaled logits.

        Args:
            q: Queries (*batch, h, n, d).
            k: Keys (*batch, h, m, d), or with fewer heads, each for a group of query heads.
            query_positions: Positions (*batch, n).
            key_positions: Positions (*batch, m).
            hidden: Input of the layer, for an encoding that reads it.
            documents: Numbers of the documents of queries and keys, in the shape of their positions, where a row holds
                several.

        Returns:
            Scores (*batch, h, n, m).

        Raises:
            TypeError: The encoding is of another door, or an argument of another kind.
            ValueError: An argument does not fit the encoding.
        """
        encoding = self._through(AttentionScore, "score")
        # Other scores see a query and a key at a time, so a mask alone separates documents.
        packed = {"documents": documents} if encoding.gathers else {}
        return encoding.score(q, k, query_positions, key_positions, self._arrays(), hidden=hidden, **packed)

    def values(self, weights: Array, query_positions: Array, key_positions: Array) -> Array | None:
        """Compute what is added to the output of attention.

        Args:
            weights: Weights of attention (*batch, h, n, m).
            query_positions: Positions (*batch, n).
            key_positions: Positions (*batch, m).

        Returns:
            Term (*batch, h, n, d) of the output; None where nothing is added.

        Raises:
            TypeError: The encoding is of another door, or an argument of another kind.
            ValueError: An argument does not fit the encoding.
        """
        return self._through(AttentionScore, "values").values(weights, query_positions, key_positions, self._arrays())

    def _rotated(
        self,
        encoding: Any,
        name: str,
        x: Array,
        positions_name: str,
        positions: Array,
        role: Role,
        layout: OperatorLayout,
    ) -> Array:
        """Rotate the argument `name` in one role, at positions whose argument is `positions_name`."""
        validation.choice("layout", layout, OPERATOR_LAYOUTS)
        if arrays.floats(name, x).ndim != len(layout) or x.shape[-1] != encoding.head_dim:
            raise ValueError(
                f"{name} must have shape {layout!r} with d = {encoding.head_dim}; got {tuple(x.shape)}. Give whole "
                "heads, all axes."
            )
        at = token_positions(positions_name, positions, x, encoding.axes, layout).array
        rotation = encoding.rotation(at, self._arrays(), role=role, dtype=arrays.library(x).wide_dtype(x.dtype))
        return rotation(x, layout=layout)

    def _through(self, door: type[Encoding], method: str) -> Any:
        """Return the encoding if it is of this door; else raise TypeError."""
        return validation.instance(
            "encoding", self.encoding, door, f"an encoding of the door {door.door!r} for {method}"
        )


@dataclass(frozen=True, eq=False)
class Bound(DoorMethods):
    """An encoding and its parameters: a pytree that passes through jit, grad, vmap and an optimiser's tree_map.

    Each door has its methods: `add` of additive encodings; `rotate` of rotary ones, and for values `rotate_values` and
    `rotate_back`; `bias`; `score` and `values`. A method of another door raises TypeError.

    Args:
        encoding: Encoding; the structure of the pytree.
        params: Its parameters by name; the leaves of the pytree.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from posenc import ALiBi
        >>> bias = jax.jit(lambda bound, positions: bound.bias(positions, positions))
        >>> bias(bind(ALiBi(heads=2)), jnp.arange(3)).shape
        (2, 3, 3)
    """

    encoding: Encoding
    params: Params

    def _arrays(self) -> Params:
        return self.params


def bind(encoding: Encoding, seed: int | Array = 0) -> Bound:
    """Give an encoding fresh parameters.

    Args:
        encoding: Encoding.
        seed: Whole number or key of `jax.random`, as `parameters` takes it.

    Returns:
        The encoding with its parameters.

    Raises:
        TypeError: `encoding` is no encoding, or `seed` neither a whole number nor one key.
        ValueError: `seed` is negative.

    Example:
        >>> from posenc import RoPE
        >>> bind(RoPE(dim=8)).params
        {}
    """
    return Bound(encoding, parameters(encoding, seed))


def as_bound(held: Any) -> Bound | None:
    """Bound encoding that an object holds: itself, a module of flax or an `nnx.Param` around one; None in others.

    An `nnx.Param` shows the attributes of what it holds, by which it is known here without flax.

    Example:
        >>> from posenc import RoPE
        >>> as_bound(bind(RoPE(dim=8))).encoding.dim
        8
    """
    if isinstance(held, Bound):
        return held
    if isinstance(held, DoorMethods):
        return Bound(held.encoding, held._arrays())
    encoding, params = getattr(held, "encoding", None), getattr(held, "params", None)
    return Bound(encoding, params) if isinstance(encoding, Encoding) and isinstance(params, dict) else None
