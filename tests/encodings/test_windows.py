"""Biases and scores over grids and graphs: all derived forms on grids that are no squares, with twelve heads; every
message."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from posenc import Decomposed, GraphDistance, LogCPB, WindowBias, resize_table
from posenc.core.doors import AttentionBias
from posenc.torch import score_mod

RNG = np.random.default_rng(0)
#: Five rows of three columns are asked about, in the middle of seven rows of four that are seen.
KEY = np.stack(np.meshgrid(np.arange(7), np.arange(4), indexing="ij"), -1).reshape(-1, 2)
QUERY = np.stack(np.meshgrid(np.arange(1, 6), np.arange(1, 4), indexing="ij"), -1).reshape(-1, 2)
#: A ring of five nodes, a chain of two, no way between them.
FAR = 9
RING = np.minimum((np.arange(5)[:, None] - np.arange(5)) % 5, (np.arange(5) - np.arange(5)[:, None]) % 5)
GRAPH = np.full((7, 7), FAR)
GRAPH[:5, :5], GRAPH[5:, 5:] = RING, [[0, 1], [1, 0]]

BIASES = {
    "window": (WindowBias(heads=12, window=(3, 4)), QUERY, KEY),
    "log": (LogCPB(heads=12, window=(3, 4), width=9), QUERY, KEY),
    "graph": (GraphDistance(heads=12, nodes=7, rows=4), GRAPH[[4, 6, 0]], GRAPH),
}


def drawn(encoding: AttentionBias | Decomposed) -> dict[str, np.ndarray]:
    return {name: RNG.standard_normal(shape) for name, shape in encoding.shapes.items()}


@pytest.mark.parametrize("name", BIASES)
def test_all_forms_are_the_bias_of_one_pair(name: str) -> None:
    """Dense, of a batch, one query's row, pointwise and as a score_mod."""
    encoding, query_positions, key_positions = BIASES[name]
    params = drawn(encoding)
    dense = encoding.matrix(query_positions, key_positions, params)
    assert dense.shape == (12, len(query_positions), len(key_positions))
    for head, m, n in ((0, 0, 0), (11, 2, 1), (7, 1, len(key_positions) - 1)):
        assert encoding.bias(head, query_positions[m], key_positions[n], params) == dense[head, m, n]
    rows = [
        encoding.matrix(query_positions[m : m + 1], key_positions, params)[:, 0] for m in range(len(query_positions))
    ]
    assert np.abs(np.stack(rows, 1) - dense).max() <= 2.0**-48
    shift = 0 if name == "graph" else np.array([100, -7])
    both = encoding.matrix(
        np.stack([query_positions, query_positions[::-1] + shift]),
        np.stack([key_positions, key_positions + shift]),
        params,
    )
    assert np.abs(both - np.stack([dense, dense[:, ::-1]])).max() <= 2.0**-48
    given = {part: torch.tensor(value) for part, value in params.items()}
    add = score_mod(encoding, torch.tensor(query_positions), torch.tensor(key_positions), given)
    zero, number = torch.zeros((), dtype=torch.float64), torch.tensor
    found = [add(zero, number(0), number(head), number(m), number(n)) for head, m, n in ((0, 0, 0), (11, 2, 1))]
    assert [float(value) for value in found] == pytest.approx([dense[0, 0, 0], dense[11, 2, 1]], abs=2.0**-48)


@pytest.mark.parametrize("name", BIASES)
def test_gradients_where_queries_stand_elsewhere_than_keys(name: str) -> None:
    encoding, query_positions, key_positions = BIASES[name]
    names = sorted(encoding.shapes)
    leaves = [torch.tensor(value, requires_grad=True) for value in map(drawn(encoding).get, names)]

    def bias(*given: torch.Tensor) -> torch.Tensor:
        params = dict(zip(names, given, strict=True))
        return encoding.matrix(
            torch.tensor(query_positions[:2]), torch.tensor(key_positions), params, dtype=torch.float64
        )[::11]

    assert torch.autograd.gradcheck(bias, leaves, fast_mode=True)


def test_window_is_the_released_index() -> None:
    """Swin's index of a window of 3 x 4: distances of all pairs, shifted, the row times 2·4 - 1."""
    places = np.stack(np.meshgrid(np.arange(3), np.arange(4), indexing="ij"), -1).reshape(-1, 2)
    steps = places[:, None] - places + [2, 3]
    encoding, table = WindowBias(heads=12, window=(3, 4)), RNG.standard_normal((35, 12))
    found = encoding.matrix(places, places, {"table": table})
    assert np.array_equal(found, table[steps[..., 0] * 7 + steps[..., 1]].transpose(2, 0, 1))


def test_beyond_the_window_its_edge() -> None:
    encoding, table = WindowBias(heads=1, window=(2, 3)), np.arange(15.0)[:, None]
    found = encoding.matrix([[0, 0]], [[-9, 0], [1, -2], [50, 70]], {"table": table})
    assert found[0].tolist() == [[12.0, 4.0, 0.0]]


def test_a_resized_table_keeps_what_is_linear() -> None:
    """A table that grows evenly with the distance, read from a window of 3 x 4 for one of 6 x 8: away from the border
    it grows evenly still, by the step of the new rows, 5/11 and 7/15 of the old."""
    steps = np.stack(np.meshgrid(np.arange(-2, 3), np.arange(-3, 4), indexing="ij"), -1)
    table = (steps @ [10.0, 1.0]).reshape(-1, 1)
    larger = resize_table(table, (5, 7), (11, 15), prefix=0, method="bilinear", antialias=False).reshape(11, 15)
    assert larger[5, 7] == 0
    assert np.diff(larger[2:9, 7]) == pytest.approx(50 / 11, abs=1e-13)
    assert np.diff(larger[5, 2:13]) == pytest.approx(7 / 15, abs=1e-13)


def test_graph_positions_give_its_distances_back() -> None:
    encoding, table = GraphDistance(heads=1, nodes=7, rows=FAR + 1), np.arange(FAR + 1.0)[:, None]
    assert np.array_equal(encoding.matrix(GRAPH, GRAPH, {"table": table})[0], GRAPH)


DECOMPOSED = Decomposed(dim=5, size=(3, 4))
TABLES = drawn(DECOMPOSED)
Q, K = RNG.standard_normal((2, 12, 15, 5)), RNG.standard_normal((2, 12, 28, 5))


def test_decomposed_is_the_sum_of_its_axes() -> None:
    found = DECOMPOSED.score(Q, K, QUERY, KEY, TABLES)
    steps = QUERY[:, None] - KEY
    rows = [np.clip(steps[..., axis], 1 - size, size - 1) + size - 1 for axis, size in enumerate((3, 4))]
    wanted = sum(np.einsum("bhid,ijd->bhij", Q, TABLES[f"axis_{axis}"][row]) for axis, row in enumerate(rows))
    assert np.abs(found - wanted).max() <= 12 * 64 * 2.0**-52
    alone = DECOMPOSED.score(Q[:, :, 4:5], K, QUERY[4:5], KEY, TABLES)
    assert np.abs(alone[:, :, 0] - found[:, :, 4]).max() <= 12 * 64 * 2.0**-52
    apart = DECOMPOSED.score(Q, K, np.stack([QUERY, QUERY + 3]), np.stack([KEY, KEY + 3]), TABLES)
    assert np.abs(apart - found).max() <= 12 * 64 * 2.0**-52


def test_gradients_of_decomposed() -> None:
    leaves = [torch.tensor(value, requires_grad=True) for value in (Q[:1, ::11], *TABLES.values())]
    k, query_positions, key_positions = torch.tensor(K[:1, ::11]), torch.tensor(QUERY), torch.tensor(KEY)

    def score(q: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
        return DECOMPOSED.score(q, k, query_positions, key_positions, {"axis_0": rows, "axis_1": columns})

    assert torch.autograd.gradcheck(score, leaves, fast_mode=True)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: WindowBias(heads=0), ValueError, r"^heads must be an integer from 1"),
        (
            lambda: WindowBias(heads=1, window=7),
            TypeError,
            r"^window must be a tuple of two to four sizes; got 7 \(int\)",
        ),
        (lambda: WindowBias(heads=1, window=(7,)), TypeError, r"^window must be a tuple of two to four sizes"),
        (lambda: WindowBias(heads=1, window=(0, 7)), ValueError, r"^window must be an integer from 1 to 4096; got 0"),
        (lambda: WindowBias(heads=1, class_token=1), TypeError, r"^class_token must be True or False; got 1"),
        (lambda: WindowBias(heads=1, window=(1, 1)), ValueError, r"^window must hold more than one position"),
        (lambda: WindowBias(heads=1 << 16, window=(4096, 4096)), ValueError, r"^window must need at most"),
        (
            lambda: BIASES["window"][0].matrix(QUERY + 0.5, KEY, drawn(BIASES["window"][0])),
            ValueError,
            "^query_positions must hold whole",
        ),
        (
            lambda: BIASES["window"][0].matrix(QUERY, KEY[:, :1], drawn(BIASES["window"][0])),
            ValueError,
            "^key_positions must have a last",
        ),
        (lambda: BIASES["window"][0].init(3), TypeError, r"^rng must be a numpy.random.Generator; got 3"),
        (lambda: LogCPB(heads=1, window=(1, 7)), ValueError, r"^window must be an integer from 2"),
        (lambda: LogCPB(heads=1, width=0), ValueError, r"^width must be an integer from 1"),
        (lambda: LogCPB(heads=1, window="77"), TypeError, r"^window must be a tuple of two to four sizes"),
        (lambda: LogCPB(heads=1 << 16, width=1 << 14), ValueError, r"^width must need at most"),
        (lambda: BIASES["log"][0].init(3), TypeError, r"^rng must be a numpy.random.Generator; got 3"),
        (lambda: GraphDistance(heads=1, nodes=1), ValueError, r"^nodes must be an integer from 2"),
        (lambda: GraphDistance(heads=1, nodes=3, rows=1), ValueError, r"^rows must be an integer from 2"),
        (lambda: GraphDistance(heads=1 << 16, nodes=3, rows=1 << 20), ValueError, r"^rows must need at most"),
        (
            lambda: BIASES["graph"][0].matrix(GRAPH[:, :6], GRAPH, drawn(BIASES["graph"][0])),
            ValueError,
            "^query_positions must have a last",
        ),
        (lambda: BIASES["graph"][0].init(3), TypeError, r"^rng must be a numpy.random.Generator; got 3"),
        (lambda: Decomposed(dim=0), ValueError, r"^dim must be an integer from 1"),
        (lambda: Decomposed(dim=4, size=(1, 4)), ValueError, r"^size must be an integer from 2"),
        (lambda: Decomposed(dim=4, size=4), TypeError, r"^size must be a tuple of two to four sizes"),
        (lambda: Decomposed(dim=1 << 20, size=(4096, 4096)), ValueError, r"^dim must need at most"),
        (
            lambda: DECOMPOSED.score(Q, K, QUERY[:3], KEY, TABLES),
            ValueError,
            r"^query_positions must hold a position for each of 15",
        ),
        (
            lambda: DECOMPOSED.score(Q, K, QUERY, KEY * math.pi, TABLES),
            ValueError,
            r"^key_positions must hold whole numbers",
        ),
        (lambda: DECOMPOSED.score(Q[..., :4], K, QUERY, KEY, TABLES), ValueError, r"^q must have shape"),
        (lambda: DECOMPOSED.init(3), TypeError, r"^rng must be a numpy.random.Generator; got 3"),
    ],
)
def test_refusals(make: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()  # type: ignore[operator]
