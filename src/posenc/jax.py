"""JAX: a record and what it learns as one pytree, whose leaves are the parameters and whose structure is the record.

Importing this module makes `Turn` and the other operators pytrees too (their leaves are their tables), so that a
rotation made once passes through `jit` and `vmap`. Records need nothing: they are hashable,
so they are closed over or passed as static arguments.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import wraps
from typing import Any, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import export

from posenc import _array, _check, parse
from posenc._array import Array
from posenc._array.jax_library import Jax
from posenc.doors import Adds, Biases, Documents, Encoding, Params, Rotates, Scores
from posenc.operators import ByChannel, Matrices, Polar, Rebased
from posenc.turn import Layout, Pairing, Turn

Method = TypeVar("Method", bound=Callable[..., Any])


def parameters(record: Encoding, seed: int = 0) -> dict[str, Array]:
    """What a record learns, drawn from the seed, as float32 arrays; empty when nothing is.

    The same numbers as `posenc.torch.module(record, seed=seed)` begins with.

    >>> from posenc import RoPE
    >>> parameters(RoPE(dim=8))
    {}
    """
    _check.instance("record", record, Encoding, "an encoding")
    rng = np.random.default_rng(_check.integer("seed", seed, 0, 2**63 - 1))
    return {name: jnp.asarray(value, dtype=jnp.float32) for name, value in record.init(rng).items()}


def bind(record: Encoding, seed: int = 0) -> Bound:
    """A record with fresh parameters."""
    return Bound(record, parameters(record, seed))


def _broadcasts(method: Method) -> Method:
    """A method within which axes are added by broadcasting, whatever `jax_numpy_rank_promotion` asks of the user's own
    code."""

    @wraps(method)
    def within(*arguments: Any, **named: Any) -> Any:
        with jax.numpy_rank_promotion("allow"):
            return method(*arguments, **named)

    return cast(Method, within)


@dataclass(frozen=True, eq=False)
class Bound:
    """A record and its parameters: a pytree that passes through jit, grad, vmap and an optimiser's tree_map.

    Each door has its method; the record says which exist: `add` (Adds), `rotate` (Rotates; of values `rotate_values`
    and `rotate_back`), `bias` (Biases), `score` and `values` (Scores). A method of another door raises TypeError.

    >>> import jax, jax.numpy as jnp
    >>> from posenc import ALiBi
    >>> jax.jit(lambda bound, positions: bound.bias(positions, positions))(bind(ALiBi(heads=2)), jnp.arange(3)).shape
    (2, 3, 3)
    """

    record: Encoding
    params: Params

    @_broadcasts
    def add(self, x: Array, positions: Array) -> Array:
        """x + encoding for x: (*batch, n, width) and positions (*batch, n) or (n,)."""
        return self._through(Adds, "add").attach(x, positions, self.params)

    @_broadcasts
    def rotate(self, q: Array, k: Array, query: Array, key: Array, *, layout: Layout) -> tuple[Array, Array]:
        """Turned q and k, whose heads may be grouped, for their own positions; layout "bhtd" or "bthd"."""
        record = self._through(Rotates, "rotate")
        lib = _array.library(q)
        query, key = _array.as_array("query", query, q), _array.as_array("key", key, k)
        turn_q = record.turn(query, self.params, role="query", dtype=lib.wide_dtype(q.dtype))
        turn_k = record.turn(key, self.params, role="key", dtype=lib.wide_dtype(k.dtype))
        return turn_q(q, layout=layout), turn_k(k, layout=layout)

    def rotate_values(self, v: Array, key: Array, *, layout: Layout) -> Array:
        """Values turned at the positions of their keys; layout "bhtd" or "bthd"."""
        return self._rotated(v, "key", key, "value", layout)

    def rotate_back(self, output: Array, query: Array, *, layout: Layout) -> Array:
        """The output of attention turned back at the positions of its queries."""
        return self._rotated(output, "query", query, "output", layout)

    @_broadcasts
    def _rotated(self, x: Array, name: str, positions: Array, role: Any, layout: Layout) -> Array:
        record = self._through(Rotates, "rotate_values and rotate_back")
        positions = _array.as_array(name, positions, x)
        dtype = _array.library(x).wide_dtype(x.dtype)
        return record.turn(positions, self.params, role=role, dtype=dtype)(x, layout=layout)

    @_broadcasts
    def bias(self, query: Array, key: Array, *, dtype: Any = None) -> Array:
        """The dense bias (*batch, heads, n, m) for positions (*batch, n) and (*batch, m)."""
        record, lib = self._through(Biases, "bias"), Jax()
        query, key = _array.as_array("query", query, lib), _array.as_array("key", key, lib)
        return record.matrix(query, key, self.params, dtype=dtype)

    @_broadcasts
    def score(
        self,
        q: Array,
        k: Array,
        query: Array,
        key: Array,
        *,
        hidden: Array | None = None,
        documents: Documents = None,
    ) -> Array:
        """What is added to the scaled logits; q: (*batch, h, n, d), k: (*batch, h, m, d)."""
        record: Any = self._through(Scores, "score")
        # Other scores see a query and a key at a time, so that a mask is all it takes to keep documents apart.
        packed = {"documents": documents} if record.gathers else {}
        return record.score(q, k, query, key, self.params, hidden=hidden, **packed)

    @_broadcasts
    def values(self, weights: Array, query: Array, key: Array) -> Array | None:
        """What is added to the attention output for weights (*batch, h, n, m); None where nothing is."""
        return self._through(Scores, "values").values(weights, query, key, self.params)

    def _through(self, door: type[Encoding], method: str) -> Any:
        _check.instance("record", self.record, door, f"a record of the door {door.door!r} for {method}")
        return self.record


def _record_to_bytes(meta: tuple[Encoding]) -> bytes:
    text = repr(meta[0])
    if type(meta[0]).__name__ not in parse.classes() or parse.record(text) != meta[0]:
        raise ValueError(
            f"record must be one that posenc knows, to be read back with the export; got {_check.shown(meta[0])}. "
            "Close over it instead of passing it as an argument."
        )
    return text.encode()


def _record_from_bytes(text: bytes) -> tuple[Encoding]:
    return (parse.record(text.decode()),)


def _fields_to_bytes(meta: tuple[Any, ...]) -> bytes:
    return json.dumps([asdict(value) if isinstance(value, Pairing) else value for value in meta]).encode()


def _fields_from_bytes(text: bytes) -> tuple[Any, ...]:
    return tuple(Pairing(**value) if isinstance(value, dict) else value for value in json.loads(text))


def _register(node: type, arrays: list[str], rest: list[str], to_bytes: Any, from_bytes: Any) -> None:
    """Make a class a pytree, which `jax.export` can write into a file and read back."""
    jax.tree_util.register_dataclass(node, data_fields=arrays, meta_fields=rest)
    name = f"posenc.{node.__name__}"
    export.register_pytree_node_serialization(
        node, serialized_name=name, serialize_auxdata=to_bytes, deserialize_auxdata=from_bytes
    )


_register(Bound, ["params"], ["record"], _record_to_bytes, _record_from_bytes)
for _operator, _arrays, _rest in (
    (Turn, ["cos", "sin"], ["pairing", "factor", "heads"]),
    (Rebased, ["turn", "basis"], []),
    (Polar, ["cos", "sin"], ["heads"]),
    (ByChannel, ["cos", "sin"], []),
    (Matrices, ["matrix"], ["heads"]),
):
    _register(_operator, _arrays, _rest, _fields_to_bytes, _fields_from_bytes)
