"""Arguments of attention, checked once for the readable reference and for the fast paths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.checked_content import of_documents
from posenc.core.checked_positions import Positions, checked, order_guard
from posenc.core.doors import AdditiveEncoding, AttentionScore, Documents, Encoding, RotaryEncoding
from posenc.core.rotation import LAYOUTS, Layout, OperatorLayout

#: How many keys before and after its own index a query sees, None for all.
Window = tuple[int | None, int | None]


def checked_vectors(q: Array, k: Array, v: Array, layout: Layout) -> tuple[Array, Array, Array]:
    """Check q, k and v of one attention, and give them as (batch, heads, tokens, width).

    Example:
        >>> import numpy as np
        >>> q, k, v = np.ones((1, 5, 4, 8)), np.ones((1, 7, 2, 8)), np.ones((1, 7, 2, 6))
        >>> [x.shape for x in checked_vectors(q, k, v, "bthd")]
        [(1, 4, 5, 8), (1, 2, 7, 8), (1, 2, 7, 6)]
    """
    validation.choice("layout", layout, LAYOUTS)
    for name, x in (("k", k), ("v", v), ("q", q)):  # q last: caches give their keys in its place
        if arrays.floats(name, x).ndim != 4:
            raise ValueError(
                f"{name} must have four axes, {layout!r}; got shape {tuple(x.shape)}. Give batch, heads, tokens and "
                "width."
            )
    arrays.library(q, k, v)  # refuses a mixture of libraries
    if layout == "bthd":
        q, k, v = (x.swapaxes(1, 2) for x in (q, k, v))
    if k.shape[:3] != v.shape[:3] or k.shape[0] != q.shape[0] or k.shape[3] != q.shape[3]:
        raise ValueError(
            f"k must have the batch and head width of q, and the heads and length of v; got {tuple(k.shape)} for q "
            f"{tuple(q.shape)} and v {tuple(v.shape)} (bhtd). Check the layout."
        )
    if k.shape[1] == 0 or q.shape[1] % k.shape[1]:
        raise ValueError(
            f"k must have a number of heads that divides that of q, {q.shape[1]}; got {k.shape[1]}. Check the layout."
        )
    return q, k, v


def repeated(x: Array, heads: int) -> Array:
    """Repeat each head of keys or values, (batch, key heads, tokens, width), for its group of queries.

    Example:
        >>> import numpy as np
        >>> repeated(np.array([[[[1.0]], [[2.0]]]]), 4)[0, :, 0, 0].tolist()
        [1.0, 1.0, 2.0, 2.0]
    """
    batch, key_heads, tokens, width = x.shape
    if key_heads == heads:
        return x
    if heads % key_heads:
        raise ValueError(
            f"k must have a number of heads that divides {heads}, as many as queries have; got {key_heads}. Check the "
            "layout."
        )
    shape = (batch, key_heads, heads // key_heads, tokens, width)
    return arrays.library(x).xp.broadcast_to(x[:, :, None], shape).reshape((batch, heads, tokens, width))


def check_inside(encoding: Any, before: str) -> None:
    """Refuse an object that is no encoding, or an additive one; the error says to call `before` before attention."""
    validation.instance("encodings", encoding, Encoding, "a list of encodings")
    if isinstance(encoding, AdditiveEncoding):
        raise TypeError(
            f"encodings must act inside attention; got {type(encoding).__name__}, which adds to its input. "
            f"Call {before} before attention."
        )


def check_learns_nothing(encoding: Encoding, make: str) -> None:
    """Refuse a bare encoding that learns parameters; the error says to use `make`, code that binds them to it."""
    if encoding.shapes:
        raise TypeError(
            f"encodings must hold the parameters of what is learned; got the encoding {encoding!r}, which learns "
            f"{sorted(encoding.shapes)}. Make {make} once, and give that."
        )


def number_of_axes(encodings: Sequence[Encoding]) -> int:
    """Number of coordinates of a position, which all encodings share.

    Example:
        >>> from posenc import RoPE
        >>> number_of_axes([RoPE(dim=8)])
        1
    """
    counts = {encoding.axes for encoding in encodings}
    if len(counts) > 1:
        raise ValueError(
            f"encodings must have one number of axes, since they share positions; got {sorted(counts)}."
            " Use encodings of one."
        )
    return counts.pop() if counts else 1


def token_positions(name: str, positions: Array, x: Array, axes: int, layout: OperatorLayout = "bhtd") -> Positions:
    """Check the positions of the tokens of x, whose axes are those of `layout`.

    They are (tokens,) or (batch, tokens), with a last axis of coordinates where there are several.

    Example:
        >>> import numpy as np
        >>> token_positions("query_positions", [5, 6], np.ones((2, 3, 2, 4)), 1).array.tolist()
        [5, 6]
    """
    placed = checked(positions, name, like=x)
    last = () if axes == 1 else (axes,)
    tokens, batch = x.shape[layout.index("t")], x.shape[:1] if "b" in layout else ()
    row, shape = (tokens, *last), tuple(placed.array.shape)
    if not validation.equals_one_of(shape, row, *((size, *row) for size in (1, *batch) if batch)):
        raise ValueError(
            f"{name} must hold a position{f' of {axes} coordinates' if last else ''} for each of {tokens} tokens"
            f"{f', with or without a batch of {batch[0]}' if batch else ''}; got shape {shape}. Give a position for "
            "each, or check the layout."
        )
    return placed


def check_list(encodings: Any, of: str) -> None:
    """Refuse encodings that are no list."""
    if not isinstance(encodings, list | tuple):
        raise TypeError(f"encodings must be a list of {of}; got {validation.shown(encodings)}. Put it in a list.")


def check_causal(causal: bool, queries: int, keys: int) -> bool:
    """Check and return `causal`, which needs at least as many keys as queries: the last query is at the last key."""
    if validation.truth("causal", causal) and keys < queries:
        raise ValueError(
            f"causal needs at least as many keys as queries, {queries}; got {keys}. Give the keys of the cache too."
        )
    return causal


def needed_order_guard(
    query_positions: Positions,
    key_positions: Positions,
    axes: int,
    *,
    causal: bool,
    window: Window,
    masked: bool,
    documents: tuple[Array, Array] | None,
) -> Any:
    """Guard against positions that contradict a mask by index; see `order_guard`.

    None where a mask states what a query sees, where nothing is masked by index, and for positions of several
    coordinates, which have no order that indices could contradict.
    """
    if masked or axes > 1 or not (causal or window != (None, None)):
        return None
    if documents is not None:
        of_query, of_key = documents
        query_positions, key_positions = (
            query_positions._replace(documents=of_query),
            key_positions._replace(documents=of_key),
        )
    return order_guard(query_positions, key_positions, "causal" if causal else "window")


def check_hidden_is_read(hidden: Any, encodings: Sequence[Encoding]) -> None:
    """Refuse inputs of the layer that no encoding reads."""
    if hidden is not None and not any(
        isinstance(encoding, AttentionScore) and encoding.reads for encoding in encodings
    ):
        raise ValueError(
            f"hidden must be left out where no encoding reads it; got {validation.shown(hidden)}. Leave it out, or "
            "give an encoding that reads the input of the layer."
        )


def checked_hidden(hidden: Any, encodings: Sequence[Encoding], q: Any, k: Any, kind: type, kind_in_words: str) -> Any:
    """Inputs of the layer, in the shape that each encoding which reads them expects; None where none does."""
    check_hidden_is_read(hidden, encodings)
    for encoding in encodings:
        if isinstance(encoding, AttentionScore) and encoding.reads is not None:
            name = type(encoding).__name__
            validation.instance("hidden", hidden, kind, f"the input of the layer for {name}, {kind_in_words}")
            wanted = (q.shape[0], encoding.hidden_length(q.shape[2], k.shape[2]), getattr(encoding, "model_dim", 0))
            if tuple(hidden.shape) != wanted:
                raise ValueError(
                    f"hidden must have shape {wanted} for {name}; got {tuple(hidden.shape)}. Give the vectors that q "
                    "and k are made of."
                )
    return hidden


def checked_keys_rotated(keys_rotated: bool, encodings: Sequence[Encoding]) -> bool:
    """Refuse rotated keys where an encoding reads them as they are; return whether keys come rotated."""
    scores = [encoding for encoding in encodings if isinstance(encoding, AttentionScore)]
    if validation.truth("keys_rotated", keys_rotated) and scores:
        raise ValueError(
            f"keys_rotated must be False for {type(scores[0]).__name__}, which reads keys as they are before any "
            "rotation; got True. Keep them so."
        )
    return bool(keys_rotated)


def check_mask_axes(mask: Any, q: Any, k: Any) -> None:
    """Refuse a mask without axes for batch, heads, queries and keys."""
    whole = (*q.shape[:3], k.shape[2])
    if mask.ndim != 4 or any(size not in (1, full) for size, full in zip(mask.shape, whole, strict=True)):
        raise ValueError(
            f"mask must have four axes that broadcast to (batch, heads, n, m), {whole}; got {tuple(mask.shape)}. "
            "Padding of keys is mask[:, None, None, :], a mask of queries and keys mask[None, None]."
        )


def documents_of_tokens(documents: Documents, q: Array, k: Array) -> tuple[Array, Array] | None:
    """Documents of the queries and of the keys, (1 or batch, tokens) each; None where each row is one document.

    Example:
        >>> import numpy as np
        >>> x = np.ones((2, 1, 3, 4))
        >>> documents_of_tokens(([0, 0, 1], [0, 0, 1]), x, x)[0].tolist()
        [[0, 0, 1]]
    """
    if documents is None:
        return None
    lib = arrays.library(q, k)
    query_positions, key_positions = of_documents(documents, *(checked(lib.arange(x.shape[2])) for x in (q, k)))
    return _document_rows(query_positions.documents, q), _document_rows(key_positions.documents, k)


def _document_rows(numbers: Any, x: Array) -> Array:
    """Document numbers with an axis for the batch."""
    numbers = numbers if numbers.ndim > 1 else numbers[None]
    if numbers.ndim != 2 or not validation.equals_one_of(numbers.shape[0], 1, x.shape[0]):
        raise ValueError(
            f"documents must have one row, or one for each of {x.shape[0]} sequences; got shape "
            f"{tuple(numbers.shape)}. Give the document of each token."
        )
    return numbers


def check_head_count(encoding: Any, q: Any) -> None:
    """Refuse an encoding that was made for other heads."""
    heads = getattr(encoding, "heads", None)
    if heads is not None and heads != q.shape[1]:
        raise ValueError(
            f"encodings must have as many heads as q, {q.shape[1]}; got {encoding!r}. Build the "
            "encoding for these heads, or check the layout."
        )


def check_fits(encoding: Any, q: Any, v: Any) -> None:
    """Refuse an encoding that was made for other heads or another width."""
    check_head_count(encoding, q)
    of_values = isinstance(encoding, RotaryEncoding) and "value" in encoding.roles
    width = encoding.head_dim if isinstance(encoding, RotaryEncoding) else getattr(encoding, "dim", None)
    x, name = (v, "v") if of_values else (q, "q")
    if isinstance(encoding, RotaryEncoding | AttentionScore) and width is not None and width != x.shape[-1]:
        raise ValueError(
            f"encodings must have the head width of {name}, {x.shape[-1]}; got {encoding!r}. "
            "Build the encoding for this width."
        )


def checked_scale(scale: Any, q: Any) -> float:
    """Factor of the products of queries and keys; 1/√d for None."""
    if scale is not None:
        return validation.real("scale", scale, 0.0, 1e6, above=True)
    if not q.shape[-1]:
        raise ValueError(f"q must have channels where scale is 1/√d; got shape {tuple(q.shape)}. Give scale.")
    own: float = q.shape[-1] ** -0.5
    return own


def checked_window(window: Any, sliding_window: Any, *, causal: bool) -> Window:
    """Number of keys before and after its own that a query sees; None for all.

    Example:
        >>> checked_window((3, 0), None, causal=True), checked_window(None, 4, causal=True)
        ((3, 0), (3, 0))
    """
    if sliding_window is not None:
        return _before(window, validation.integer("sliding_window", sliding_window, 1, 2**53), causal), 0
    if window is None:
        return None, None
    if not isinstance(window, tuple | list) or len(window) != 2:
        raise TypeError(
            f"window must be (keys before, keys after), each a number or None; got {validation.shown(window)}. Give "
            "the number of keys up to the query's own, as configs have it, as sliding_window= instead."
        )
    before, after = (
        None if side is None else validation.integer(f"window[{index}]", side, 0, 2**53)
        for index, side in enumerate(window)
    )
    return before, after


def _before(window: Any, keys: int, causal: bool) -> int:
    """Number of keys before its own that a query sees, keys - 1, for a sliding window of `keys` keys."""
    if window is not None:
        raise ValueError(
            f"sliding_window must stand alone; got sliding_window={keys} beside window={validation.shown(window)}. "
            f"Leave one out: sliding_window={keys} is window=({keys - 1}, 0)."
        )
    if not causal:
        raise ValueError(
            f"sliding_window must stand beside causal=True; got {keys} with causal=False, where models read it in "
            f"different ways. Give window=({keys}, {keys}) for keys up to {keys} positions away on both sides, as the "
            "masks of transformers have it, or what posenc.models.from_config reads as the window of your layers."
        )
    return keys - 1


def check_heads_suffice(scores: Sequence[Encoding], by_head: Sequence[Encoding], some: int, heads: int) -> None:
    """Refuse what a rank with `some` heads cannot compute: scores with `heads`, or any beside per-head rotations."""
    for encoding in scores:
        if getattr(encoding, "heads", None) is not None:
            raise ValueError(
                f"encodings must not need all heads at once under 'ulysses', where a rank has {some} of {heads}; got "
                f"{encoding!r}. Use 'zigzag' or 'contiguous'."
            )
    if scores and by_head:
        raise ValueError(
            f"encodings must not rotate each head in its own way together with a score under 'ulysses'; got "
            f"{by_head[0]!r} with {scores[0]!r}. Use 'zigzag' or 'contiguous'."
        )
