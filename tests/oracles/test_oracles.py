"""Every row of the catalog, every sample, in every library, against the oracle of its encoding."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from itertools import product
from typing import Any

import jax
import numpy as np
import pytest

from oracles import ORACLES, ways
from posenc.catalog import CATALOG
from posenc.compose import Sum
from posenc.core.doors import AdditiveEncoding, AttentionBias, AttentionScore, Encoding, RotaryEncoding
from posenc.encodings.adds import sinusoidal
from samples import FIRST_OF_CLASS, SAMPLES, by_night


def released(encoding: Encoding) -> bool:
    return getattr(encoding, "numerics", "exact") == "float32"


def of_door(door: type, test: Callable[[Encoding], bool] = lambda encoding: True) -> list:
    return [sample for sample in SAMPLES if isinstance(sample, door) and test(sample)]


def exact(encoding: Encoding) -> bool:
    return not released(encoding)


def in_pairs(encoding: Encoding) -> bool:
    """Whether a rotation turns pairs of channels; other maps are asked about in test_operated.py."""
    return not hasattr(ORACLES[type(encoding).__name__], "units")


def exact_pairs(encoding: Encoding) -> bool:
    return exact(encoding) and in_pairs(encoding)


def stretched(encoding: Encoding) -> bool:
    return bool(getattr(encoding, "extent", None))


def learned_waves(encoding: Encoding) -> bool:
    """Whether an angle is formed from a learned frequency: a float, which no fixed point can hold."""
    return bool(encoding.shapes) and hasattr(ORACLES[type(encoding).__name__], "steepness")


def made_of_others(encoding: Encoding) -> bool:
    """Whether a row is a sum or product of other rows, each rounded: its oracle says how large they are."""
    return hasattr(ORACLES[type(encoding).__name__], "magnitude")


def plain(encoding: Encoding) -> bool:
    return exact(encoding) and not learned_waves(encoding) and not made_of_others(encoding)


def of_waves(encoding: Encoding) -> bool:
    return exact(encoding) and not encoding.shapes and {"unlimited", "bounded"} <= encoding.claims


def learned(encoding: Encoding) -> tuple[dict[str, np.ndarray], dict[str, list]]:
    """Parameters as arrays and as lists; of the width of float32, so that both widths read the same numbers."""
    params = {
        name: value.astype(np.float32).astype(np.float64)
        for name, value in encoding.init(np.random.default_rng(5)).items()
    }
    return params, {name: value.tolist() for name, value in params.items()}


def places(encoding: Encoding) -> list[list]:
    """Whole positions, and fractions apart, since one array holds one kind."""
    return [kind for kind in (ways.whole_places(encoding), ways.fractions(encoding)) if kind]


def test_every_row_has_an_oracle() -> None:
    assert {row.encoding.__name__ for row in CATALOG} == set(ORACLES)
    assert all(row.samples for row in CATALOG)


#: float64: the angle is rounded three times and the wave once, 3.5 units (tests/exactness/test_phase.py); a product
#: with a scale, or the mixture of two rows of a table, adds 1 or 2.
ULPS64 = 5.5


@ways.cases(of_door(AdditiveEncoding, plain), jax_by_day=False)
def test_rows_in_float64(encoding: AdditiveEncoding, library: str) -> None:
    params, lists = learned(encoding)
    with ways.wide(library):
        given = {name: ways.array(library, value) for name, value in params.items()}
        for kind in places(encoding):
            embed = ways.run(library, partial(encoding.embed, dtype=ways.dtype(library, "float64")))
            got = ways.numbers(embed(ways.array(library, kind), given))
            expected = [ORACLES[type(encoding).__name__].row(encoding, place, lists) for place in kind]
            assert got.shape == (len(kind), encoding.width)
            worst = max(ways.errors(got, [value for row in expected for value in row], "float64"))
            assert worst <= (_mixing(encoding) if encoding.shapes else ULPS64)


def _mixing(encoding: AdditiveEncoding) -> float:
    """Units a stretched table may be off: the place in the table is rounded to 2^-53 of a row, and rows may cancel."""
    return 64.0 if stretched(encoding) else 0.0


@ways.cases(of_door(AdditiveEncoding, lambda encoding: plain(encoding) and not stretched(encoding)))
def test_rows_in_float32_are_correctly_rounded(encoding: AdditiveEncoding, library: str) -> None:
    params, lists = learned(encoding)
    with ways.wide(library):
        given = {name: ways.array(library, value) for name, value in params.items()}
        for kind in places(encoding):
            embed = ways.run(library, partial(encoding.embed, dtype=ways.dtype(library, "float32")))
            got = ways.numbers(embed(ways.array(library, kind), given))
            expected = [ORACLES[type(encoding).__name__].row(encoding, place, lists) for place in kind]
            assert got.dtype == np.float32
            assert got.tolist() == [[ways.nearest32(value) for value in row] for row in expected]


@ways.cases(of_door(AdditiveEncoding, learned_waves))
def test_rows_of_learned_waves(encoding: Any, library: str) -> None:
    params, lists = learned(encoding)
    oracle = ORACLES[type(encoding).__name__]
    with ways.wide(library):
        given = {name: ways.array(library, value) for name, value in params.items()}
        for kind in places(encoding):
            embed = ways.run(library, partial(encoding.embed, dtype=ways.dtype(library, "float64")))
            got = ways.numbers(embed(ways.array(library, kind), given))
            for place, row in zip(kind, got, strict=True):
                for number, (value, true) in enumerate(zip(row, oracle.row(encoding, place, lists), strict=True)):
                    # Product and sum round once each, by 2^-53 of the angle at most; the sine by one unit.
                    size = oracle.steepness(encoding, number, place, lists)
                    assert abs(float(true - float(value))) <= 2 * size * 2**-53 + 2**-52


@ways.cases(of_door(AdditiveEncoding, made_of_others), "float32", "float64")
def test_rows_made_of_others(encoding: Any, kind: str, library: str) -> None:
    params, lists = learned(encoding)
    oracle = ORACLES[type(encoding).__name__]
    with ways.wide(library):
        given = {name: ways.array(library, value) for name, value in params.items()}
        for at in places(encoding):
            embed = ways.run(library, partial(encoding.embed, dtype=ways.dtype(library, kind)))
            got = ways.numbers(embed(ways.array(library, at), given))
            for place, row in zip(at, got, strict=True):
                sizes = oracle.magnitude(encoding, place, lists)
                for value, true, size in zip(row.tolist(), oracle.row(encoding, place, lists), sizes, strict=True):
                    # A wave is good to 3.5 units of 2^-53 in float64 and to half of one of 2^-24 in float32; a factor,
                    # a product and two sums round once each.
                    assert abs(float(true - value)) <= size * 3 * np.finfo(kind).eps


@ways.cases(of_door(AdditiveEncoding, released))
def test_released_numerics(encoding: Any, library: str) -> None:
    kind, oracle = ways.on_axes(encoding, [*ways.NEAR, *ways.NEGATIVE]), ORACLES[type(encoding).__name__]
    got = ways.numbers(encoding.embed(ways.array(library, kind), dtype=ways.dtype(library, "float32")))
    for place, row in zip(kind, got, strict=True):
        for number, (value, true) in enumerate(zip(row.tolist(), oracle.row(encoding, place), strict=True)):
            assert abs(value - float(true)) <= angle_error(place, oracle.steepness(encoding, number))
    far = next(
        i for i, place in enumerate(kind) if place == 131_071 or 131_071 in np.atleast_1d(place)
    )  # where what released models compute is visibly something else
    assert (
        max(abs(a - float(b)) for a, b in zip(got[far].tolist(), oracle.row(encoding, kind[far]), strict=True)) > 1e-5
    )


def roles(oracle: Any) -> tuple[str, ...]:
    """What the encoding is asked to rotation: each on its own where they differ."""
    return getattr(oracle, "ROLES", ("both",))


def rotated(oracle: Any, encoding: Any, x: list[float], place: float, role: str, params: dict[str, list]) -> list:
    return (
        oracle.rotated(encoding, x, place, role, params)
        if hasattr(oracle, "ROLES")
        else oracle.rotated(encoding, x, place)
    )


def loudness(encoding: Encoding) -> float:
    """How many times as long a rotated vector is."""
    return float(getattr(getattr(encoding, "encoding", encoding), "attention_factor", 1.0))


def angle_error(place: float, frequency: float) -> float:
    """What float32 loses: the frequency is exp or a power of a rounded exponent, whose error grows with ln ω; the
    product with the position is rounded once more, a position above 2^24 too; the wave is good to 2 units of 2^-24."""
    if not frequency:
        return 0.0
    farthest = max(map(abs, place)) if isinstance(place, tuple) else abs(place)
    return farthest * frequency * (2 * abs(math.log(frequency)) + 6) * 2**-24 + 2**-22


@ways.cases(of_door(RotaryEncoding, in_pairs), jax_by_day=False)
def test_rotated_vectors(encoding: Any, library: str) -> None:
    oracle = ORACLES[type(encoding).__name__]
    x = np.random.default_rng(6).standard_normal(encoding.head_dim)
    released_places = [ways.on_axes(encoding, [*ways.NEAR, *ways.NEGATIVE])]
    params, lists = learned(encoding)
    with ways.wide(library):
        given = {name: ways.array(library, value) for name, value in params.items()}
        for kind, role in product(released_places if released(encoding) else places(encoding), roles(oracle)):
            rotation = partial(encoding.rotation, role=role, dtype=ways.dtype(library, "float64"))
            applied = ways.run(library, lambda at, x, params, rotation=rotation: rotation(at, params)(x))
            got = ways.numbers(
                applied(ways.array(library, kind), ways.array(library, np.tile(x, (len(kind), 1))), given)
            )
            for place, row in zip(kind, got, strict=True):
                expected = rotated(oracle, encoding, x.tolist(), place, role, lists)
                # Each channel is two products of numbers below 2|x|; cos and sin are off by 3.5 units of 2^-53 at most,
                # the products and their sum by one each, an attention factor and its product by two more, the power of
                # a stretch by five. In float32 what the angle loses is added.
                lost = 0.0
                if released(encoding):
                    lost = max(
                        angle_error(place, float(oracle.theta(encoding, i))) for i in range(encoding.head_dim // 2)
                    )
                loud = oracle.stretch(encoding, place, role) if hasattr(oracle, "stretch") else loudness(encoding)
                units = 9.5 if hasattr(oracle, "stretch") else 4.5 if loud == 1 else 6.5
                bound = 4 * np.abs(x).max() * loud * (lost if released(encoding) else units * 2**-53)
                assert (
                    max(abs(float(true - value)) for value, true in zip(row.tolist(), expected, strict=True)) <= bound
                )


@ways.cases(of_door(RotaryEncoding, exact_pairs))
def test_rotated_unit_vectors_are_correctly_rounded_in_float32(encoding: Any, library: str) -> None:
    oracle = ORACLES[type(encoding).__name__]
    params, lists = learned(encoding)
    with ways.wide(library):
        given = {name: ways.array(library, value) for name, value in params.items()}
        for kind, role in product(places(encoding), roles(oracle)):
            rotation = partial(encoding.rotation, role=role, dtype=ways.dtype(library, "float32"))
            # In a traced program the rotation is made anew for each channel, which costs nothing once it is compiled.
            whole = ways.run(library, lambda at, x, params, rotation=rotation: rotation(at, params)(x))
            made = None if library == "jax" else rotation(ways.array(library, kind), given)
            for channel in range(encoding.head_dim):
                unit = [float(number == channel) for number in range(encoding.head_dim)]
                x = ways.array(library, np.tile(np.float32(unit), (len(kind), 1)))
                got = ways.numbers(whole(ways.array(library, kind), x, given) if made is None else made(x))
                assert got.dtype == np.float32
                # One of the two products is 0 and the other a cosine or sine itself.
                expected = [
                    [ways.nearest32(value) for value in rotated(oracle, encoding, unit, place, role, lists)]
                    for place in kind
                ]
                # A wavelength of whole positions has true zeros far out: there the phase is off by 2^-118 revolutions.
                got = np.where((np.array(expected) == 0) & (np.abs(got) <= 2.0**-115), np.float32(0), got)
                assert got.tolist() == expected


def _as_float(place: Any) -> Any:
    return tuple(map(float, place)) if isinstance(place, tuple) else float(place)


@lru_cache(maxsize=4)
def asked_pairs(encoding: AttentionBias) -> list[tuple]:
    """The pairs of positions at which a bias is asked for."""
    pairs = [(m, n) for m in places(encoding)[0] for n in places(encoding)[0][::3]]
    return pairs + [(m, n) for m in ways.fractions(encoding) for n in ways.fractions(encoding)]


@lru_cache(maxsize=4)
def true_biases(encoding: AttentionBias) -> list[tuple[list, list]]:
    """For each head what the oracle says of each pair, and how large the terms are. Once an encoding."""
    oracle, pairs, (_, lists) = ORACLES[type(encoding).__name__], asked_pairs(encoding), learned(encoding)
    whole = np.asarray([place for pair in pairs for place in pair]).dtype.kind == "i"
    seen = pairs if whole else [tuple(map(_as_float, pair)) for pair in pairs]
    size = getattr(oracle, "magnitude", lambda *_: None)
    return [
        tuple([ask(encoding, head, *pair, lists) for pair in seen] for ask in (oracle.bias, size))
        for head in range(encoding.heads)
    ]


@ways.cases(of_door(AttentionBias), "float32", "float64")
def test_biases(encoding: AttentionBias, kind: str, library: str) -> None:
    params, _ = learned(encoding)
    pairs, oracle = asked_pairs(encoding), ORACLES[type(encoding).__name__]
    # A number of a table is exact; a slope, a distance and their product are each rounded once, the slope's power of
    # two is good to one unit more; an oracle says where more is rounded.
    allowed = getattr(oracle, "ULPS", 0.0 if encoding.shapes else 3.0)
    with ways.wide(library):
        given = {name: ways.array(library, value) for name, value in params.items()}
        query, key = (ways.array(library, [pair[which] for pair in pairs]) for which in (0, 1))
        head = ways.array(library, np.arange(encoding.heads)[:, None])
        bias = ways.run(library, partial(encoding.bias, dtype=ways.dtype(library, kind)))
        got = ways.numbers(bias(head, query, key, given))
    assert got.shape == (encoding.heads, len(pairs))
    for head_number, (row, (expected, sizes)) in enumerate(zip(got, true_biases(encoding), strict=True)):
        cancels = hasattr(oracle, "magnitude")
        errors = [0.0] * len(pairs) if cancels else ways.errors(row, expected, kind)
        for value, true, size, off, (m, n) in zip(row.tolist(), expected, sizes, errors, pairs, strict=True):
            right = off <= allowed
            if cancels:  # terms may cancel: an error in units of their size, and the rounding of the result itself
                right = abs(value - true) <= size * 2.0**-52 + abs(true) * np.finfo(kind).eps
            assert right, f"head {head_number}, query at {m}, key at {n}: {value!r} where {float(true)!r} is right"


@lru_cache(maxsize=4)
def content_of(encoding: Any) -> tuple:
    """Places, queries, keys and what else is read; of the width of float32, so that both widths read the
    same."""
    rng, heads = np.random.default_rng(7), getattr(encoding, "heads", 3)
    query = [place for place in ways.whole_places(encoding) if np.abs(place).max() <= 2**52]
    neighbour = query[0] + 1 if encoding.axes == 1 else (query[0][0] + 1, *query[0][1:])
    key = [*query[::2], neighbour]
    width = getattr(encoding, "dim", 4)
    q, k = (rng.standard_normal((heads, len(at), width)).astype(np.float32) for at in (query, key))
    x = rng.standard_normal((encoding.hidden_length(len(query), len(key)), getattr(encoding, "model_dim", 1)))
    return query, key, q, k, x.astype(np.float32) if encoding.reads else None


@lru_cache(maxsize=4)
def true_scores(encoding: Any) -> list[tuple]:
    """For each head, query and key: its score, and the units of the dtype that the answer may be off."""
    (params, lists), (query, key, q, k, x) = learned(encoding), content_of(encoding)
    oracle = ORACLES[type(encoding).__name__]
    bound = 0.0 if hasattr(oracle, "magnitude") else _terms(encoding, params, q, k, x)
    found = []
    for head, (i, m), (j, n) in product(range(len(q)), enumerate(query), enumerate(key)):
        asked, ks = q[head, i].tolist(), k[head].tolist()
        if hasattr(oracle, "score_heads"):  # one that reads the queries and keys of all heads
            given = encoding, head, q[:, i].tolist(), k.tolist(), m, key, j, lists
            expected, bound = oracle.score_heads(*given), oracle.magnitude_heads(*given)
        elif hasattr(oracle, "score_among"):
            told = read_by(encoding, x, i, len(query))
            given = encoding, head, asked, ks, m, key, j, lists, told
            expected = oracle.score_among(*given)
            bound = oracle.magnitude(*given) if hasattr(oracle, "magnitude") else bound
        else:
            expected = oracle.score(encoding, head, asked, ks[j], m, n, lists)
        found.append((head, i, j, expected, bound))
    return found


@ways.cases(of_door(AttentionScore), "float32", "float64")
def test_scores(encoding: Any, kind: str, library: str) -> None:
    (params, _), (query, key, q, k, x) = learned(encoding), content_of(encoding)
    with ways.wide(library):
        given = {name: ways.array(library, value.astype(kind)) for name, value in params.items()}
        content = [ways.array(library, part.astype(kind)) for part in (q, k)]
        places = (ways.array(library, at) for at in (query, key))
        hidden = None if x is None else ways.array(library, x.astype(kind))
        got = ways.numbers(ways.run(library, encoding.score)(*content, *places, given, hidden=hidden))
    assert got.shape == (len(q), len(query), len(key))
    assert got.dtype == np.dtype(kind)
    for head, i, j, expected, bound in true_scores(encoding):
        value = got[head, i, j].item()
        right = abs(float(expected - value)) <= bound * np.finfo(kind).eps
        assert right, f"head {head}, query {i} at {query[i]}, key {j} at {key[j]}: {value!r}, not {float(expected)!r}"


def read_by(encoding: Any, x: np.ndarray | None, asked: int, queries: int) -> list | None:
    """What one query reads of the layer's input: its own vector, those of all keys, or its own and then all keys'."""
    if x is None or encoding.reads == "key":
        return None if x is None else x.tolist()
    own = x[asked].tolist()
    return own if encoding.reads == "query" else [own, *x[queries:].tolist()]


def _terms(encoding: Any, params: dict[str, np.ndarray], q: np.ndarray, k: np.ndarray, x: np.ndarray | None) -> float:
    """(number of roundings in a term) × (largest sum of magnitudes): a bound of a sum of products in units of eps."""
    keys, asked = k.shape[-2], np.abs(q).sum(-1).max()
    largest = max(np.abs(table).max() for table in params.values())
    if "bank" in params:
        return (
            (encoding.model_dim + encoding.basis + 2)
            * np.abs(x).sum(-1).max()
            * encoding.basis
            * np.prod([np.abs(table).max() for table in params.values()])
        )
    if "W" in params:  # a sum over all keys of logarithms, each no larger than its logit and ln 2
        return (encoding.model_dim + keys + 8) * 2 * keys * (largest * (np.abs(x).sum(-1).max() + 1) + 1)
    if encoding.gathers:  # what a count over all keys is off, times the step from row to row, at most 2·|q·table|
        logit = 1 + asked * np.abs(k).max()
        return (encoding.dim + keys + 8) * keys * logit * 2 * asked * largest
    if {"position_keys", "position_queries"} & set(params):
        return (encoding.dim + 4) * (asked + np.abs(k).sum(-1).max()) * largest
    if "W_R" in params:
        asks = np.abs(q).sum(-1).max() + np.abs(params["v"]).sum(-1).max()
        content = np.abs(params["u"]).sum(-1).max() * np.abs(k).max()
        # Each wave of the distance is two products of waves of the positions: at most √2 in magnitude.
        size = 2 * asks * np.abs(params["W_R"]).sum(-2).max() + content
        return (encoding.dim + 2 * encoding.model_dim + 8) * size / math.sqrt(encoding.dim)
    return (encoding.dim + 2) * np.abs(q).sum(-1).max() * max(np.abs(table).max() for table in params.values())


@ways.cases(of_door(AttentionScore))
def test_value_terms(encoding: Any, library: str) -> None:
    params, lists = learned(encoding)
    query, key, heads = [5, 0, 2**40, -3], [4, 5, 7, 2**40 + 1, -900], getattr(encoding, "heads", 3)
    weights = np.random.default_rng(8).dirichlet(np.ones(len(key)), (heads, len(query)))
    with ways.wide(library):
        given = {name: ways.array(library, value) for name, value in params.items()}
        values = ways.run(library, encoding.values)
        got = values(*(ways.array(library, part) for part in (weights, query, key)), given)
    oracle = ORACLES[type(encoding).__name__]
    if oracle.value(encoding, weights[0, 0].tolist(), query[0], key, lists) is None:
        assert got is None
        return
    assert ways.numbers(got).shape == (heads, len(query), encoding.dim)
    for head in range(heads):
        for i, m in enumerate(query):
            expected = oracle.value(encoding, weights[head, i].tolist(), m, key, lists)
            for value, true in zip(ways.numbers(got)[head, i].tolist(), expected, strict=True):
                # The weights sum to one: as many roundings as keys, of numbers no larger than the table's.
                off = abs(float(true) - value)
                most = (len(key) + 3) * 2**-52 * np.abs(params["relative_values"]).max()
                assert off <= most, f"head {head}, query {i} at {m}: {value!r} where {float(true)!r} is right"


@pytest.mark.parametrize(
    "encoding",
    by_night(of_door(AdditiveEncoding, of_waves) + of_door(RotaryEncoding, exact_pairs), daily=FIRST_OF_CLASS),
)
def test_jax_without_64_bits(encoding: Any) -> None:
    far = [2**24 + 1, 2**30 + 7, 2**31 - 200, -(2**31) + 200]
    kind = ways.on_axes(encoding, [*ways.NEAR, *ways.NEGATIVE, *far])
    oracle = ORACLES[type(encoding).__name__]
    given = ways.array("jax", np.array(kind, np.int32))
    if isinstance(encoding, AdditiveEncoding):
        got, expected = ways.numbers(jax.jit(encoding.embed)(given)), [oracle.row(encoding, place) for place in kind]
    else:
        kind = ways.whole_places(encoding) if hasattr(encoding, "farthest") else kind
        given, unit = (
            ways.array("jax", np.array(kind, np.int32)),
            [float(number == 0) for number in range(encoding.head_dim)],
        )
        params, lists = learned(encoding)
        params = {name: ways.array("jax", value.astype(np.float32)) for name, value in params.items()}
        compiled = jax.jit(lambda at, x, params: encoding.rotation(at, params, role=roles(oracle)[0])(x))
        got = ways.numbers(compiled(given, ways.array("jax", np.tile(np.float32(unit), (len(kind), 1))), params))
        expected = [rotated(oracle, encoding, unit, place, roles(oracle)[0], lists) for place in kind]
    assert got.dtype == np.float32
    # 1.2e-7, the promise of tests/exactness/test_jax.py; a product with an attention factor rounds once more, one with
    # the power of a stretch five times.
    allowed = 1.2e-7 if loudness(encoding) == 1 else loudness(encoding) * (1.2e-7 + 2**-24)
    if isinstance(encoding, Sum):  # each part, and each sum of as many numbers of at most one
        allowed = len(encoding.parts) * (1.2e-7 + (len(encoding.parts) - 1) * 2**-24)
    if hasattr(oracle, "stretch"):
        allowed = np.array(
            [[oracle.stretch(encoding, place, roles(oracle)[0]) * (1.2e-7 + 5 * 2**-24)] for place in kind]
        )
        assert (np.abs(got - np.array([[float(value) for value in row] for row in expected])) <= allowed).all()
        return
    assert np.abs(got - np.array([[float(value) for value in row] for row in expected])).max() <= allowed


def test_a_wrong_row_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    encoding = CATALOG[[row.name for row in CATALOG].index("Sinusoidal")].samples[0]
    monkeypatch.setattr(sinusoidal, "arranged", lambda first, second, *_: np.concatenate([second, first], -1))
    with pytest.raises(AssertionError):
        test_rows_in_float64(encoding, "numpy")


def test_a_wrong_bucket_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    encoding = CATALOG[[row.name for row in CATALOG].index("T5Bias")].samples[0]
    bucket = type(encoding)._bucket
    monkeypatch.setattr(type(encoding), "_bucket", lambda self, steps, lib: bucket(self, -steps, lib))
    with pytest.raises(AssertionError):
        test_biases(encoding, "float64", "numpy")
