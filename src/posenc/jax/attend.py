"""Attention with any encodings on JAX's own primitives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp

from posenc import _array, _check
from posenc._array import Array
from posenc.checked_attention import (
    Window,
    by_heads,
    check_causal,
    check_fits,
    check_hidden_is_read,
    check_inside,
    checked_window,
    documents_of_tokens,
    number_of_axes,
    repeated,
    token_positions,
)
from posenc.doors import Biases, Documents, Encoding, Rotates, Scores
from posenc.encodings.scores._gathers import Gathers, Prepared
from posenc.jax.bound import Bound
from posenc.turn import Layout

JaxImpl = Literal["auto", "dot_product", "tiles", "dense"]
JAX_IMPLS = ("auto", "dot_product", "tiles", "dense")
#: Numbers in the logits of a tile, 4 MiB in float32.
NUMBERS = 1 << 20


@dataclass(frozen=True, eq=False)
class _Arguments:
    """Attention as it is asked for: q, k and v as (batch, heads, tokens, width), k and v repeated for each head."""

    q: Array
    k: Array
    v: Array
    query: Array
    key: Array
    encodings: tuple[Bound, ...]
    causal: bool
    window: Window
    mask: Array | None
    documents: tuple[Array, Array] | None
    hidden: Array | None
    scale: float

    def of(self, door: type[Encoding]) -> list[Any]:
        return [each for each in self.encodings if isinstance(each.record, door)]


@_array.broadcasting
def attention(
    q: Array,
    k: Array,
    v: Array,
    *,
    query: Array,
    key: Array,
    layout: Layout,
    encodings: Sequence[Encoding | Bound] = (),
    causal: bool = False,
    window: Window | None = None,
    mask: Array | None = None,
    documents: Documents = None,
    hidden: Array | None = None,
    scale: float | None = None,
    impl: JaxImpl = "auto",
) -> Any:
    """softmax(scale·turn(q)·turn(k)ᵀ + biases + scores)·v with any encodings, through `jit`, `grad` and `vmap`.

    Vaswani et al. 2017, arXiv:1706.03762, eq. 1; `posenc.attention.attention` is the same, written to be read, and
    `posenc.torch.attention` takes the same arguments. Logits and what is added to them are float32 at least; the output
    has the dtype and the layout of q.

    q, k, v: (batch, heads, n, d), (batch, key heads, m, d) and (batch, key heads, m, width) for layout "bhtd", tokens
    before heads for "bthd"; key heads divide heads.
    query, key: positions (n,) or (batch, n), and (m,) or (batch, m), with a last axis of coordinates for records that
    have several.
    encodings: records, and what `bind` gives for those that learn, of the doors that rotate, bias and score.
    causal: a query sees no key behind its own index, counted from the ends: the last query stands at the last key.
    window: (keys before, keys after) its own index that a query sees, None for all.
    mask: True where a query may see a key, four axes that broadcast to (batch, heads, n, m). A query that sees nothing
    gives zeros.
    documents: of the queries and of the keys, numbers in the shape of their positions, where a row holds several.
    hidden: inputs of the layer, for encodings that read them.   scale: 1/√d unless given.
    impl: "dot_product" is `jax.nn.dot_product_attention` after rotation; "tiles" a few queries at a time, in memory
    linear in n and computed again for a gradient; "dense" all queries at once. ValueError where the one that is named
    cannot. "auto" is dot_product where nothing adds to the logits and no query may be left without a key, then dense
    for few pairs, and tiles.

    Raises TypeError or ValueError naming the argument.

    >>> from posenc import ALiBi, RoPE
    >>> q, k = jnp.ones((1, 4, 3, 8)), jnp.ones((1, 2, 5, 8))
    >>> query, key = jnp.arange(2, 5), jnp.arange(5)  # the last three of five tokens
    >>> attended = jax.jit(lambda q, k: attention(
    ...     q, k, k, query=query, key=key, encodings=[RoPE(dim=8), ALiBi(heads=4)], causal=True, layout="bhtd"))
    >>> attended(q, k).shape
    (1, 4, 3, 8)
    """
    _check.choice("impl", impl, JAX_IMPLS)
    for name, x in (("q", q), ("k", k), ("v", v)):
        _check.instance(name, x, jax.Array, "a JAX array")
        if x.dtype != q.dtype:
            raise ValueError(f"{name} must have the dtype of q, {q.dtype}; got {x.dtype}. Convert it.")
    q, k, v = by_heads(q, k, v, layout)
    bound = _bound(encodings)
    records = [each.record for each in bound]
    axes = number_of_axes(records)
    check_hidden_is_read(hidden, records)
    for record in records:
        check_fits(record, q, v)
    asked = _Arguments(
        q,
        repeated(k, q.shape[1]),
        repeated(v, q.shape[1]),
        token_positions("query", query, q, axes),
        token_positions("key", key, k, axes),
        bound,
        check_causal(causal, q.shape[2], k.shape[2]),
        checked_window(window),
        _mask(mask, q, k),
        documents_of_tokens(documents, q, k),
        _hidden(hidden, records, q, k),
        q.shape[-1] ** -0.5 if scale is None else _check.real("scale", scale, 0.0, 1e6, above=True),
    )
    output = _attended(asked, impl)
    return output if layout == "bhtd" else output.swapaxes(1, 2)


def _bound(encodings: Any) -> tuple[Bound, ...]:
    if not isinstance(encodings, list | tuple):
        raise TypeError(
            f"encodings must be a list of records and of what bind gives; got {_check.shown(encodings)}. "
            "Put it in a list."
        )
    found = []
    for each in encodings:
        record = each.record if isinstance(each, Bound) else each
        check_inside(record, "posenc.jax.bind(record).add(x, positions)")
        if record is each and record.shapes:
            raise TypeError(
                f"encodings must hold the parameters of what is learned; got the record {record!r}, which learns "
                f"{sorted(record.shapes)}. Make posenc.jax.bind(record) once, and give that."
            )
        found.append(each if isinstance(each, Bound) else Bound(each, {}))
    return tuple(found)


def _mask(mask: Any, q: Array, k: Array) -> Array | None:
    if mask is None:
        return None
    mask, whole = _array.as_mask("mask", mask, like=q), (*q.shape[:3], k.shape[2])
    if mask.ndim != 4 or any(size not in (1, full) for size, full in zip(mask.shape, whole, strict=True)):
        raise ValueError(
            f"mask must have four axes that broadcast to (batch, heads, n, m), {whole}; got {tuple(mask.shape)}. "
            "Padding of keys is mask[:, None, None, :]."
        )
    return mask


def _hidden(hidden: Any, records: Sequence[Any], q: Array, k: Array) -> Array | None:
    """The inputs of the layer, in the shape that the records which read them expect."""
    for record in records:
        if isinstance(record, Scores) and record.reads is not None:
            _check.instance(
                "hidden", hidden, jax.Array, f"the input of the layer for {type(record).__name__}, an array"
            )
            wanted = (q.shape[0], record.hidden_length(q.shape[2], k.shape[2]), getattr(record, "model_dim", 0))
            if hidden.shape != wanted:
                raise ValueError(
                    f"hidden must have shape {wanted} for {type(record).__name__}; got {hidden.shape}. Give the "
                    "vectors that q and k are made of."
                )
    return hidden


def _attended(asked: _Arguments, impl: JaxImpl) -> Array:
    queries, keys = asked.q.shape[2], asked.k.shape[2]
    most = max(1, NUMBERS // max(1, asked.q.shape[0] * asked.q.shape[1] * keys))
    if impl in ("auto", "dot_product"):
        reason = _dot_product_unsupported(asked)
        if reason is None:
            return _dot_product(asked)
        if impl == "dot_product":
            raise ValueError(
                f"impl must be a path that fits these arguments; got 'dot_product', but {reason}. Use 'auto'."
            )
    if not queries or not keys:
        return jnp.zeros((*asked.q.shape[:3], asked.v.shape[-1]), asked.q.dtype)
    whole = _needs_all_at_once(asked)
    if whole and impl == "tiles":
        raise ValueError(f"impl must be a path that fits these arguments; got 'tiles', but {whole}. Use 'auto'.")
    return _in_tiles(asked, queries if whole or impl == "dense" else min(most, queries))


def _dot_product_unsupported(asked: _Arguments) -> str | None:
    for each in asked.encodings:
        if isinstance(each.record, Biases | Scores):
            return f"{type(each.record).__name__} adds to the logits"
    if asked.mask is not None or asked.documents is not None:
        return "a mask or documents may leave a query without a key"
    if not asked.q.shape[2] or not asked.k.shape[2]:
        return "there are no pairs"
    return None if asked.q.shape[2] <= asked.k.shape[2] else "queries before the first key see none"


def _needs_all_at_once(asked: _Arguments) -> str | None:
    for each in asked.of(Scores):
        if each.record.gathers and not isinstance(each.record, Gathers) and asked.q.shape[2] > 1:
            return f"{type(each.record).__name__} reads all keys between a query and a key, and prepares nothing"
    return None


def _rotated(asked: _Arguments, q: Array, k: Array, v: Array) -> tuple[Array, Array, Array]:
    for each in asked.of(Rotates):
        if "value" in each.record.roles:
            v = each.rotate_values(v, asked.key, layout="bhtd")
        else:
            q, k = each.rotate(q, k, asked.query, asked.key, layout="bhtd")
    return q, k, v


def _rotated_back(asked: _Arguments, output: Array, query: Array) -> Array:
    for each in asked.of(Rotates)[::-1]:
        if "value" in each.record.roles:
            output = each.rotate_back(output, query, layout="bhtd")
    return output


def _dot_product(asked: _Arguments) -> Array:
    q, k, v = (x.swapaxes(1, 2) for x in _rotated(asked, asked.q, asked.k, asked.v))
    index = jnp.arange(asked.q.shape[2])
    hides = asked.causal or asked.window != (None, None)
    mask = _visible_by_index(asked, index)[None, None] if hides else None
    # It takes values as wide as queries alone; PoPE's rotated queries are twice as wide, values of MLA less wide.
    most = max(q.shape[-1], v.shape[-1])
    q, k, wide = (jnp.pad(x, ((0, 0), (0, 0), (0, 0), (0, most - x.shape[-1]))) for x in (q, k, v))
    output = jax.nn.dot_product_attention(q, k, wide, mask=mask, scale=asked.scale)[..., : v.shape[-1]]
    return _rotated_back(asked, output.swapaxes(1, 2), asked.query)


def _in_tiles(asked: _Arguments, queries: int) -> Array:
    """The output for so many queries at a time; all in one compiled loop where q is traced."""
    wide = _array.library(asked.q).wide_dtype(asked.q.dtype)
    q, k, v = _rotated(asked, *(x.astype(wide) for x in (asked.q, asked.k, asked.v)))
    prepared, count = _prepared(asked), asked.q.shape[2]
    if queries == count or not isinstance(q, jax.core.Tracer):
        parts = []
        for start in range(0, count, queries):
            some = jnp.arange(start, min(start + queries, count))
            parts.append(_tile(asked, k, v, prepared, _at(asked, q, some)))
        return parts[0] if len(parts) == 1 else jnp.concatenate(parts, 2)
    # Tiles of one size: behind the last query it stands again.
    index = jnp.minimum(jnp.arange(-(-count // queries) * queries), count - 1).reshape(-1, queries)
    tile = jax.checkpoint(lambda some: _tile(asked, k, v, prepared, _at(asked, q, some)))
    output = jnp.moveaxis(jax.lax.map(tile, index), 0, 2)
    return output.reshape((*output.shape[:2], -1, output.shape[-1]))[:, :, :count]


@dataclass(frozen=True, eq=False)
class _Queries:
    """What belongs to the queries of a tile."""

    index: Array
    rotated: Array
    q: Array
    query: Array
    hidden: Array | None
    documents: Array | None
    mask: Array | None


def _at(asked: _Arguments, q: Array, index: Array) -> _Queries:
    several = number_of_axes([each.record for each in asked.encodings]) > 1
    reads = {each.record.reads for each in asked.of(Scores)}
    mask = asked.mask
    return _Queries(
        index,
        q[:, :, index],
        asked.q[:, :, index],
        asked.query[..., index, :] if several else asked.query[..., index],
        asked.hidden[:, index] if asked.hidden is not None and reads & {"query", "both"} else None,
        None if asked.documents is None else asked.documents[0][:, index],
        mask[:, :, index] if mask is not None and mask.shape[2] > 1 else mask,
    )


def _prepared(asked: _Arguments) -> dict[int, Prepared]:
    """What scores read of the keys alone, once for all tiles, by the place of the record among the encodings."""
    documents = None if asked.documents is None else asked.documents[1]
    return {
        place: each.record.prepare(
            asked.k, asked.key, each.params, hidden=_at_keys(asked, each.record), documents=documents
        )
        for place, each in enumerate(asked.encodings)
        if isinstance(each.record, Gathers)
    }


def _at_keys(asked: _Arguments, record: Any) -> Array | None:
    """The inputs of the layer at the keys, which stand behind those at the queries."""
    if asked.hidden is None or record.reads not in ("key", "both"):
        return None
    return asked.hidden[:, asked.q.shape[2] :] if record.reads == "both" else asked.hidden


def _tile(asked: _Arguments, k: Array, v: Array, prepared: dict[int, Prepared], at: _Queries) -> Array:
    logits = jnp.matmul(at.rotated * asked.scale, k.swapaxes(-1, -2), precision="highest")
    for place, each in enumerate(asked.encodings):
        if isinstance(each.record, Biases):
            logits = logits + each.bias(at.query, asked.key, dtype=logits.dtype)
        elif isinstance(each.record, Scores):
            logits = logits + _score(asked, each, prepared.get(place), at)
    weights = _softmax(logits, _visible(asked, at))
    output = _rotated_back(asked, jnp.matmul(weights, v, precision="highest"), at.query)
    for each in asked.of(Scores):
        more = each.values(weights, at.query, asked.key)
        output = output if more is None else output + more
    return output.astype(asked.q.dtype)


def _score(asked: _Arguments, each: Any, prepared: Prepared | None, at: _Queries) -> Array:
    record = each.record
    read = at.hidden if record.reads in ("query", "both") else None
    if prepared is not None:
        return record.score_prepared(prepared, at.q, at.query, each.params, hidden=read, documents=at.documents)
    at_keys = _at_keys(asked, record)
    parts = [part for part in (read, at_keys) if part is not None]
    packed = None if asked.documents is None else (at.documents, asked.documents[1])
    hidden = jnp.concatenate(parts, 1) if parts else None
    return each.score(at.q, asked.k, at.query, asked.key, hidden=hidden, documents=packed)


def _visible_by_index(asked: _Arguments, index: Array) -> Array:
    """True where a query may see a key by their indices counted from the ends, (n, m)."""
    before, after = asked.window
    after = 0 if asked.causal else after
    row, column = (index + asked.k.shape[2] - asked.q.shape[2])[:, None], jnp.arange(asked.k.shape[2])
    sees = jnp.ones((index.shape[0], asked.k.shape[2]), bool)
    sees = sees if after is None else sees & (column <= row + after)
    return sees if before is None else sees & (column >= row - before)


def _visible(asked: _Arguments, at: _Queries) -> Array:
    sees = _visible_by_index(asked, at.index)[None, None]
    if asked.documents is not None and at.documents is not None:
        sees = sees & (at.documents[:, None, :, None] == asked.documents[1][:, None, None, :])
    return sees if at.mask is None else sees & at.mask


def _softmax(logits: Array, visible: Array) -> Array:
    """Weights of what is seen; zeros for a query that sees nothing."""
    logits = jnp.where(visible, logits, -jnp.inf)
    top = jax.lax.stop_gradient(logits.max(-1, keepdims=True))
    powers = jnp.where(visible, jnp.exp(logits - jnp.where(jnp.isneginf(top), 0.0, top)), 0.0)
    total = powers.sum(-1, keepdims=True)
    return powers / jnp.where(total > 0, total, 1.0)
