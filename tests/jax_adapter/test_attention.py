"""posenc.jax.attention by each of its paths, against the readable reference in NumPy's float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import posenc
from every import every
from posenc import attention as reference
from posenc.core.doors import AdditiveEncoding, RotaryEncoding
from posenc.jax import Bound, attention, attention_tiles, bind
from posenc.testing.one_coordinate import spread_over_axes

SAMPLES = [row.samples[0] for row in posenc.CATALOG if not isinstance(row.samples[0], AdditiveEncoding)]
BIASED = posenc.T5Bias(heads=12)
COUNTED = posenc.CoPE(dim=8, rows=3)


def case(encoding, n=5, m=7, dtype=np.float32):
    """Arrays of NumPy for an encoding: n queries at the end of m keys, and what it learns."""
    rng = np.random.default_rng(n)
    heads = getattr(encoding, "heads", None) or 12
    width = encoding.head_dim if isinstance(encoding, RotaryEncoding) else getattr(encoding, "dim", 8)
    key_heads = 4 if heads == 12 else 1
    q, k, v = (
        rng.standard_normal((2, count, length, width)).astype(dtype)
        for count, length in ((heads, n), (key_heads, m), (key_heads, m))
    )
    key, hidden = spread_over_axes(encoding, np.arange(m)), None
    if getattr(encoding, "reads", None) is not None:
        hidden = rng.standard_normal((2, encoding.hidden_length(n, m), encoding.model_dim)).astype(dtype)
    params = {name: np.asarray(value * 1.5 + 0.25, dtype) for name, value in encoding.init(rng).items()}
    return {
        "q": q,
        "k": k,
        "v": v,
        "query_positions": key[m - n :],
        "key_positions": key,
        "hidden": hidden,
        "params": params,
    }


def by_reference(encoding, asked, *, visible=None, causal=False, documents=None):
    wide = {name: None if asked[name] is None else asked[name].astype(np.float64) for name in ("q", "k", "v", "hidden")}
    params = {name: value.astype(np.float64) for name, value in asked["params"].items()} or None
    return reference.attention(
        *(wide[name] for name in "qkv"),
        query_positions=asked["query_positions"],
        key_positions=asked["key_positions"],
        layout="bhtd",
        encodings=[encoding],
        params=[params],
        causal=causal,
        mask=visible,
        hidden=wide["hidden"],
        documents=documents,
    ).output


def in_jax(encoding, asked, **more):
    arrays = {name: None if asked[name] is None else jnp.asarray(asked[name]) for name in ("q", "k", "v", "hidden")}
    bound = Bound(encoding, {name: jnp.asarray(value) for name, value in asked["params"].items()})
    places = {name: jnp.asarray(asked[name]) for name in ("query_positions", "key_positions")}
    return attention(**arrays, **places, encodings=[bound], layout="bhtd", **more)


def close(got, want, rounding=2.0**-18):
    """Sums of a few dozen float32 products."""
    assert got.shape == want.shape
    assert np.isfinite(got).all()
    assert np.abs(np.asarray(got, np.float64) - want).max() <= rounding * max(1.0, np.abs(want).max())


def check_encoding_module(encoding):
    asked = case(encoding)
    close(in_jax(encoding, asked), by_reference(encoding, asked))
    causal = jax.jit(lambda q: in_jax(encoding, asked | {"q": q}, causal=True))
    close(causal(asked["q"]), by_reference(encoding, asked, causal=True))


@pytest.mark.nightly
def test_every_encoding_attends_as_the_reference_does():
    every(SAMPLES, check_encoding_module)


@pytest.mark.nightly
def test_a_rotation_that_widens_queries_attends_as_the_reference_does():
    check_encoding_module(posenc.PoPE(dim=8, heads=12))


@pytest.mark.nightly
def test_compiled_tiles_give_the_same_with_the_same_gradient(monkeypatch):
    """A window of four keys before the own one, two queries at a time, of five."""
    monkeypatch.setattr(attention_tiles, "NUMBERS", 2 * 2 * 12 * 7)
    seen = np.tril(np.triu(np.ones((5, 7), bool), -2), 2)

    def check(encoding):
        asked = case(encoding)
        weights = np.linspace(-1, 1, asked["q"].size).reshape(asked["q"].shape).astype(np.float32)

        def total(q, impl):
            more = {"causal": True, "window": (4, None), "impl": impl}
            output = in_jax(encoding, asked | {"q": q}, **more)
            return (output * weights).sum(), output

        tiles, whole = (jax.jit(jax.grad(lambda q, i=i: total(q, i), has_aux=True)) for i in ("tiles", "dense"))
        (mine, output), (theirs, _) = tiles(asked["q"]), whole(asked["q"])
        close(output, by_reference(encoding, asked, visible=seen))
        close(mine, np.asarray(theirs, np.float64))

    every([BIASED, COUNTED], check)


@pytest.mark.parametrize("encoding", [BIASED, pytest.param(COUNTED, marks=pytest.mark.nightly)], ids=["T5", "CoPE"])
def test_packed_documents_padding_and_one_query_of_a_cache(encoding):
    number = np.array([[0, 0, 0, 1, 1, 1], [9, 9, 0, 0, 0, 0]])
    place = np.array([[0, 1, 2, 0, 1, 2], [0, 1, 0, 1, 2, 3]])
    asked = case(encoding, 6, 6) | {"query_positions": place, "key_positions": place}
    mask = (number != 9)[:, None, None, :]
    got = in_jax(encoding, asked, documents=(number, number), mask=jnp.asarray(mask), causal=True)
    close(got, by_reference(encoding, asked, documents=(number, number), visible=mask, causal=True))
    assert not np.asarray(got[1, :, :2]).any(), "a query that sees nothing gives zeros"
    asked = case(encoding, 1, 6)
    close(in_jax(encoding, asked, causal=True), by_reference(encoding, asked, causal=True))


def test_float16_is_compiled_where_a_product_of_jax_is_not():
    """JAX 0.10 compiles its own attention for float16 on a GPU alone; weights and output are rounded to 11 bits."""
    encoding = posenc.RoPE(dim=8)
    asked = case(encoding, dtype=np.float16)
    got = jax.jit(lambda q: in_jax(encoding, asked | {"q": q}, causal=True))(asked["q"])
    assert got.dtype == jnp.float16
    close(got, by_reference(encoding, asked, causal=True), 2.0**-10)


@pytest.mark.nightly
def test_a_map_over_heads_of_a_batch_is_the_batch():
    encoding = posenc.T5Bias(heads=12)
    asked = case(encoding)
    mapped = jax.vmap(lambda q: in_jax(encoding, asked | {"q": q}))(np.stack([asked["q"], -asked["q"]]))
    close(mapped[1], by_reference(encoding, asked | {"q": -asked["q"]}))


NONSENSE = [
    ({"encodings": posenc.RoPE(dim=8)}, TypeError, "encodings must be a list"),
    ({"q": jnp.ones((2, 12, 5, 8), jnp.int32)}, TypeError, "q must hold floats; got int32. Convert it."),
    ({"encodings": [posenc.Sinusoidal(dim=8)]}, TypeError, "encodings must act inside attention; got Sinusoidal"),
    ({"encodings": [posenc.T5Bias(heads=12)]}, TypeError, "encodings must hold the parameters"),
    ({"encodings": [posenc.ALiBi(heads=4)]}, ValueError, "encodings must have as many heads as q, 12"),
    ({"encodings": [posenc.RoPE(dim=16)]}, ValueError, "encodings must have the head width of q, 8"),
    ({"encodings": [bind(posenc.CoPE(dim=4))]}, ValueError, "encodings must have the head width of q, 8"),
    (
        {"encodings": [bind(posenc.TUPE(heads=12, dim=4, length=6))]},
        ValueError,
        "query_positions must hold positions from 0 to 5",
    ),
    ({"mask": np.ones((7, 9)) > 0}, ValueError, "mask must have four axes"),
    ({"mask": np.array([None, 1])}, TypeError, "mask must hold truth values, or 0 and 1; got object"),
    ({"window": 4}, TypeError, "window must be (keys before, keys after)"),
    ({"window": (3, 0), "sliding_window": 4, "causal": True}, ValueError, "sliding_window must stand alone"),
    ({"sliding_window": 4}, ValueError, "sliding_window must stand beside causal=True"),
    ({"sliding_window": 0, "causal": True}, ValueError, "sliding_window must be an integer"),
    ({"query_positions": np.arange(8)}, ValueError, "query_positions must hold a position for each of 5 tokens"),
    ({"hidden": jnp.ones((2, 7, 4))}, ValueError, "hidden must be left out where no encoding reads it"),
    (
        {"encodings": [bind(posenc.ForgettingGate(heads=12, model_dim=4))]},
        TypeError,
        "hidden must be the input of the layer for ForgettingGate, an array",
    ),
    ({"impl": "dot_product"}, ValueError, "impl must be a path that fits these arguments; got 'dot_product'"),
    ({"q": np.ones((2, 12, 5, 8))}, TypeError, "q must be a JAX array"),
]


@pytest.mark.parametrize(("change", "error", "message"), NONSENSE, ids=[f"{next(iter(c))}" for c, _, _ in NONSENSE])
def test_nonsense_is_refused(change, error, message):
    asked = case(posenc.ALiBi(heads=12)) | {"layout": "bhtd", "encodings": [posenc.ALiBi(heads=12)]}
    del asked["params"]
    asked |= {name: jnp.asarray(asked[name]) for name in "qkv"} | change
    with pytest.raises(error) as caught:
        attention(**asked)
    assert str(caught.value).startswith(message)
