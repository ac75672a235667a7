"""What every row of the catalog is called with: bad positions, parameters, content and dtypes are refused by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from every import every
from hostile.values import NOT_A_WORD, NOT_DTYPE, NOT_POSITIONS, refusal
from posenc.catalog import CATALOG
from posenc.core.doors import AdditiveEncoding, AttentionBias, Encoding, RotaryEncoding
from posenc.core.rotation import Operator
from posenc.testing.one_coordinate import spread_over_axes

PLACES = ("positions", "query_positions", "key_positions")
#: In place of an array of floats.
NOT_FLOATS: tuple[Any, ...] = (None, "x", 1.5, [[1.0]], object(), np.ones((1, 2, 3, 4), int), np.ones(3, complex))
Asked = tuple[Callable[..., Any], dict[str, Any]]


def asked(encoding: Any) -> Asked:
    """The method of the encoding's door, and a good call of it."""
    params, places = encoding.init(np.random.default_rng(1)) or None, spread_over_axes(encoding, np.arange(3))
    if isinstance(encoding, AdditiveEncoding):
        return encoding.embed, {"positions": places, "params": params, "dtype": None}
    if isinstance(encoding, RotaryEncoding):
        return encoding.rotation, {"positions": places, "params": params, "role": encoding.roles[0], "dtype": None}
    if isinstance(encoding, AttentionBias):
        return encoding.matrix, {"query_positions": places, "key_positions": places, "params": params, "dtype": None}
    x = np.random.default_rng(2).standard_normal((1, getattr(encoding, "heads", 2), 3, getattr(encoding, "dim", 8)))
    hidden = None if encoding.reads is None else np.ones((1, encoding.hidden_length(3, 3), encoding.model_dim))
    return encoding.score, {
        "q": x,
        "k": x,
        "query_positions": places,
        "key_positions": places,
        "params": params,
        "hidden": hidden,
    }


def not_params(params: Any) -> Iterator[Any]:
    """Parameters in which one is no array of floats, or that are none."""
    yield from ([1], {"no_such_name": np.ones(3)})
    for bad in NOT_FLOATS if params else ():
        yield {**params, next(iter(params)): bad}


def bad_calls(encoding: Encoding) -> Iterator[tuple[str, Any]]:
    _, good = asked(encoding)
    for name in good:
        if name in PLACES:
            yield from ((name, bad) for bad in NOT_POSITIONS)
            if encoding.axes > 1:
                yield name, np.zeros((3, encoding.axes + 1), int)
        elif name in ("q", "k") or (name == "hidden" and good[name] is not None):
            yield from ((name, bad) for bad in NOT_FLOATS)
        else:
            given = {
                "params": tuple(not_params(good.get("params"))),
                "dtype": (*NOT_DTYPE, "bfloat16"),
                "role": NOT_A_WORD,
            }
            yield from ((name, bad) for bad in given.get(name, ()))


@pytest.mark.parametrize("row", CATALOG)
def test_bad_arguments_are_refused_by_their_names(row: Any) -> None:
    encoding = row.samples[0]
    function, good = asked(encoding)
    function(**good)

    def check(case: tuple[str, Any]) -> None:
        name, bad = case
        error = refusal(lambda: function(**{**good, name: bad}))
        assert str(error).startswith(PLACES if name in PLACES else name)

    every(bad_calls(encoding), check)


@pytest.mark.parametrize("row", [row for row in CATALOG if row.samples[0].door == "rotates"])
def test_what_is_rotated_must_be_floats_of_the_head(row: Any) -> None:
    function, good = asked(row.samples[0])
    operator: Operator = function(**good)
    x = np.ones((1, operator.heads or 2, 3, operator.dim))
    operator(x, layout="bhtd")
    for bad in (*NOT_FLOATS, x[..., :-1], x[..., :-1, :], np.stack([x, x])):
        assert str(refusal(lambda bad=bad: operator(bad, layout="bhtd"))).startswith("x")  # type: ignore[misc]


@pytest.mark.parametrize("row", [row for row in CATALOG if row.samples[0].door == "biases"])
def test_a_head_must_be_one_of_the_encoding(row: Any) -> None:
    encoding = row.samples[0]
    _, good = asked(encoding)
    query, params = good["query_positions"], good["params"]
    for bad in (-1, encoding.heads, 1.5, "0", None, [0, encoding.heads]):
        error = refusal(lambda bad=bad: encoding.bias(bad, query[0], query[1], params))  # type: ignore[misc]
        assert str(error).startswith("head")
