"""Queries, keys and inputs of a layer, checked once against the encoding and against their positions."""

from __future__ import annotations

from typing import Any

from posenc.core import arrays, validation
from posenc.core.arrays import Array, Library, library
from posenc.core.checked_positions import Positions, along_axes, checked


def content(name: str, x: Array, dim: int | None, heads: int | None, lib: Library) -> Array:
    """Check queries or keys, (*batch, heads, places, dim), and widen them to float32 at least.

    None for `dim` or `heads` allows any.

    Example:
        >>> import numpy as np
        >>> content("q", np.zeros((2, 3, 4), np.float16), 4, 2, library(np.zeros(1))).dtype
        dtype('float32')
    """
    if x.ndim < 3 or x.shape[-1] != (dim or x.shape[-1]):
        raise ValueError(
            f"{name} must have shape (*batch, heads, n, {dim or 'dim'}); got {tuple(x.shape)}. Give whole heads."
        )
    if x.shape[-3] != (heads or x.shape[-3]):
        raise ValueError(f"{name} must have {heads} heads; got shape {tuple(x.shape)}. Repeat grouped heads first.")
    return lib.wide(x)


def check_keys(q: Array, k: Array, *, same_heads: bool) -> None:
    """Refuse keys whose axes of batches, or of heads where `same_heads`, are not those of the queries.

    Example:
        >>> import numpy as np
        >>> check_keys(np.zeros((2, 3, 4, 8)), np.zeros((2, 3, 5, 8)), same_heads=True)
    """
    end = -2 if same_heads else -3
    sizes = zip(q.shape[:end], k.shape[:end], strict=False)
    if q.ndim != k.ndim or not all(validation.equals_one_of(theirs, ours) for ours, theirs in sizes):
        axes = "batch and heads" if same_heads else "batch"
        raise ValueError(
            f"k must have the {axes} of q, {tuple(q.shape[:end])}; got shapes {tuple(q.shape)} and {tuple(k.shape)}. "
            "Give the keys of the same rows, and repeat grouped heads first."
        )


def placed(name: str, positions: Array | Positions, x: Array, axis: int, axes: int = 1) -> Positions:
    """Check that positions, (places,) or (*batch, places), fit the places on `axis` of x, (*batch, heads, ., .).

    With several `axes` the coordinates are the last axis of positions.

    Example:
        >>> import numpy as np
        >>> placed("query_positions", [5, 6], np.zeros((2, 3, 2, 4)), -2).array.tolist()
        [5, 6]
    """
    positions = checked(positions, name, like=x)
    batch, shape = tuple(x.shape[:-3]), tuple(along_axes(positions, axes, name)[0].array.shape)
    fits = shape != () and shape[-1] == x.shape[axis] and len(shape) - 1 in (0, len(batch))
    rows = zip(shape[:-1], batch, strict=False)
    if not fits or not all(validation.equals_one_of(mine, 1, theirs) for mine, theirs in rows):
        raise ValueError(
            f"{name} must hold a position for each of {x.shape[axis]} tokens, shape {(x.shape[axis],)} or "
            f"{(*batch, x.shape[axis])}; got {shape}. Give the positions of these tokens."
        )
    return positions


def of_documents(documents: Any, query_positions: Positions, key_positions: Positions) -> tuple[Positions, Positions]:
    """Positions of queries and keys with the documents they belong to.

    Documents are a pair of whole numbers in the shapes of the positions, or in one row for all; None where each row is
    one document.

    Example:
        >>> query, key = of_documents(([0, 1], [0, 0, 1]), checked([1, 0]), checked([0, 1, 0]))
        >>> key.documents.tolist()
        [0, 0, 1]
    """
    if documents is None:
        return query_positions, key_positions
    if not isinstance(documents, tuple | list) or len(documents) != 2:
        raise TypeError(
            f"documents must be a pair, (of the queries, of the keys); got {validation.shown(documents)}. Give two "
            "arrays of document numbers."
        )
    sides = []
    for side, positions, side_documents in zip(
        ("queries", "keys"), (query_positions, key_positions), documents, strict=True
    ):
        numbers = arrays.as_array("documents", side_documents, like=positions.array)
        if arrays.kind(numbers) != "integer":
            raise TypeError(
                f"documents must hold whole numbers; got {arrays.dtype_name(numbers.dtype)} for the {side}. "
                "Number them from 0."
            )
        if numbers.ndim == 0 or numbers.shape[-1] != positions.array.shape[-1]:
            raise ValueError(
                f"documents must hold a number for each of {positions.array.shape[-1]} {side}; got shape "
                f"{tuple(numbers.shape)}. Give the document of each token."
            )
        if arrays.library_name(numbers) != positions.lib.name:  # NumPy's, as posenc.positions.documents gives them
            numbers = positions.lib.constant(numbers)
        sides.append(positions._replace(documents=numbers))
    return sides[0], sides[1]


def inputs(hidden: Array | None, x: Array, width: int) -> Array:
    """Check the layer's input, (*batch, places, width), at the places of x; return it in the dtype of x.

    Example:
        >>> import numpy as np
        >>> inputs(np.zeros((2, 4)), np.zeros((3, 2, 8)), 4).shape
        (2, 4)
    """
    return _read(hidden, x, x.shape[-2], width)


def inputs_of_both(hidden: Array | None, q: Array, k: Array, width: int) -> tuple[Array, Array]:
    """Check `hidden` and split it into the layer's inputs at the places of q and, after them, at those of k.

    Example:
        >>> import numpy as np
        >>> [part.shape for part in inputs_of_both(np.zeros((5, 4)), np.zeros((3, 2, 8)), np.zeros((3, 3, 8)), 4)]
        [(2, 4), (3, 4)]
    """
    queries = q.shape[-2]
    hidden = _read(hidden, q, queries + k.shape[-2], width)
    return hidden[..., :queries, :], hidden[..., queries:, :]


def _read(hidden: Array | None, x: Array, count: int, width: int) -> Array:
    """Inputs of the layer for `count` places, in the dtype of x; ValueError for another shape."""
    wanted = (*x.shape[:-3], count, width)
    if hidden is None:
        raise ValueError(
            f"hidden must hold the input of the layer, shape {tuple(wanted)}; got None. "
            "Give the vectors that q and k are made of."
        )
    lib = library(x, arrays.floats("hidden", hidden))
    if tuple(hidden.shape) != tuple(wanted):
        raise ValueError(
            f"hidden must have shape {tuple(wanted)}, a vector for each token; got {tuple(hidden.shape)}. Give the "
            "vectors that q and k are made of."
        )
    return lib.astype(hidden, x.dtype)
