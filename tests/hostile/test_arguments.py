"""Every argument of every public function and method of the mathematics: bad values are refused by the argument's
name."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

from hostile.values import (
    INF,
    NAN,
    NOT_A_WORD,
    NOT_CONTENT,
    NOT_DTYPE,
    NOT_PARAMS,
    NOT_POSITIONS,
    NOT_REAL,
    NOT_TRUTH,
    NOT_WHOLE,
    all_refused,
    refusal,
)
from posenc import catalog
from posenc.attention import attention
from posenc.compose import PerLayer
from posenc.core.arrays.array_library import NUMPY
from posenc.core.doors import Encoding, RotaryEncoding
from posenc.encodings.adds.learned import Learned
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.biases.t5 import T5Bias
from posenc.encodings.rotates.rope import RoPE
from posenc.encodings.scores.shaw import Shaw
from posenc.encodings.scores.transformer_xl import TransformerXL
from posenc.frequencies import Geometric
from posenc.phase import cosine_sine, phase
from posenc.positions import decoding, difference, from_mask, packed, span


def _params(encoding: Encoding) -> Any:
    return encoding.init(np.random.default_rng(0)) or None


WAVES, TABLE, WHEEL = Sinusoidal(dim=4), Learned(dim=4, length=8), RoPE(dim=4)
SLOPES, BUCKETS, SHAW = ALiBi(heads=2), T5Bias(heads=2), Shaw(dim=4, clip=2)
XL = TransformerXL(dim=4, heads=1, model_dim=4)
TWO, X = np.arange(2), np.ones((1, 1, 2, 4))
NOT_HEADS: tuple[Any, ...] = (None, "0", 0.5, NAN, -1, 2, [0, 5], True, object())
NOT_MASKS: tuple[Any, ...] = (None, "011", object(), np.array([0.5, 1.0]), np.array([1j]), [[1, 0], [1]], {})
NOT_COUNTS: tuple[Any, ...] = (None, "7", 2.5, NAN, INF, -1, [-2, 3], True, object(), np.array([1.5]))
NOT_LENGTHS: tuple[Any, ...] = (None, "32", 3, [2.5], [-1], [None], ["3"], [True], [10**30], {3: 2}, object())


@dataclass(frozen=True)
class Call:
    """A good call, and what each of its arguments must not be."""

    name: str
    function: Callable[..., Any]
    good: Mapping[str, Any]
    bad: Mapping[str, tuple[Any, ...]]


def _attention(**changed: Any) -> Any:
    return attention(**changed)


NOT_Q = (*NOT_CONTENT, np.zeros((1, 1, 2, 5)))
#: Those that do not fit logits of shape (1, 1, 2, 2): a mask never adds to batch, heads, queries, keys or axes.
NARROW_MASKS = tuple(np.ones(shape, bool) for shape in ((2, 1, 2, 2), (3, 1, 1), (3, 2), (3,), (1, 1, 1, 2, 2), (0,)))
ATTENDED = {
    "q": X,
    "k": X,
    "v": X,
    "query_positions": TWO,
    "key_positions": TWO,
    "layout": "bhtd",
    "encodings": [WHEEL],
    "params": [None],
}

CALLS = (
    Call("span", span, {"length": 3, "start": 0}, {"length": (*NOT_WHOLE, -1), "start": NOT_WHOLE}),
    Call("from_mask", from_mask, {"mask": [0, 1]}, {"mask": NOT_MASKS}),
    Call("packed", packed, {"lengths": [3, 2]}, {"lengths": NOT_LENGTHS}),
    Call("decoding", decoding, {"cached": [3, 2], "steps": 1}, {"cached": NOT_COUNTS, "steps": (*NOT_WHOLE, -1)}),
    Call(
        "difference",
        difference,
        {"query_positions": TWO, "key_positions": TWO},
        {"query_positions": NOT_POSITIONS, "key_positions": NOT_POSITIONS},
    ),
    Call(
        "cosine_sine",
        cosine_sine,
        {"positions": TWO, "frequencies": Geometric(dim=4), "numerics": "exact", "dtype": None},
        {
            "positions": NOT_POSITIONS,
            "frequencies": (None, 1.0, [1.0], "geometric", WHEEL),
            "numerics": NOT_A_WORD,
            "dtype": NOT_DTYPE,
        },
    ),
    Call(
        "phase",
        phase,
        {"positions": TWO, "frequencies": Geometric(dim=4)},
        {"positions": NOT_POSITIONS, "frequencies": (None, 1.0, [1.0], WHEEL)},
    ),
    Call(
        "embed",
        WAVES.embed,
        {"positions": TWO, "params": None, "dtype": None},
        {"positions": NOT_POSITIONS, "params": NOT_PARAMS, "dtype": NOT_DTYPE},
    ),
    Call(
        "embed_learned",
        TABLE.embed,
        {"positions": TWO, "params": _params(TABLE), "dtype": None},
        {"positions": (*NOT_POSITIONS, [8], [-1], [0.5]), "params": (None, *NOT_PARAMS), "dtype": NOT_DTYPE},
    ),
    Call(
        "attach",
        WAVES.attach,
        {"x": np.ones((2, 4)), "positions": TWO, "params": None},
        {
            "x": (
                None,
                "x",
                1.5,
                object(),
                np.ones((3, 4)),
                np.ones((2, 5)),
                np.ones(4),
                np.ones((2, 4), int),
                np.ones((2, 4), complex),
            ),
            "positions": NOT_POSITIONS,
            "params": NOT_PARAMS,
        },
    ),
    Call(
        "rotation",
        WHEEL.rotation,
        {"positions": TWO, "params": None, "role": "both", "dtype": None},
        {"positions": NOT_POSITIONS, "params": NOT_PARAMS, "role": NOT_A_WORD, "dtype": NOT_DTYPE},
    ),
    Call("rotated", WHEEL.rotation(TWO), {"x": X, "layout": "bhtd"}, {"x": NOT_Q, "layout": NOT_A_WORD}),
    Call(
        "matrix",
        SLOPES.matrix,
        {"query_positions": TWO, "key_positions": TWO, "params": None, "dtype": None},
        {"query_positions": NOT_POSITIONS, "key_positions": NOT_POSITIONS, "params": NOT_PARAMS, "dtype": NOT_DTYPE},
    ),
    Call(
        "bias",
        SLOPES.bias,
        {"head": 1, "query_positions": TWO, "key_positions": TWO, "params": None, "dtype": None},
        {
            "head": NOT_HEADS,
            "query_positions": NOT_POSITIONS,
            "key_positions": NOT_POSITIONS,
            "params": NOT_PARAMS,
            "dtype": NOT_DTYPE,
        },
    ),
    Call(
        "bias_t5",
        BUCKETS.bias,
        {"head": 1, "query_positions": TWO, "key_positions": TWO, "params": _params(BUCKETS), "dtype": None},
        {
            "head": NOT_HEADS,
            "query_positions": (*NOT_POSITIONS, [0.5]),
            "key_positions": (*NOT_POSITIONS, [0.5]),
            "params": (None, *NOT_PARAMS),
            "dtype": NOT_DTYPE,
        },
    ),
    Call("bucket", BUCKETS.bucket, {"distance": TWO}, {"distance": (*NOT_POSITIONS, [0.5])}),
    Call(
        "score_shaw",
        SHAW.score,
        {"q": X, "k": X, "query_positions": TWO, "key_positions": TWO, "params": _params(SHAW)},
        {
            "q": NOT_Q,
            "k": NOT_Q,
            "query_positions": (*NOT_POSITIONS, [0.5, 1.0], [0]),
            "key_positions": (*NOT_POSITIONS, [0.5, 1.0], [0]),
            "params": (None, *NOT_PARAMS),
            "hidden": (np.ones((1, 2, 4)), X, "x", 0),
        },
    ),
    Call(
        "values_shaw",
        SHAW.values,
        {"weights": np.ones((1, 1, 2, 2)), "query_positions": TWO, "key_positions": TWO, "params": _params(SHAW)},
        {
            "weights": (None, "x", 1.5, object(), np.ones((1, 1, 2, 2), int), np.ones((2, 2))),
            "query_positions": (*NOT_POSITIONS, [0]),
            "key_positions": (*NOT_POSITIONS, [0]),
            "params": (None, *NOT_PARAMS),
        },
    ),
    Call(
        "score_xl",
        XL.score,
        {"q": X, "k": X, "query_positions": TWO, "key_positions": TWO, "params": _params(XL)},
        {
            "q": NOT_Q,
            "k": NOT_Q,
            "query_positions": (*NOT_POSITIONS, [0]),
            "key_positions": (*NOT_POSITIONS, [0]),
            "params": (None, *NOT_PARAMS),
        },
    ),
    Call(
        "attention",
        _attention,
        {**ATTENDED, "causal": False, "mask": None, "scale": None},
        {
            "q": (*NOT_CONTENT, np.zeros((1, 2, 4))),
            "k": NOT_Q,
            "v": NOT_CONTENT,
            "query_positions": NOT_POSITIONS,
            "key_positions": NOT_POSITIONS,
            "layout": NOT_A_WORD,
            "encodings": (None, "RoPE", WHEEL, [None], [WAVES], [RoPE], {}),
            "params": (None, [None, None], "x", {}, 3),
            "causal": NOT_TRUTH,
            "mask": ("x", object(), 0.5, np.array([0.5]), *NARROW_MASKS),
            "hidden": (np.ones((1, 2, 4)), X, "x", 0),
            "scale": (*NOT_REAL[1:], 0.0, -1.0),
        },
    ),
    Call("row", catalog.row, {"name": "RoPE"}, {"name": ("", "rope", None, 3, object())}),
    Call("layer", PerLayer((WHEEL, None)).at, {"layer": 1}, {"layer": (*NOT_WHOLE, -1, 2)}),
)


@pytest.mark.parametrize("call", CALLS)
def test_the_good_call_is_good(call: Call) -> None:
    assert call.function(**call.good) is not None or call.name == "layer"


@pytest.mark.parametrize(("call", "name"), [(call, name) for call in CALLS for name in call.bad])
def test_a_bad_argument_is_refused_by_its_name(call: Call, name: str) -> None:
    all_refused(lambda bad: call.function(**{**call.good, name: bad}), name, call.bad[name])


def test_a_matrix_of_a_million_squared_is_refused_before_it_exists() -> None:
    many = np.broadcast_to(np.zeros(1, np.int64), (10**6,))
    assert str(refusal(lambda: SLOPES.matrix(many, many))).startswith("query_positions and key_positions")


@pytest.mark.parametrize("row", [row for row in catalog.CATALOG if row.encoding.door in ("rotates", "biases")])
def test_a_single_position_is_refused_in_a_line(row: catalog.Row) -> None:
    encoding, params = row.samples[0], _params(row.samples[0])
    one = 3 if encoding.axes == 1 else [3] * encoding.axes
    if isinstance(encoding, RotaryEncoding):
        error = refusal(lambda: encoding.rotation(one, params, role=encoding.roles[0]))
    else:
        error = refusal(lambda: encoding.matrix(one, one, params))
    assert "must have an axis of positions, (*batch, n" in str(error)
    assert str(error).endswith("Put a single position into a list.")


@pytest.mark.parametrize("row", [row for row in catalog.CATALOG if row.encoding.door in ("adds", "rotates")])
def test_a_table_of_a_terabyte_is_refused_before_it_exists(row: catalog.Row) -> None:
    encoding, params = row.samples[0], _params(row.samples[0])
    many = np.broadcast_to(np.zeros(encoding.axes, np.int8), (2**20, 2**20, encoding.axes))
    if encoding.axes == 1:
        many = many[..., 0]
    call = (
        partial(encoding.rotation, role=encoding.roles[0]) if isinstance(encoding, RotaryEncoding) else encoding.embed
    )
    assert str(_without_reading(lambda: call(many, params))).startswith("positions must need at most")


def _without_reading(call: Callable[[], Any]) -> Exception:
    """The refusal of a call, of which no value of the positions is read."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(type(NUMPY), "extremes", lambda *_: (0, 0))
        return refusal(call)


@pytest.mark.parametrize("layout", ["sparse", "nested"])
def test_tensors_that_are_not_dense_are_refused_by_name(layout: str) -> None:
    torch = pytest.importorskip("torch")
    if layout == "sparse":
        thin, content = torch.arange(2).to_sparse(), torch.ones(2, 4).to_sparse()
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # nested tensors are a prototype
            thin, content = (torch.nested.nested_tensor([part, part]) for part in (torch.arange(2), torch.ones(2, 4)))
    for name, call in (
        ("positions", lambda: WHEEL.rotation(thin)),
        ("positions", lambda: WAVES.embed(thin)),
        ("x", lambda: WAVES.attach(content, torch.arange(2))),
        ("x", lambda: WHEEL.rotation(torch.arange(2))(content)),
        ("mask", lambda: from_mask(thin)),
    ):
        with pytest.raises(TypeError, match=rf"^{name} must be a dense array; got a .*{layout}"):
            call()


@pytest.mark.parametrize(
    ("call", "begins"),
    [
        (lambda: packed([2**30] * 8), "lengths"),
        (lambda: Learned(dim=1, length=2**30).init(None), "rng"),  # type: ignore[arg-type]
        (lambda: T5Bias(heads=2**40), "heads"),
        (lambda: Shaw(dim=2**20, clip=2**20), "clip"),
    ],
)
def test_other_absurd_sizes_are_refused_before_they_exist(call: Callable[[], Any], begins: str) -> None:
    assert str(refusal(call)).startswith(begins)


@pytest.mark.parametrize("row", catalog.CATALOG)
def test_errors_do_not_end_in_the_middle(row: catalog.Row) -> None:
    """Rule, value, advice: three parts, the last a sentence of its own."""
    encoding = row.samples[0]
    error = refusal(lambda: encoding.checked({"no_such_name": np.zeros(1)}))
    assert "; got " in str(error)
    assert str(error).endswith(".")
