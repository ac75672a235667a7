"""Positions that contradict a mask by index: an error in the three libraries, NaN where values cannot be read."""

import itertools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import posenc
from posenc import attention as in_numpy
from posenc import jax as in_jax
from posenc import torch as in_torch
from posenc.core.checked_positions import checked, order_guard

PLACE = np.arange(16)
PACKED, RING = np.tile(np.arange(4), 2), np.array([4, 5, 6, 3])
LIBRARIES = {
    "numpy": (np.asarray, lambda *qkv, **more: in_numpy.attention(*qkv, **more).output),
    "torch": (torch.as_tensor, in_torch.attention),
    "jax": (jnp.asarray, in_jax.attention),
}
LIBRARY = pytest.mark.parametrize("library", LIBRARIES)


def attended(library, query_positions, key_positions, *, rows=1, **more):
    """Attention of random vectors at these positions, causal unless `more` says otherwise."""
    array, attention = LIBRARIES[library]
    draw, axes = np.random.default_rng(0).standard_normal, more.pop("axes", 1)
    n, m = (np.asarray(x).shape[-1 if axes == 1 else -2] for x in (query_positions, key_positions))
    q, k, v = (array(draw((rows, 2, length, 8)).astype(np.float32)) for length in (n, m, m))
    if "documents" in more:
        more["documents"] = tuple(map(array, more["documents"]))
    if "mask" in more:
        more["mask"] = array(more["mask"])
    given = {"causal": True, "layout": "bhtd"} | more
    return np.asarray(
        attention(q, k, v, query_positions=array(query_positions), key_positions=array(key_positions), **given)
    )


def by_definition(query_positions, key_positions):
    """The pairs (query, key) of which index and position say different things, and which is seen by index."""
    ahead = len(key_positions) - len(query_positions)
    for i, j in itertools.product(range(len(query_positions)), range(len(key_positions))):
        own, seen = i + ahead, j <= i + ahead
        tie = own >= 0 and key_positions[own] == query_positions[i] == key_positions[j]
        if not tie and seen != (key_positions[j] <= query_positions[i]):
            yield i, j, seen


def test_neighbours_tell_what_all_pairs_tell():
    agree = 0
    for n, m in itertools.product((1, 2, 3), repeat=2):
        for query_positions, key_positions in itertools.product(
            itertools.product(range(3), repeat=n), itertools.product(range(3), repeat=m)
        ):
            pairs = set(by_definition(query_positions, key_positions))
            if not pairs:
                agree += 1
                assert order_guard(checked(query_positions), checked(key_positions), "causal") is None
                continue
            with pytest.raises(ValueError, match=r"^causal goes by index") as error:
                order_guard(checked(query_positions), checked(key_positions), "causal")
            found = re.search(
                r"query (\d+) at position (\d+), which would (not )?see key (\d+) at position (\d+)\.", str(error.value)
            )
            i, at, hidden, j, to = found.groups()
            assert (int(i), int(j), not hidden) in pairs
            assert (query_positions[int(i)], key_positions[int(j)]) == (int(at), int(to))
    assert agree == 116  # of 1521


def test_neighbours_tell_what_all_pairs_of_a_document_tell():
    """Each document by itself, and a query's own key is of its document."""
    agree = 0
    for n, m in ((1, 3), (2, 3), (3, 3)):
        for at, to, of in itertools.product(
            itertools.product(range(2), repeat=n),
            itertools.product(range(2), repeat=m),
            itertools.combinations_with_replacement(range(2), m + n),
        ):
            of_query, of_key = np.array(of[m:]), np.array(of[:m])
            own, queries, keys = (of_key[m - n :] == of_query).all(), np.array(at), np.array(to)
            pairs = [pair for pair in by_definition(at, to) if of_query[pair[0]] == of_key[pair[1]]]
            placed = (
                checked(queries)._replace(documents=of_query[None]),
                checked(keys)._replace(documents=of_key[None]),
            )
            if own and not pairs:
                agree += 1
                assert order_guard(*placed, "causal") is None
                continue
            with pytest.raises(ValueError, match=r"^causal goes by index") as error:
                order_guard(*placed, "causal")
            i, j = map(int, re.findall(r"(?:query|key) (\d+)", str(error.value)))
            assert ("and documents must agree" in str(error.value)) != own
            assert (i, j) in [pair[:2] for pair in pairs] if own else of_query[i] != of_key[j]
    assert agree > 50


CONTRADICTIONS = {
    "shard": (PLACE[4:8], PLACE, {}, "query 0 at position 4, which would see key 12 at position 12"),
    "packed": (PACKED, PACKED, {}, "query 1 at position 1, which would not see key 4 at position 0"),
    "ring": (PLACE[5:7], RING, {}, "query 0 at position 5, which would see key 2 at position 6"),
    "static cache": (PLACE[5:6], PLACE, {}, "query 0 at position 5, which would see key 15 at position 15"),
    "shifted": (PLACE + 1, PLACE, {}, "query 0 at position 1, which would not see key 1 at position 1"),
    "a part of a packed row": (
        PACKED[4:7],
        PACKED,
        {"documents": (np.array([1, 1, 1]), np.repeat([0, 1], 4))},
        "query 0 at position 0, which would see key 5 at position 1",
    ),
    "a row": (PLACE[None, 4:] - [[0], [4]], PLACE, {"rows": 2}, "query 0 at position 0, which would see key 4"),
}


@LIBRARY
@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_a_contradiction_is_an_error_that_names_the_remedy(library, case):
    query_positions, key_positions, more, what = CONTRADICTIONS[case]
    with pytest.raises(
        ValueError, match=rf"^causal goes by index, .*; got {what}.*documents=.*leave causal out.*mask="
    ):
        attended(library, query_positions, key_positions, **more)


@LIBRARY
def test_a_query_of_another_document_than_its_own_key_is_an_error(library):
    """A token of the middle of a packed row with the keys of the whole row saw later keys, in a window none."""
    documents = np.array([0]), np.repeat([0, 1], 4)
    with pytest.raises(ValueError, match=r"documents must agree .* got query 0 of document 0 at key 7 of document 1\."):
        attended(library, PACKED[2:3], PACKED, documents=documents)


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_a_window_goes_by_index_too(library):
    with pytest.raises(ValueError, match=r"^window goes by index, .* leave window out and give mask="):
        attended(library, PLACE[4:8], PLACE, causal=False, window=(2, 2))
    assert np.isfinite(attended(library, PLACE[12:], PLACE, causal=False, window=(2, 2))).all()


def agreeing():
    """Positions that a mask by index suits, or that state what is seen; the first six are of every kind."""
    everything, grid = np.ones((1, 1, 1, 1), bool), posenc.positions.grid(2, 4)
    numbers, rotated = np.repeat([0, 1], 4), [posenc.axial("sam2", dim=8)]
    padded = np.maximum(PLACE[None] - [[3], [0]], 0)
    return (
        (PLACE[12:], PLACE, {}),
        (padded[:, 8:], padded, {"rows": 2}),
        (PACKED, PACKED, {"documents": (numbers, numbers)}),
        (PACKED, PACKED, {"mask": everything, "documents": (numbers, numbers)}),
        (grid, grid, {"encodings": rotated, "axes": 2}),
        (PACKED, PACKED, {"causal": False}),
        (PLACE[15:], PLACE, {}),
        (PLACE[3:4], RING[[0, 3]] - 4, {}),  # a step of decoding behind keys out of order
        (PLACE[12:] * 1.5, PLACE * 1.5, {}),
        (np.array([2, 2, 2, 5]), np.array([0, 1, 2, 2, 2, 5]), {}),
        (np.zeros(4, int), np.zeros(6, int), {}),
    )


@pytest.mark.parametrize(
    ("library", "count"),
    # JAX compiles each operation anew for each shape, and asks the same rule as the others.
    [("numpy", None), ("torch", None), ("jax", 6), pytest.param("jax", None, marks=pytest.mark.nightly)],
)
def test_positions_that_agree_or_are_stated_pass(library, count):
    for query_positions, key_positions, more in agreeing()[:count]:
        assert np.isfinite(attended(library, query_positions, key_positions, **more)).all(), (
            query_positions,
            key_positions,
            more,
        )


def test_the_remedies_give_what_tokens_give_alone():
    whole = attended("numpy", PLACE, PLACE)
    draw = np.random.default_rng(0).standard_normal
    q, k, v = (draw((1, 2, 16, 8)).astype(np.float32) for _ in range(3))
    mask = (PLACE[4:8, None] >= PLACE)[None, None]
    for library, (array, attention) in LIBRARIES.items():
        placed = {"query_positions": array(PLACE[4:8]), "key_positions": array(PLACE), "layout": "bhtd"}
        part = attention(*map(array, (q[:, :, 4:8], k, v)), mask=array(mask), **placed)
        # Sums of at most 16 terms below 8, in another order.
        assert np.abs(np.asarray(part) - whole[:, :, 4:8]).max() <= 16 * 8 * 2**-23, library


def test_a_row_that_cannot_be_read_becomes_nan():
    x, rows = np.random.default_rng(0).standard_normal((2, 1, 8, 4)).astype(np.float32), np.stack([PLACE[:8], PACKED])
    reads = [
        jax.jit(
            lambda x, at: in_jax.attention(x, x, x, query_positions=at, key_positions=at, causal=True, layout="bhtd")
        ),
        jax.jit(
            lambda x, at: (
                in_numpy.attention(x, x, x, query_positions=at, key_positions=at, causal=True, layout="bhtd").output
            )
        ),
        torch.compile(
            lambda x, at: in_torch.attention(x, x, x, query_positions=at, key_positions=at, causal=True, layout="bhtd"),
            backend="eager",
            fullgraph=True,
        ),
    ]
    for attention, array in zip(reads, (jnp.asarray, jnp.asarray, torch.as_tensor), strict=True):
        wrong = np.isnan(np.asarray(attention(array(x), array(rows))))
        assert wrong[1].all()
        assert not wrong[0].any()


def test_a_layer_refuses_packed_rows_without_documents():
    layer, x = in_torch.Attention(8, 2, encodings=[posenc.RoPE(dim=4)], causal=True), torch.zeros(1, 8, 8)
    packed, numbers = torch.as_tensor(PACKED), torch.arange(8) // 4
    with pytest.raises(ValueError, match=r"^causal goes by index"):
        layer(x, packed)
    assert layer(x, packed, documents=(numbers, numbers)).shape == x.shape
    _, cache = layer.step(x)
    with pytest.raises(ValueError, match=r"^causal goes by index"):
        layer.step(x[:, :2], cache, torch.tensor([3, 4]))
