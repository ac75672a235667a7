"""Checks of positions with several coordinates: grids, not squares, in batches, in every library."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np

from posenc.attention import attention
from posenc.core.doors import Encoding
from posenc.testing import budgets
from posenc.testing.checks.derived import pointwise
from posenc.testing.door_probe import (
    array,
    array_module,
    as_numpy,
    converted,
    head_width,
    heads_rotated,
    hidden_input,
    moved_parameters,
    number_of_heads,
)
from posenc.testing.effects import called
from posenc.testing.named_check import PAIRWISE, close, differ, ensure, named_check, refused, same_but_for_rounding

SIZES = (3, 2, 4, 5)


def uneven_grid(axes: int) -> np.ndarray:
    """Places (n, axes) of a small grid with unequal sides (3 × 2, 3 × 2 × 4, …), in row-major order."""
    sizes = SIZES[:axes] if axes <= len(SIZES) else (3, 2) + (1,) * (axes - 2)
    return np.stack(np.meshgrid(*map(np.arange, sizes), indexing="ij"), -1).reshape(-1, axes)


def _values(
    encoding: Encoding, query_positions: Any, key_positions: Any, *, name: str = "numpy", dtype: str = "float64"
) -> np.ndarray:
    """Result for query positions (…, n, axes), with key positions too at a pairwise door."""
    params = converted(moved_parameters(encoding), name, dtype)
    query_positions, key_positions = (array(positions, name) for positions in (query_positions, key_positions))
    return as_numpy(
        called(encoding, query_positions, key_positions, params, dtype=getattr(array_module(name), dtype), name=name)
    )


@named_check("Grids have several coordinates, and sides of different length.", several=True)
def grid_shape(encoding: Encoding) -> None:
    positions = uneven_grid(encoding.axes)
    result = _values(encoding, positions, positions[:4])
    rows: tuple[int, ...] = (
        (number_of_heads(encoding), len(positions), 4) if encoding.door in PAIRWISE else (len(positions),)
    )
    expected = heads_rotated(encoding, "query")
    rows = rows if expected is None else (expected, *rows)
    ensure(
        result.shape[: len(rows)] == rows, f"a grid of {len(positions)} places: expected {rows}, got {result.shape}."
    )
    ensure(bool(np.isfinite(result).all()), "a grid: expected finite numbers.")


@named_check("Each image of a batch has its own grid.", several=True)
def grids_in_a_batch(encoding: Encoding) -> None:
    """A batch of three grids (in order, reversed, halved) gives the numbers that each grid gives alone."""
    places = uneven_grid(encoding.axes)
    positions = np.stack([places, places[::-1], places // 2])
    together = _values(encoding, positions, positions)
    for index, expected in enumerate(positions):
        alone = _values(encoding, expected, expected)
        same_but_for_rounding(encoding, f"grid {index} of a batch against itself alone", together[index], alone)


@named_check("On a square grid, exchanged rows and columns would go unnoticed.", several=True)
def every_axis_counts(encoding: Encoding) -> None:
    """Moving along one axis alone changes something, and along every other something else."""
    positions = uneven_grid(encoding.axes)
    expected, outputs = _values(encoding, positions, positions[:1]), []
    for axis in range(encoding.axes):
        moved = positions.copy()
        moved[:, axis] += 1
        outputs.append(_values(encoding, moved, positions[:1]))
        ensure(
            differ(outputs[-1], expected, 1e-9), f"coordinate {axis} moved by 1: expected other numbers, got the same."
        )
    for one, other in itertools.combinations(range(encoding.axes), 2):
        ensure(
            differ(outputs[other], outputs[one], 1e-9),
            f"coordinates {one} and {other}: expected them to be told apart, got one number.",
        )


@named_check("All libraries must compute the same.", several=True, needs=("torch", "jax"))
def grid_in_every_library(encoding: Encoding) -> None:
    positions = uneven_grid(encoding.axes)
    expected = _values(encoding, positions, positions)
    budget = budgets.product("float32", 64, budgets.rounding_size(expected)) + budgets.angle(encoding, 8)
    for name in ("torch", "jax"):
        result = _values(encoding, positions, positions, name=name, dtype="float32")
        close(f"a grid in {name} against NumPy", result, expected, budget)


@named_check("A position with the wrong number of coordinates is a different position.", several=True)
def wrong_number_of_coordinates_refused(encoding: Encoding) -> None:
    for shape in ((encoding.axes + 1,), (4, encoding.axes + 1), (2, 4, 1), ()):
        bad = np.zeros(shape, np.int64)
        refused(
            f"positions of shape {shape}",
            partial(_values, encoding, bad, bad),
            ("positions", "query_positions", "key_positions"),
        )


@named_check("Kernels use one number at a time, references the whole matrix.", ("biases",), several=True)
def grid_bias_is_pointwise(encoding: Encoding) -> None:
    positions = uneven_grid(encoding.axes)
    pointwise(encoding, positions[::-1], positions, corner=5)


@named_check("The readable attention is what kernels are compared with.", ("rotates", "biases", "scores"), several=True)
def attention_over_grids(encoding: Encoding) -> None:
    """The readable attention over a batch of two grids gives what it gives for each grid alone."""
    positions = np.stack([uneven_grid(encoding.axes), uneven_grid(encoding.axes)[::-1]])
    rng, shape = np.random.default_rng(6), (2, number_of_heads(encoding), positions.shape[1], head_width(encoding))
    q, k, v = (rng.standard_normal(shape) for _ in range(3))
    x = hidden_input(encoding, positions.shape[1], positions.shape[1], (2,))
    params = moved_parameters(encoding) or None

    def attend(query_positions: Any, key_positions: Any, rows: slice) -> np.ndarray:
        expected = None if x is None else x[rows]
        return np.asarray(
            attention(
                q[rows],
                k[rows],
                v[rows],
                query_positions=query_positions,
                key_positions=key_positions,
                layout="bhtd",
                encodings=[encoding],
                params=[params],
                hidden=expected,
            ).output
        )

    whole = attend(positions, positions, slice(None))
    for row in range(2):
        close(
            f"attention over grid {row} alone",
            attend(positions[row], positions[row], slice(row, row + 1))[0],
            whole[row],
            budgets.product(budgets.arithmetic(encoding), 64, 64.0),
        )
