"""Shapes that do not go together, at every bias and score in each library: refused by the argument's name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch

from every import every
from posenc.core.doors import AttentionBias, AttentionScore
from samples import SAMPLES

LIBRARIES: dict[str, Callable[[Any], Any]] = {"numpy": np.asarray, "torch": torch.as_tensor, "jax": jnp.asarray}
BIASES = [sample for sample in SAMPLES if isinstance(sample, AttentionBias)]
SCORES = [sample for sample in SAMPLES if isinstance(sample, AttentionScore)]
PAIR = r"^query_positions and key_positions must broadcast; got shapes \(4,\) and \(5,\)\. "
HEAD = r"^head must broadcast against query_positions and key_positions; got shapes \(3,\), \(4,\) and \(4,\)\. "
ROWS = r"^query_positions and key_positions must have axes of batches that broadcast; got shapes \(2, 4"
BATCH = r"^k must have the batch(?: and heads)? of q, \(2.*\); got shapes \(2, .*\) and \(3, .*\)\. Give the keys"
HEADS = r"^k must have (?:the batch and heads of q|\d+ heads)[,;].*\. "


def biased(encoding: AttentionBias, array: Callable[[Any], Any]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Rules that calls of a bias break, and the calls."""
    params = drawn(encoding, array)

    def at(*shape: int) -> Any:
        return array(np.zeros((*shape, encoding.axes) if encoding.axes > 1 else shape, np.int32))

    yield PAIR, lambda: encoding.bias(0, at(4), at(5), params)
    yield HEAD, lambda: encoding.bias(array(np.zeros(3, np.int32)), at(4), at(4), params)
    yield ROWS, lambda: encoding.matrix(at(2, 4), at(3, 4), params)


def scored(encoding: AttentionScore, array: Callable[[Any], Any]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Rules that calls of a score break, and the calls."""
    params, dim, heads = drawn(encoding, array), getattr(encoding, "dim", 8), getattr(encoding, "heads", 2)
    numbers = np.arange(4, dtype=np.int32)
    at = array(np.stack([numbers] * encoding.axes, -1) if encoding.axes > 1 else numbers)

    def x(*shape: int) -> Any:
        return array(np.ones(shape, np.float32))

    places = encoding.hidden_length(4, 4)
    hidden = {"hidden": x(2, places, encoding.model_dim)} if encoding.reads else {}  # type: ignore[attr-defined]
    q = x(2, heads, 4, dim)
    yield BATCH, lambda: encoding.score(q, x(3, heads, 4, dim), at, at, params, **hidden)
    if getattr(encoding, "dim", None) and (encoding.gathers or hasattr(encoding, "heads")):  # others read q alone
        yield HEADS, lambda: encoding.score(q, x(2, heads + 1, 4, dim), at, at, params, **hidden)


def drawn(encoding: Any, array: Callable[[Any], Any]) -> Any:
    values = encoding.init(np.random.default_rng(0))
    return {name: array(np.asarray(value, np.float32)) for name, value in values.items()} or None


@pytest.mark.parametrize("library", LIBRARIES)
def test_shapes_that_do_not_go_together_are_refused_by_name(library: str) -> None:
    def check(encoding: Any) -> None:
        calls = biased if isinstance(encoding, AttentionBias) else scored
        for rule, call in calls(encoding, LIBRARIES[library]):
            with pytest.raises(ValueError, match=rule):
                call()

    every([*BIASES, *SCORES], check)
