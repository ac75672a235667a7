"""Picking, adding up and multiplying, where the libraries say it differently."""

from __future__ import annotations

import math

import numpy as np

from posenc._array.arguments import arange
from posenc._array.libraries import Array, full_precision, library, namespace


def take_along(array: Array, index: Array) -> Array:
    """array[..., index[..., j]] for every j: index has the leading axes of array and picks along the last one."""
    xp = namespace(array, index)
    if library(array) == "torch":  # take_along_dim fixes lengths while exporting; gather leaves them free
        return xp.gather(array, -1, index)
    return xp.take_along_axis(array, index, -1)


def sum_along(array: Array, index: Array, count: int) -> Array:
    """The inverse: numbers of the last axis that share an index are added; shapes (..., m), (..., m) to (..., count)."""
    xp = namespace(array, index)
    if library(array) == "torch":
        return xp.zeros((*array.shape[:-1], count), dtype=array.dtype, device=array.device).scatter_add(
            -1, index, array
        )
    rows, places = math.prod(array.shape[:-1]), array.shape[-1]
    where = (xp.arange(rows)[:, None], index.reshape((rows, places)))
    total, numbers = xp.zeros((rows, count), array.dtype), array.reshape((rows, places))
    if library(array) == "jax":
        total = total.at[where].add(numbers)
    else:
        np.add.at(total, where, numbers)
    return total.reshape((*array.shape[:-1], count))


def picked(table: Array, row: Array) -> Array:
    """table[row], a number at a time: the gradient of flex_attention reaches no row that is picked whole."""
    column = arange(table.shape[1], table)
    return table[row[..., None] + 0 * column, column]


def product(left: Array, right: Array) -> Array:
    """left @ right, in the full precision of their dtype, also under autocast."""
    if library(left) == "jax":  # whose accelerators else round the factors
        return namespace(left, right).matmul(left, right, precision="highest")
    with full_precision(left):
        return left @ right


def contracted(left: Array, right: Array) -> Array:
    """Σ_w left[..., w]·right[..., w], the other axes broadcast, without holding the product of all axes."""
    xp = namespace(left, right)
    if library(left) == "jax":  # whose accelerators else round the factors
        return xp.einsum("...w,...w->...", left, right, precision="highest")
    with full_precision(left):
        return xp.einsum("...w,...w->...", left, right)


def times_power_of_two(array: Array, power: Array) -> Array:
    """array · 2^power for whole powers, with nothing lost in the power."""
    xp = namespace(array, power)
    if library(array) == "torch":
        return array * xp.exp2(power)
    return xp.ldexp(array, power.astype(np.int32))
