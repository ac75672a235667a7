"""Checks of gradients at corners: distance 0, edges of buckets, floors of parameters, content of zeros."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from posenc.core.doors import AttentionScore, Encoding
from posenc.testing import budgets
from posenc.testing.door_probe import (
    ANCHORS,
    array,
    array_module,
    as_numpy,
    content_at,
    hidden_input,
    last_position,
    program,
    sides,
)
from posenc.testing.named_check import ensure, named_check

#: Places on both sides of every edge of buckets and clips, and those of the anchors: distance 0.
CORNERS = (0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 127, 128, 129, 511, 512, 513)
REMEDY = (
    "The slope of a root, a norm, a logarithm or a power below 1 is infinite at 0, and a `where` around it alone keeps "
    "the NaN, since 0·∞ is one: put a safe number inside too, "
    "xp.where(x == 0, 0.0, xp.sqrt(xp.where(x == 0, 1.0, x)))"
)

Leaves = dict[str, np.ndarray]
#: From leaves of a library to the numbers of an encoding, and from leaves to the gradients of their sum.
Numbers = Callable[[Mapping[str, Any]], Any]
Gradients = Callable[[Leaves], dict[str, Any]]


@named_check("Every token sees itself: a NaN gradient at distance 0 is a NaN model after one step.", needs=("torch",))
def gradients_are_finite_at_corners(encoding: Encoding) -> None:
    """Wherever an encoding's numbers are finite, so are their gradients by parameters, positions and content."""
    dtype = "float32" if budgets.without_float64(encoding) else "float64"

    def differentiated(numbers: Numbers) -> Gradients:
        def gradients(leaves: Leaves) -> dict[str, Any]:
            held = {name: array(value, "torch", dtype).requires_grad_() for name, value in leaves.items()}
            result = numbers(held)
            if bool(result.isfinite().all()) and result.requires_grad:
                result.sum().backward()
            return {name: value.grad for name, value in held.items() if value.grad is not None}

        return gradients

    _all_finite(encoding, "torch", dtype, differentiated)


@named_check("JAX differentiates what a `where` leaves out, as PyTorch does.", needs=("jax",))
def jax_gradients_are_finite_at_corners(encoding: Encoding) -> None:
    """Wherever an encoding's numbers are finite in JAX and float32, so are their gradients."""
    jax, xp = import_module("jax"), array_module("jax")

    def differentiated(numbers: Numbers) -> Gradients:
        def total(held: Mapping[str, Any]) -> tuple[Any, Any]:
            result = numbers(held)
            return result.sum(), xp.isfinite(result).all()

        compiled = jax.jit(jax.grad(total, has_aux=True))  # once for all corners

        def gradients(leaves: Leaves) -> dict[str, Any]:
            found, finite = compiled({name: array(value, "jax", "float32") for name, value in leaves.items()})
            return dict(found) if finite else {}

        return gradients

    _all_finite(encoding, "jax", "float32", differentiated)


def _all_finite(encoding: Encoding, name: str, dtype: str, differentiated: Callable[[Numbers], Gradients]) -> None:
    most = last_position(encoding)
    places = np.array([place for place in CORNERS if place <= most])
    corners = [corner for corner in _corners(encoding, places) if corner[1]]  # none of a table of integers
    scores = isinstance(encoding, AttentionScore)  # whose queries and keys stand at the same places
    for side in sides(encoding)[:1] if scores else sides(encoding):

        def numbers(held: Mapping[str, Any], side: Any = side) -> Any:
            positions = held["positions"] if "positions" in held else array(places, name)
            params = {key: held[f"params[{key!r}]"] for key in encoding.shapes}
            if not isinstance(encoding, AttentionScore):
                return program(encoding, name=name, dtype=dtype, side=side, params=params)(positions)
            q, k, hidden = held["q"], held["k"], held.get("hidden")
            return encoding.score(q, k, positions, positions, params or None, hidden=hidden)

        gradients = differentiated(numbers)
        for said, leaves in corners:
            for leaf, gradient in gradients(leaves).items():
                _finite(f"{name}, {side}, {said}", leaf, as_numpy(gradient), places)


def _corners(encoding: Encoding, places: np.ndarray) -> Iterator[tuple[str, Leaves]]:
    """Yield named inputs: parameters as drawn, of zeros, and of -1 (below all floors); content drawn or of zeros."""
    count, drawn = len(places), encoding.init(np.random.default_rng(0))
    content: Leaves = {}
    if isinstance(encoding, AttentionScore):
        content = {"q": content_at(encoding, 1, count), "k": content_at(encoding, 2, count)}
        hidden = hidden_input(encoding, count, count)
        content |= {} if hidden is None else {"hidden": hidden}
    at = {"positions": places.astype(float)} if "fractional" in encoding.claims else {}

    def leaves(change: Callable[[np.ndarray], np.ndarray], factor: float) -> Leaves:
        learned = {f"params[{name!r}]": change(np.asarray(value, float)) for name, value in drawn.items()}
        return {**at, **learned, **{name: factor * np.asarray(value) for name, value in content.items()}}

    yield "as drawn", leaves(lambda value: value, 1.0)
    if content:
        yield "with content of zeros", leaves(lambda value: value, 0.0)
    if drawn:
        yield "with parameters of zeros", leaves(np.zeros_like, 1.0)
        yield "with parameters of -1", leaves(lambda value: 0.0 * value - 1.0, 1.0)


def _finite(where: str, leaf: str, gradient: np.ndarray, places: np.ndarray) -> None:
    wrong = ~np.isfinite(gradient)
    if not wrong.any():
        return
    index = tuple(int(each) for each in np.argwhere(wrong)[0])
    place = f"position {places[index[0]]}, beside keys at {list(ANCHORS)}" if leaf == "positions" else str(list(index))
    ensure(
        False,
        f"gradient of {leaf} ({where}): expected finite numbers, as the values are, got {gradient[index]} at {place} "
        f"({int(wrong.sum())} in all). {REMEDY}.",
    )
