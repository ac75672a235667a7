"""Every row of the catalog, every sample, in every library, against the oracle of its encoding."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from oracles import ORACLES, sinusoidal, ways
from posenc.catalog import CATALOG
from posenc.doors import Adds, Biases, Encoding, Rotates, Scores

SAMPLES = [pytest.param(sample, id=repr(sample)) for row in CATALOG for sample in row.samples]


def released(record: Encoding) -> bool:
    return getattr(record, "numerics", "exact") == "float32"


def of_door(door: type, test: Callable[[Encoding], bool] = lambda record: True) -> list:
    return [case for case in SAMPLES if isinstance(case.values[0], door) and test(case.values[0])]


def exact(record: Encoding) -> bool:
    return not released(record)


def stretched(record: Encoding) -> bool:
    return bool(getattr(record, "extent", None))


def of_waves(record: Encoding) -> bool:
    return exact(record) and not record.shapes and {"unlimited", "bounded"} <= record.claims


def learned(record: Encoding) -> tuple[dict[str, np.ndarray], dict[str, list]]:
    """Parameters as arrays and as lists; of the width of float32, so that both widths read the same numbers."""
    params = {
        name: value.astype(np.float32).astype(np.float64)
        for name, value in record.init(np.random.default_rng(5)).items()
    }
    return params, {name: value.tolist() for name, value in params.items()}


def places(record: Encoding) -> list[list]:
    """Whole positions, and fractions apart, since one array holds one kind."""
    return [kind for kind in (ways.whole_places(record), ways.fractions(record)) if kind]


def test_every_row_has_an_oracle() -> None:
    assert {row.name for row in CATALOG} == set(ORACLES)
    assert all(row.samples for row in CATALOG)


#: float64: the angle is rounded three times and the wave once, 3.5 units (tests/exactness/test_phase.py); a product with
#: a scale, or the mixture of two rows of a table, adds 1 or 2.
ULPS64 = 5.5


@pytest.mark.parametrize("library", ways.LIBRARIES)
@pytest.mark.parametrize("record", of_door(Adds, exact))
def test_rows_in_float64(record: Adds, library: str) -> None:
    params, lists = learned(record)
    with ways.wide(library):
        given = {name: ways.array(library, value) for name, value in params.items()}
        for kind in places(record):
            got = ways.numbers(record.embed(ways.array(library, kind), given, dtype=ways.dtype(library, "float64")))
            expected = [ORACLES[type(record).__name__].row(record, place, lists) for place in kind]
            assert got.shape == (len(kind), record.width)
            worst = max(ways.errors(got, [value for row in expected for value in row], "float64"))
            assert worst <= (_mixing(record) if record.shapes else ULPS64)


def _mixing(record: Adds) -> float:
    """Units a stretched table may be off: the place in the table is rounded to 2^-53 of a row, and rows may cancel."""
    return 64.0 if stretched(record) else 0.0


@pytest.mark.parametrize("library", ways.LIBRARIES)
@pytest.mark.parametrize("record", of_door(Adds, lambda record: exact(record) and not stretched(record)))
def test_rows_in_float32_are_correctly_rounded(record: Adds, library: str) -> None:
    params, lists = learned(record)
    with ways.wide(library):
        given = {name: ways.array(library, value) for name, value in params.items()}
        for kind in places(record):
            got = ways.numbers(record.embed(ways.array(library, kind), given, dtype=ways.dtype(library, "float32")))
            expected = [ORACLES[type(record).__name__].row(record, place, lists) for place in kind]
            assert got.dtype == np.float32
            assert got.tolist() == [[ways.nearest32(value) for value in row] for row in expected]


@pytest.mark.parametrize("library", ways.LIBRARIES)
@pytest.mark.parametrize("record", of_door(Adds, released))
def test_released_numerics(record: Any, library: str) -> None:
    kind = [*ways.NEAR, *ways.NEGATIVE]
    got = ways.numbers(record.embed(ways.array(library, kind), dtype=ways.dtype(library, "float32")))
    for place, row in zip(kind, got, strict=True):
        for number, (value, true) in enumerate(zip(row.tolist(), sinusoidal.row(record, place), strict=True)):
            assert abs(value - float(true)) <= angle_error(place, sinusoidal.steepness(record, number))
    far = kind.index(131_071)  # where what released models compute is visibly something else
    assert (
        max(abs(a - float(b)) for a, b in zip(got[far].tolist(), sinusoidal.row(record, kind[far]), strict=True)) > 1e-5
    )


def angle_error(place: float, frequency: float) -> float:
    """What float32 loses: the frequency is exp or a power of a rounded exponent, whose error grows with ln ω; the product
    with the position is rounded once more, a position above 2^24 too; the wave is good to 2 units of 2^-24."""
    if not frequency:
        return 0.0
    return abs(place) * frequency * (2 * abs(math.log(frequency)) + 6) * 2**-24 + 2**-22


@pytest.mark.parametrize("library", ways.LIBRARIES)
@pytest.mark.parametrize("record", of_door(Rotates))
def test_turned_vectors(record: Any, library: str) -> None:
    oracle = ORACLES[type(record).__name__]
    x = np.random.default_rng(6).standard_normal(record.head_dim)
    released_places = [[*ways.NEAR, *ways.NEGATIVE]]
    with ways.wide(library):
        for kind in released_places if released(record) else places(record):
            turn = record.turn(ways.array(library, kind), dtype=ways.dtype(library, "float64"))
            got = ways.numbers(turn(ways.array(library, np.tile(x, (len(kind), 1)))))
            for place, row in zip(kind, got, strict=True):
                expected = oracle.rotated(record, x.tolist(), place)
                # Each channel is two products of numbers below 2|x|; cos and sin are off by 3.5 units of 2^-53 at most,
                # the products and their sum by one each. In float32 what the angle loses is added.
                lost = max(angle_error(place, float(oracle.theta(record, i))) for i in range(record.head_dim // 2))
                bound = 4 * np.abs(x).max() * (lost if released(record) else 4.5 * 2**-53)
                assert (
                    max(abs(float(true - value)) for value, true in zip(row.tolist(), expected, strict=True)) <= bound
                )


@pytest.mark.parametrize("library", ways.LIBRARIES)
@pytest.mark.parametrize("record", of_door(Rotates, exact))
def test_turned_unit_vectors_are_correctly_rounded_in_float32(record: Any, library: str) -> None:
    oracle = ORACLES[type(record).__name__]
    with ways.wide(library):
        for kind in places(record):
            turn = record.turn(ways.array(library, kind), dtype=ways.dtype(library, "float32"))
            for channel in range(record.head_dim):
                unit = [float(number == channel) for number in range(record.head_dim)]
                x = ways.array(library, np.tile(np.float32(unit), (len(kind), 1)))
                got = ways.numbers(turn(x))
                assert got.dtype == np.float32
                # One of the two products is 0 and the other a cosine or sine itself.
                expected = [[ways.nearest32(value) for value in oracle.rotated(record, unit, place)] for place in kind]
                assert got.tolist() == expected


@pytest.mark.parametrize("library", ways.LIBRARIES)
@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("record", of_door(Biases))
def test_biases(record: Biases, kind: str, library: str) -> None:
    params, lists = learned(record)
    pairs = [(m, n) for m in places(record)[0] for n in places(record)[0][::3]]
    pairs += [(m, n) for m in ways.fractions(record) for n in ways.fractions(record)]
    # A number of a table is exact; a slope, a distance and their product are each rounded once, the slope's power of two
    # is good to one unit more.
    allowed = 0.0 if record.shapes else 3.0
    with ways.wide(library):
        given = {name: ways.array(library, value) for name, value in params.items()}
        query, key = (ways.array(library, [pair[which] for pair in pairs]) for which in (0, 1))
        head = ways.array(library, np.arange(record.heads)[:, None])
        got = ways.numbers(record.bias(head, query, key, given, dtype=ways.dtype(library, kind)))
    assert got.shape == (record.heads, len(pairs))
    whole = all(isinstance(place, int) for pair in pairs for place in pair)
    seen = pairs if whole else [tuple(map(float, pair)) for pair in pairs]
    oracle = ORACLES[type(record).__name__]
    for number in range(record.heads):
        expected = [oracle.bias(record, number, *pair, lists) for pair in seen]
        assert max(ways.errors(got[number], expected, kind)) <= allowed


@pytest.mark.parametrize("library", ways.LIBRARIES)
@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("record", of_door(Scores))
def test_scores(record: Any, kind: str, library: str) -> None:
    params, lists = learned(record)
    rng, heads = np.random.default_rng(7), getattr(record, "heads", 3)
    query = [place for place in ways.whole_places(record) if abs(place) <= 2**52]
    key = [*query[::2], query[0] + 1]
    q, k = (rng.standard_normal((heads, len(at), record.dim)).astype(np.float32).astype(kind) for at in (query, key))
    with ways.wide(library):
        given = {name: ways.array(library, value.astype(kind)) for name, value in params.items()}
        content = [ways.array(library, part) for part in (q, k)]
        got = ways.numbers(record.score(*content, *(ways.array(library, at) for at in (query, key)), given))
    assert got.shape == (heads, len(query), len(key))
    assert got.dtype == np.dtype(kind)
    bound = _terms(record, params, q, k) * np.finfo(kind).eps
    oracle = ORACLES[type(record).__name__]
    for head in range(heads):
        for i, m in enumerate(query):
            for j, n in enumerate(key):
                expected = oracle.score(record, head, q[head, i].tolist(), k[head, j].tolist(), m, n, lists)
                assert abs(float(expected - got[head, i, j].item())) <= bound


def _terms(record: Any, params: dict[str, np.ndarray], q: np.ndarray, k: np.ndarray) -> float:
    """(number of roundings in a term) × (largest sum of magnitudes): a bound of a sum of products in units of eps."""
    if "W_R" in params:
        asks = np.abs(q).sum(-1).max() + np.abs(params["v"]).sum(-1).max()
        content = np.abs(params["u"]).sum(-1).max() * np.abs(k).max()
        # Each wave of the distance is two products of waves of the positions: at most √2 in magnitude.
        size = 2 * asks * np.abs(params["W_R"]).sum(-2).max() + content
        return (record.dim + 2 * record.model_dim + 8) * size / math.sqrt(record.dim)
    return (record.dim + 2) * np.abs(q).sum(-1).max() * max(np.abs(table).max() for table in params.values())


@pytest.mark.parametrize("library", ways.LIBRARIES)
@pytest.mark.parametrize("record", of_door(Scores))
def test_value_terms(record: Any, library: str) -> None:
    params, lists = learned(record)
    query, key, heads = [5, 0, 2**40, -3], [4, 5, 7, 2**40 + 1, -900], getattr(record, "heads", 3)
    weights = np.random.default_rng(8).dirichlet(np.ones(len(key)), (heads, len(query)))
    with ways.wide(library):
        given = {name: ways.array(library, value) for name, value in params.items()}
        got = record.values(*(ways.array(library, part) for part in (weights, query, key)), given)
    oracle = ORACLES[type(record).__name__]
    if oracle.value(record, weights[0, 0].tolist(), query[0], key, lists) is None:
        assert got is None
        return
    assert ways.numbers(got).shape == (heads, len(query), record.dim)
    for head in range(heads):
        for i, m in enumerate(query):
            expected = oracle.value(record, weights[head, i].tolist(), m, key, lists)
            for value, true in zip(ways.numbers(got)[head, i].tolist(), expected, strict=True):
                # The weights sum to one: as many roundings as keys, of numbers no larger than the table's.
                assert abs(float(true) - value) <= (len(key) + 3) * 2**-52 * np.abs(params["relative_values"]).max()


@pytest.mark.parametrize("record", of_door(Adds, of_waves) + of_door(Rotates, exact))
def test_jax_without_64_bits(record: Any) -> None:
    kind = [*ways.NEAR, *ways.NEGATIVE, 2**24 + 1, 2**30 + 7, 2**31 - 200, -(2**31) + 200]
    oracle = ORACLES[type(record).__name__]
    given = ways.array("jax", np.array(kind, np.int32))
    if isinstance(record, Adds):
        got, expected = ways.numbers(record.embed(given)), [oracle.row(record, place) for place in kind]
    else:
        unit = [float(number == 0) for number in range(record.head_dim)]
        got = ways.numbers(record.turn(given)(ways.array("jax", np.tile(np.float32(unit), (len(kind), 1)))))
        expected = [oracle.rotated(record, unit, place) for place in kind]
    assert got.dtype == np.float32
    # 1.2e-7, the promise of tests/exactness/test_jax.py.
    assert np.abs(got - np.array([[float(value) for value in row] for row in expected])).max() <= 1.2e-7


def test_a_wrong_row_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    record = CATALOG[[row.name for row in CATALOG].index("Sinusoidal")].samples[0]
    monkeypatch.setattr(type(record), "_arranged", lambda self, first, second: np.concatenate([second, first], -1))
    with pytest.raises(AssertionError):
        test_rows_in_float64(record, "numpy")


def test_a_wrong_bucket_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    record = CATALOG[[row.name for row in CATALOG].index("T5Bias")].samples[0]
    bucket = type(record)._bucket
    monkeypatch.setattr(type(record), "_bucket", lambda self, steps: bucket(self, -steps))
    with pytest.raises(AssertionError):
        test_biases(record, "float64", "numpy")
