"""Probes of encodings by the checks: one function of positions for every door and library.

Whatever the door, the answer has the places on its last axis but one, so that a row belongs to a position: vectors for
adds, cosines and sines for rotates, (head, query, anchor keys) for biases and scores. Content is the same at every
place, so that a row depends on its position alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any, Literal, cast

import numpy as np

from posenc.core import arrays
from posenc.core.arrays import Array
from posenc.core.doors import AdditiveEncoding, AttentionBias, AttentionScore, Encoding, RotaryEncoding
from posenc.core.rotation import Operator, Rotation, at_every_head
from posenc.testing.named_check import PAIRWISE
from posenc.testing.one_coordinate import Line, one_coordinate

Side = Literal["query", "key", "value", "output"]

#: The places on the other side of a pairwise door.
ANCHORS = (0, 1, 2, 3, 5)
#: Positions that no encoding with a table of a few rows refuses, in no order and with one twice.
SOME = (0, 3, 1, 4, 2, 3, 0)
FAR = 2**50


def read_only(*positions: int) -> np.ndarray:
    """Make positions that no encoding under test can write into, so that one test cannot spoil the next."""
    held = np.array(positions)
    held.setflags(write=False)
    return held


def array_module(name: str) -> Any:
    """Import the array functions of a library, "jax" for jax.numpy, only once a check needs them."""
    return import_module({"jax": "jax.numpy"}.get(name, name))


def array(values: Any, name: str = "numpy", dtype: str | None = None) -> Array:
    """Convert host numbers to an array of a library; integers to int64 (int32 in JAX), floats as asked."""
    xp = array_module(name)
    if not isinstance(values, np.ndarray | np.generic | int | float | list | tuple | range):  # already of that library
        return values if dtype is None else arrays.library(values).astype(values, getattr(xp, dtype))
    if name == "numpy" and dtype is None and isinstance(values, np.ndarray):
        return values
    values = np.asarray(values)
    if dtype is None and values.dtype.kind in "iu":
        dtype = "int32" if name == "jax" else "int64"
    return xp.asarray(values, dtype=None if dtype is None else getattr(xp, dtype))


def as_numpy(result: Any) -> np.ndarray:
    """Convert any library's array to NumPy's, bfloat16 to float32."""
    if hasattr(result, "detach"):
        result = result.detach()
        result = result.float() if str(result.dtype) == "torch.bfloat16" else result
    results = np.asarray(result)
    return results.astype(np.float32) if results.dtype.name == "bfloat16" else results


def moved_parameters(encoding: Encoding, seed: int = 0) -> dict[str, np.ndarray]:
    """Draw parameters and move each a little: a zero or a one would hide a mistake in what it multiplies."""
    rng = np.random.default_rng(seed)
    drawn = encoding.init(rng)
    return {name: np.asarray(value) + 0.25 * rng.standard_normal(np.shape(value)) for name, value in drawn.items()}


def single_parameters(encoding: Encoding) -> dict[str, np.ndarray]:
    """Draw parameters that float32 holds, as float64."""
    return {name: value.astype(np.float32).astype(np.float64) for name, value in moved_parameters(encoding).items()}


def converted(params: Mapping[str, Any], name: str, dtype: str) -> dict[str, Array] | None:
    """Convert parameters to a library's dtype; None where nothing is learned."""
    return {key: array(value, name, dtype) for key, value in params.items()} or None


def number_of_heads(encoding: Encoding) -> int:
    """Number of heads of an encoding that states them, else three."""
    return int(getattr(encoding, "heads", 3))


def head_width(encoding: Encoding) -> int:
    """Number of channels of a head at the doors that read content."""
    return int(encoding.head_dim if isinstance(encoding, RotaryEncoding) else getattr(encoding, "dim", 4))


def content_vectors(encoding: Encoding, seed: int, name: str = "numpy", dtype: str = "float64") -> Array:
    """Draw one query or key vector per head, (heads, 1, d), to be used at every place."""
    drawn = np.random.default_rng(seed).standard_normal((number_of_heads(encoding), 1, head_width(encoding)))
    return array(drawn, name, dtype)


def content_width(encoding: Encoding) -> int:
    """Number of channels of vectors that are added to, or rotated."""
    return encoding.head_dim if isinstance(encoding, RotaryEncoding) else cast(AdditiveEncoding, encoding).width


def applied(encoding: Encoding, x: Array, positions: Any, params: Any, dtype: Any = None) -> Array:
    """Add to or rotate content (*batch, n, width) at its positions; `dtype` is that of a rotation."""
    if isinstance(encoding, RotaryEncoding):
        return at_every_head(encoding.rotation(positions, params, role=encoding.roles[0], dtype=dtype), x)
    return cast(AdditiveEncoding, encoding).attach(x, positions, params)


def content_at(encoding: Encoding, seed: int, side_positions: int) -> np.ndarray:
    """Draw queries or keys that differ from place to place, (heads, places, d)."""
    return _drawn(seed, (number_of_heads(encoding), side_positions, head_width(encoding)))


def program(
    encoding: Encoding,
    *,
    name: str = "numpy",
    dtype: str | None = None,
    side: Side | None = None,
    params: Mapping[str, Any] | None = None,
    anchors: Any = ANCHORS,
) -> Callable[[Array], Array]:
    """Make a function of positions (*batch, n) of one library, all else fixed, that can be compiled and exported."""
    encoding = one_coordinate(encoding)
    side = sides(encoding)[0] if side is None else side
    single = dtype if dtype in ("float32", "float64") else "float32"
    wide = "float64" if name == "numpy" and dtype is None else single
    params = converted(moved_parameters(encoding) if params is None else params, name, wide)
    chosen = None if dtype is None else getattr(array_module(name), dtype)
    if isinstance(encoding, AdditiveEncoding):
        return lambda positions: encoding.embed(positions, params, dtype=chosen)
    if isinstance(encoding, RotaryEncoding):
        return partial(_cosines_and_sines, encoding, params, side, chosen, name)
    other = array(anchors, name)
    if isinstance(encoding, AttentionBias):
        return partial(_matrix, encoding, params, side, chosen, other)
    scores = cast(AttentionScore, encoding)
    vectors = [content_vectors(encoding, seed, name, dtype or wide) for seed in (1, 2)]
    vectors += [array(_drawn(5, (1, scores.model_dim)), name, dtype or wide)] if scores.reads else []  # type: ignore[attr-defined]
    return partial(_score, scores, params, side, vectors, other, array_module(name))


def probed_rows(encoding: Encoding, positions: Any, **chosen: Any) -> np.ndarray:
    """Run `program` at positions; return a NumPy array with the positions on its last axis but one."""
    name = chosen.get("name", "numpy")
    inputs = positions if name == "numpy" else array(positions, name)
    results = as_numpy(program(encoding, **chosen)(inputs))
    return np.swapaxes(results, -1, -2) if chosen.get("side") == "key" and encoding.door in PAIRWISE else results


def sides(encoding: Encoding) -> tuple[Side, ...]:
    """Sides of this door whose positions can be probed alone: query, key, or the roles of a rotation."""
    if isinstance(encoding, RotaryEncoding):
        return cast(tuple[Side, ...], encoding.roles)
    alone = encoding.door == "adds" or (isinstance(encoding, AttentionScore) and encoding.gathers)
    return ("query",) if alone else ("query", "key")


def last_position(encoding: Encoding) -> int:
    """Largest position that is not refused, up to 2^50, found by halving."""
    if accepts(encoding, FAR):
        return FAR
    low, high = 0, FAR
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if accepts(encoding, middle) else (low, middle)
    return low


def accepts(encoding: Encoding, position: float) -> bool:
    """Whether the encoding takes this position."""
    try:
        probed_rows(encoding, np.asarray([position]))
    except (ValueError, TypeError):
        return False
    return True


def line_logits(encoding: Encoding, query_positions: Any, key_positions: Any) -> np.ndarray:
    """Effect on attention, as `logits_at`, at positions given as one number each."""
    return logits_at(one_coordinate(encoding), np.asarray(query_positions), np.asarray(key_positions))


def logits_at(encoding: Encoding, query_positions: np.ndarray, key_positions: np.ndarray) -> np.ndarray:
    """Logits (..., n, m) of drawn content in float64 (of value rotations: the output), at positions (n[, axes])."""
    params = moved_parameters(encoding) or None
    if isinstance(encoding, AttentionBias):
        return np.asarray(encoding.matrix(query_positions, key_positions, params))
    if isinstance(encoding, AdditiveEncoding):
        q, k = (
            _drawn(seed, (len(side_positions), encoding.width))
            for seed, side_positions in ((1, query_positions), (2, key_positions))
        )
        q, k = encoding.attach(q, query_positions, params), encoding.attach(k, key_positions, params)
        return np.asarray((q @ _drawn(3, (q.shape[1], 8))) @ (k @ _drawn(4, (k.shape[1], 8))).T)
    shape = number_of_heads(encoding), head_width(encoding)
    q, k = (
        _drawn(seed, (shape[0], len(side_positions), shape[1]))
        for seed, side_positions in ((1, query_positions), (2, key_positions))
    )
    if (
        isinstance(encoding, RotaryEncoding) and "query" not in encoding.roles
    ):  # what it does to values and back to the output
        k = encoding.rotation(key_positions, params, role="value")(k[None], layout="bhtd")
        weights = np.random.default_rng(6).random((1, shape[0], len(query_positions), len(key_positions)))
        return np.asarray(encoding.rotation(query_positions, params, role="output")(weights @ k, layout="bhtd")[0])
    if isinstance(encoding, RotaryEncoding):
        q = encoding.rotation(query_positions, params, role="query")(q[None], layout="bhtd")[0]
        k = encoding.rotation(key_positions, params, role="key")(k[None], layout="bhtd")[0]
        return np.asarray(q @ np.swapaxes(k, -1, -2))
    scores = cast(AttentionScore, encoding)
    return np.asarray(
        scores.score(
            q,
            k,
            query_positions,
            key_positions,
            params,
            hidden=hidden_input(scores, len(query_positions), len(key_positions)),
        )
    )


def hidden_input(
    encoding: Encoding,
    queries: int,
    keys: int,
    batch: tuple[int, ...] = (),
    *,
    name: str = "numpy",
    dtype: str = "float64",
) -> Array | None:
    """Draw the input of the layer for a score that reads it; None for one that does not."""
    if not isinstance(encoding, AttentionScore) or encoding.reads is None:
        return None
    shape = (*batch, encoding.hidden_length(queries, keys), encoding.model_dim)  # type: ignore[attr-defined]
    return array(_drawn(5, shape), name, dtype)


def _drawn(seed: int, shape: tuple[int, ...]) -> np.ndarray:
    """Draw normal numbers."""
    return np.random.default_rng(seed).standard_normal(shape)


def operates(encoding: Encoding) -> bool:
    """Whether an encoding rotates by another map than a rotation of pairs."""
    return isinstance(encoding, RotaryEncoding) and not isinstance(_operator(encoding, sides(encoding)[0]), Rotation)


def heads_rotated(encoding: Encoding, side: Side) -> int | None:
    """Number of heads where each has a rotation of its own; None where heads share one, and at the other doors."""
    return _operator(encoding, side).heads if isinstance(encoding, RotaryEncoding) else None


def _operator(encoding: RotaryEncoding, side: Side) -> Operator:
    """Operator of one position."""
    line = cast(RotaryEncoding, one_coordinate(encoding))
    return line.rotation(np.arange(1), moved_parameters(line) or None, role=side)


def summed(encoding: Encoding) -> bool:
    """Whether the probed numbers are sums of products, in which more is rounded than in a table."""
    return encoding.door == "scores" or operates(encoding)


def operated(operator: Operator, shape: tuple[int, ...], name: str = "numpy", dtype: str = "float64") -> Array:
    """Return an operator's cosines and sines, or what it makes of one vector at every place.

    The vector is the same in every dtype: eighths are whole in 16 bits too.
    """
    if isinstance(operator, Rotation):
        return array_module(name).concatenate([operator.cos, operator.sin], -1)
    vector = array(np.round(_drawn(7, (operator.dim,)) * 8) / 8, name, dtype)
    return at_every_head(operator, array_module(name).broadcast_to(vector, (*shape, operator.dim)))


def dtype_asked(dtype: Any, name: str) -> str:
    """Name of the dtype of a result; None means float64 in NumPy and float32 elsewhere."""
    if dtype is None:
        return "float64" if name == "numpy" else "float32"
    return arrays.dtype_name(dtype)


def _cosines_and_sines(
    encoding: RotaryEncoding, params: Any, side: Side, dtype: Any, name: str, positions: Array
) -> Array:
    """Cosines and sines of a rotation, or what another operator makes of a vector."""
    rotation = encoding.rotation(positions, params, role=side, dtype=dtype)
    shape = tuple(positions.shape) if hasattr(positions, "shape") else np.shape(positions)
    return operated(rotation, shape, name, dtype_asked(dtype, name))


def _matrix(encoding: AttentionBias, params: Any, side: Side, dtype: Any, anchors: Array, positions: Array) -> Array:
    """Bias of positions on one side against the anchors on the other."""
    query_positions, key_positions = (positions, anchors) if side == "query" else (anchors, positions)
    return encoding.matrix(query_positions, key_positions, params, dtype=dtype)


def _score(
    encoding: AttentionScore, params: Any, side: Side, vectors: list[Array], anchors: Array, xp: Any, positions: Array
) -> Array:
    """Scores of positions on one side against the anchors on the other."""
    query_positions, key_positions = (positions, anchors) if side == "query" else (anchors, positions)
    shape = tuple(positions.shape) if hasattr(positions, "shape") else np.shape(positions)
    lengths = (shape[-1], len(anchors)) if side == "query" else (len(anchors), shape[-1])
    q, k = (
        xp.broadcast_to(vector, (*shape[:-1], vector.shape[0], length, vector.shape[2]))
        for vector, length in zip(vectors[:2], lengths, strict=True)
    )
    x = None
    if encoding.reads:
        x = xp.broadcast_to(vectors[2], (*shape[:-1], encoding.hidden_length(*lengths), vectors[2].shape[-1]))
    return encoding.score(q, k, query_positions, key_positions, params, hidden=x)


def with_twelve_heads(encoding: Encoding) -> Encoding:
    """Give an encoding twelve heads, where it or an encoding inside it states its heads."""
    inner, whole = getattr(encoding, "encoding", None), cast(Any, encoding)
    is_line = isinstance(encoding, Line) and not isinstance(encoding, AttentionBias)
    if is_line or (isinstance(inner, AttentionBias) and isinstance(encoding, AttentionScore)):
        return cast(Encoding, replace(whole, encoding=with_twelve_heads(cast(Encoding, inner))))
    return cast(Encoding, replace(whole, heads=12)) if hasattr(encoding, "heads") else encoding
