"""Helpers for encodings with learned layers: initial values, a two-layer network over all pairs, loops in blocks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from posenc.core.arrays import Array, Library

#: Numbers of a hidden layer that are made at once, half a MiB in float32: what a processor's second cache holds.
HIDDEN = 1 << 17


def uniform_layers(
    rng: np.random.Generator, shapes: Mapping[str, tuple[int, ...]], inputs: Mapping[str, int], otherwise: int = 1
) -> dict[str, np.ndarray]:
    """Draw each parameter uniformly within ±1/√inputs[name], ±1/√otherwise where `inputs` lacks it (PyTorch's rule).

    Example:
        >>> rng, shapes = np.random.default_rng(0), {"weight": (2, 9), "bias": (2,)}
        >>> layers = uniform_layers(rng, shapes, {"weight": 9, "bias": 9})
        >>> bool(abs(layers["weight"]).max() < 1 / 3), layers["bias"].shape
        (True, (2,))
    """
    return {name: rng.uniform(-1.0, 1.0, shape) * inputs.get(name, otherwise) ** -0.5 for name, shape in shapes.items()}


def over_pairs(
    x: Sequence[Array], inner: tuple[Array, Array], outer: tuple[Array, Array], leak: float, lib: Library, dtype: Any
) -> Array:
    """Apply a network of two layers, with (leaky) ReLU between, to every (query, key) pair, a block of pairs at a time.

    Args:
        x: Numbers of the pairs, (*batch, channels, n, m), in several arrays whose channels follow each other.
        inner: Weight (channels out, channels in) and bias (channels out,) of the hidden layer.
        outer: Weight and bias of the output.
        leak: How steep the hidden layer's activation is below zero, where it is 0 for ReLU.
        lib: The library of the arrays.
        dtype: Of the result.

    Returns:
        Array of shape (*batch, channels out, n, m).

    Example:
        >>> from posenc.core.arrays import library
        >>> x, one, lib = np.array([[[-2.0, 3.0]]]), (np.ones((1, 1)), np.zeros(1)), library(np.ones(1))
        >>> over_pairs([x], one, (np.full((2, 1), 5.0), np.array([0.0, 1.0])), 0.1, lib, x.dtype).tolist()
        [[[-1.0, 15.0]], [[0.0, 16.0]]]
    """
    *outside, _, rows, columns = x[0].shape
    size = max(1, HIDDEN // (inner[0].shape[0] * max(1, math.prod(outside))))
    weight, last = (lib.xp.concatenate([matrix, bias[:, None]], -1) for matrix, bias in (inner, outer))
    one = lib.xp.concatenate([lib.xp.zeros_like(inner[0][:1]), lib.xp.ones_like(inner[1][:1, None])], -1)
    weight = lib.xp.concatenate([weight, one], 0)
    flat = [lib.pieces(each.reshape((*each.shape[:-2], rows * columns)), size) for each in x]

    def of_block(some: tuple[Array, ...]) -> Array:
        # And a channel of ones for the bias, which costs no pass then.
        pairs = lib.xp.concatenate([*some, lib.xp.ones_like(some[0][..., :1, :])], -2)
        return lib.astype(lib.product(last, lib.rectified(lib.product(weight, pairs), leak)), dtype)

    result = joined(map(of_block, zip(*flat, strict=True)), -1, rows * columns, lib)
    return result.reshape((*outside, outer[0].shape[0], rows, columns))


def joined(parts: Iterator[Array], axis: int, count: int, lib: Library) -> Array:
    """Concatenate blocks along an axis, `count` entries in all.

    Each is written into its place before the next is made, unless a derivative is recorded or the program traced.

    Example:
        >>> from posenc.core.arrays import library
        >>> joined((np.full(2, number) for number in (1.0, 2.0)), 0, 4, library(np.ones(1))).tolist()
        [1.0, 1.0, 2.0, 2.0]
    """
    first = next(parts)
    writes = lib.name != "jax" and lib.concrete(first) and not getattr(first, "requires_grad", False)
    if not writes or first.shape[axis] == count:
        blocks = [first, *parts]
        return first if len(blocks) == 1 else lib.xp.concatenate(blocks, axis)
    shape, start = [*first.shape], 0
    shape[axis] = count
    whole = lib.empty(tuple(shape), first.dtype)
    for part in chain([first], parts):
        index = [slice(None)] * len(shape)
        index[axis] = slice(start, start := start + part.shape[axis])
        whole[tuple(index)] = part
    return whole


def blocks(count: int, size: int, lib: Library) -> list[slice]:
    """Slices of at most `size` of `count` things; one slice in a traced program, where the count may be a symbol.

    Example:
        >>> from posenc.core.arrays import library
        >>> blocks(5, 2, library(np.ones(1)))
        [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    if lib.compiling() or not isinstance(count, int):  # a symbol of jax.export
        return [slice(0, count)]
    return [slice(start, min(start + size, count)) for start in range(0, max(count, 1), size)]
