"""Nothing in, nothing out: empty sequences and empty batches at every door, in every library."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from posenc.attention import attention
from posenc.positions import decoding, from_mask, packed, span
from posenc.testing.door_probe import array, program
from posenc.testing.one_coordinate import spread_over_axes
from samples import FIRST, SAMPLES, firsts

SHAPES = ((0,), (2, 0), (0, 3), (0, 0))


@pytest.mark.parametrize(
    ("encoding", "library"),
    [
        pytest.param(
            encoding, library, marks=pytest.mark.nightly if library == "jax" and encoding not in firsts("RoPE") else []
        )
        for encoding in SAMPLES
        if encoding in FIRST
        for library in ("numpy", "torch", "jax")  # JAX compiles each operation anew for each shape
    ],
)
def test_no_positions_give_no_rows(encoding: Any, library: str) -> None:
    pytest.importorskip(library)
    call = program(encoding, name=library)
    found = [call(array(np.zeros(shape, np.int64), library)).shape for shape in SHAPES]
    assert [shape[-2] for shape in found] == [shape[-1] for shape in SHAPES]
    assert all(0 in shape for shape in found)


@pytest.mark.parametrize("encoding", [r for r in SAMPLES if r.door != "adds"])
def test_attention_over_nothing(encoding: Any) -> None:
    heads = getattr(encoding, "heads", 2)
    width = encoding.head_dim if encoding.door == "rotates" else getattr(encoding, "dim", 4)
    reads = getattr(encoding, "reads", None)
    params = encoding.init(np.random.default_rng(0)) or None
    for batch, queries, keys in ((0, 2, 3), (1, 0, 3), (1, 0, 0), (1, 2, 0)):
        q, k = np.ones((batch, heads, queries, width)), np.ones((batch, heads, keys, width))
        read = encoding.hidden_length(queries, keys) if reads else 0
        hidden = np.ones((batch, read, encoding.model_dim)) if reads else None
        found = attention(
            q,
            k,
            k,
            query_positions=spread_over_axes(encoding, np.arange(queries)),
            key_positions=spread_over_axes(encoding, np.arange(keys)),
            layout="bhtd",
            encodings=[encoding],
            params=[params],
            hidden=hidden,
        )
        assert found.output.shape == (batch, heads, queries, width)
        assert np.isfinite(found.output).all()


def test_positions_of_nothing() -> None:
    assert span(0).shape == (0,)
    assert packed([]).shape == (0,)
    assert packed([0, 2, 0]).tolist() == [0, 1]
    assert from_mask(np.zeros((2, 0), bool)).shape == (2, 0)
    assert decoding([3], steps=0).shape == (1, 0)
