"""An encoding and its parameters as one pytree, whose leaves are the parameters and whose structure is the encoding."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Any

from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.arrays.jax_library import Jax
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
from posenc.core.rotation import OperatorLayout
from posenc.jax.fresh_parameters import parameters


class DoorMethods(abc.ABC):
    """A method for each door; the encoding says which exist. A method of another door raises TypeError."""

    encoding: Encoding

    @abc.abstractmethod
    def _arrays(self) -> Params:
        """The parameters as JAX arrays."""

    def add(self, x: Array, positions: Array) -> Array:
        """x + encoding for x: (*batch, n, width) and positions (*batch, n) or (n,)."""
        return self._through(AdditiveEncoding, "add").attach(x, positions, self._arrays())

    def rotate(
        self, q: Array, k: Array, query_positions: Array, key_positions: Array, *, layout: OperatorLayout
    ) -> tuple[Array, Array]:
        """Rotated q and k, whose heads may be grouped, for their own positions.

        Args:
            layout: "bhtd" or "bthd"; "thd" without a batch; "btkgd" for q of shape (batch, n, key heads, group, d) and
                k of shape (batch, m, key heads, d).
        """
        encoding = self._through(RotaryEncoding, "rotate")
        rotated = self._rotated(encoding, q, "query", query_positions, "query", layout)
        return rotated, self._rotated(encoding, k, "key", key_positions, "key", "bthd" if layout == "btkgd" else layout)

    def rotate_values(self, v: Array, key: Array, *, layout: OperatorLayout) -> Array:
        """Values rotated at the positions of their keys."""
        encoding = self._through(RotaryEncoding, "rotate_values and rotate_back")
        return self._rotated(encoding, v, "key", key, "value", layout)

    def rotate_back(self, output: Array, query: Array, *, layout: OperatorLayout) -> Array:
        """The output of attention rotated back at the positions of its queries."""
        encoding = self._through(RotaryEncoding, "rotate_values and rotate_back")
        return self._rotated(encoding, output, "query", query, "output", layout)

    def bias(self, query_positions: Array, key_positions: Array, *, dtype: Any = None) -> Array:
        """The dense bias (*batch, heads, n, m) for positions (*batch, n) and (*batch, m)."""
        encoding, lib = self._through(AttentionBias, "bias"), Jax()
        query_positions, key_positions = (
            arrays.as_array("query_positions", query_positions, lib),
            arrays.as_array("key_positions", key_positions, lib),
        )
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
        """What is added to the scaled logits;

        Args:
            q: (*batch, h, n, d), k: (*batch, h, m, d) or with fewer heads, each for a group of query heads.
        """
        encoding = self._through(AttentionScore, "score")
        # Other scores see a query and a key at a time, so a mask alone separates documents.
        packed = {"documents": documents} if encoding.gathers else {}
        return encoding.score(q, k, query_positions, key_positions, self._arrays(), hidden=hidden, **packed)

    def values(self, weights: Array, query_positions: Array, key_positions: Array) -> Array | None:
        """What is added to the attention output for weights (*batch, h, n, m); None where nothing is."""
        return self._through(AttentionScore, "values").values(weights, query_positions, key_positions, self._arrays())

    def _rotated(
        self, encoding: Any, x: Array, name: str, positions: Array, role: Role, layout: OperatorLayout
    ) -> Array:
        positions = arrays.as_array(name, positions, x)
        rotation = encoding.rotation(positions, self._arrays(), role=role, dtype=arrays.library(x).wide_dtype(x.dtype))
        return rotation(x, layout=layout)

    def _through(self, door: type[Encoding], method: str) -> Any:
        return validation.instance(
            "encoding", self.encoding, door, f"an encoding of the door {door.door!r} for {method}"
        )


@dataclass(frozen=True, eq=False)
class Bound(DoorMethods):
    """An encoding and its parameters: a pytree that passes through jit, grad, vmap and an optimiser's tree_map.

    Each door has its method; the encoding says which exist: `add` (Adds), `rotate` (Rotates; of values `rotate_values`
    and `rotate_back`), `bias` (Biases), `score` and `values` (Scores). A method of another door raises TypeError.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from posenc import ALiBi
        >>> jax.jit(lambda bound, positions: bound.bias(positions, positions))(bind(ALiBi(heads=2)), jnp.arange(3)).shape
        (2, 3, 3)
    """

    encoding: Encoding
    params: Params

    def _arrays(self) -> Params:
        return self.params


def bind(encoding: Encoding, seed: int | Array = 0) -> Bound:
    """An encoding with fresh parameters, drawn from a seed or from a JAX key as `parameters` draws them."""
    return Bound(encoding, parameters(encoding, seed))
