"""Positions of packed, padded and decoded rows, whatever their lengths."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import posenc
from posenc.positions import decoding, documents, from_mask, packed, span

LENGTHS = st.lists(st.integers(0, 40), max_size=8)
ROWS = st.lists(st.booleans(), min_size=1, max_size=40)


@given(LENGTHS)
@settings(deadline=None)
def test_packed_rows_are_their_documents_one_after_another(lengths: list[int]) -> None:
    assert packed(lengths).tolist() == [place for length in lengths for place in range(length)]
    assert documents(lengths).tolist() == [number for number, length in enumerate(lengths) for _ in range(length)]


@given(ROWS)
@settings(deadline=None)
def test_padding_never_stands_before_a_token(row: list[bool]) -> None:
    positions = np.asarray(from_mask([row])[0])
    assert sorted(positions.tolist()) == list(range(len(row)))
    assert positions[np.array(row)].tolist() == list(range(sum(row)))


@given(st.lists(st.integers(0, 2**40), min_size=1, max_size=5), st.integers(0, 6))
@settings(deadline=None)
def test_decoding_goes_on_where_each_cache_ends(cached: list[int], steps: int) -> None:
    assert decoding(cached, steps=steps).tolist() == [list(range(first, first + steps)) for first in cached]


@given(st.integers(-(2**52), 2**52), st.integers(0, 64), st.sampled_from((2, 6, 64)), st.sampled_from((10.0, 1e4, 5e5)))
@settings(deadline=None)
def test_a_rotation_is_the_same_wherever_its_row_is_made(start: int, length: int, dim: int, base: float) -> None:
    encoding = posenc.RoPE(dim=dim, base=base)
    whole, order = encoding.rotation(span(length, start=start)), np.arange(length)[::-1]
    backwards = encoding.rotation(span(length, start=start)[order])
    assert np.array_equal(whole.cos[order], backwards.cos)
    assert np.array_equal(whole.sin[order], backwards.sin)
    assert np.all(np.abs(whole.cos**2 + whole.sin**2 - 1) <= 4 * np.finfo(np.float64).eps)
