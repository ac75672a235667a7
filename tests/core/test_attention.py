"""The reference attention against one written in plain Python numbers, and its refusals."""

import math

import numpy as np
import pytest

import posenc
from posenc.attention import Cache, attention
from posenc.positions import documents, packed

# A float64 logit of width d is off by at most about d roundings, the output by as many again.
FLOAT64 = 1e-13


def by_hand(q, k, v, bias, visible):
    """softmax(q·k/√d + bias)·v for one batch row, with lists and loops: q (h, n, d), k and v (g, m, d)."""
    out = []
    for h, rows in enumerate(q):
        keys, values = k[h * len(k) // len(q)], v[h * len(v) // len(q)]
        head = []
        for i, row in enumerate(rows):
            logits = [
                sum(a * b for a, b in zip(row, key, strict=True)) / math.sqrt(len(row)) + bias(h, i, j)
                for j, key in enumerate(keys)
            ]
            seen = [j for j in range(len(keys)) if visible(i, j)]
            top = max((logits[j] for j in seen), default=0.0)
            powers = {j: math.exp(logits[j] - top) for j in seen}
            total = sum(powers.values()) or 1.0
            head.append([sum(powers[j] * values[j][c] for j in seen) / total for c in range(len(values[0]))])
        out.append(head)
    return np.array(out)


def draw(heads=12, key_heads=4, n=5, m=7, d=8, batch=2, seed=0):
    rng = np.random.default_rng(seed)
    return (
        rng.normal(size=(batch, heads, n, d)),
        rng.normal(size=(batch, key_heads, m, d)),
        rng.normal(size=(batch, key_heads, m, d)),
    )


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("layout", ["bhtd", "bthd"])
def test_grouped_heads_cross_attention_and_bias(causal, layout):
    q, k, v = draw()
    query_positions, key_positions = (
        [11, 12, 13, 14, 15],
        [3, 1, 11, 12, 13, 14, 15] if causal else [3, 1, 4, 1, 5, 9, 2],
    )
    slopes = posenc.ALiBi(heads=12).slopes()
    rotated = (lambda x: x) if layout == "bhtd" else (lambda x: x.swapaxes(1, 2))
    got = attention(
        *(rotated(x) for x in (q, k, v)),
        query_positions=query_positions,
        key_positions=key_positions,
        layout=layout,
        encodings=[posenc.ALiBi(heads=12)],
        causal=causal,
    )
    for row in range(2):
        want = by_hand(
            q[row].tolist(),
            k[row].tolist(),
            v[row].tolist(),
            lambda h, i, j: -slopes[h] * abs(query_positions[i] - key_positions[j]),
            lambda i, j: not causal or j <= i + 2,
        )
        assert np.abs(rotated(got.output)[row] - want).max() < FLOAT64


def test_rotation_enters_through_the_angle_of_each_pair():
    q, k, v = draw(heads=1, key_heads=1, n=1, m=1, d=2, batch=1)
    got = attention(q, k, v, query_positions=[9], key_positions=[4], layout="bhtd", encodings=[posenc.RoPE(dim=2)])
    a, b = complex(*q[0, 0, 0]), complex(*k[0, 0, 0])
    want = (a * complex(math.cos(5), math.sin(5)) * b.conjugate()).real / math.sqrt(2)
    assert abs(got.logits[0, 0, 0, 0] - want) < FLOAT64


def test_a_cache_gives_what_the_whole_gives():
    q, k, v = draw(heads=4, key_heads=2, n=6, m=6)
    encodings = [posenc.RoPE(dim=8), posenc.ALiBi(heads=4)]
    whole = attention(
        q, k, v, query_positions=range(6), key_positions=range(6), layout="bhtd", encodings=encodings, causal=True
    ).output
    cache = Cache(k[:, :, :2], v[:, :, :2], np.arange(2), "bhtd")
    for i in range(2, 6):
        cache = cache.extended(k[:, :, i : i + 1], v[:, :, i : i + 1], [i])
        step = attention(
            q[:, :, i : i + 1],
            cache.k,
            cache.v,
            query_positions=[i],
            key_positions=cache.key_positions,
            layout="bhtd",
            encodings=encodings,
            causal=True,
        )
        assert np.abs(step.output - whole[:, :, i : i + 1]).max() < FLOAT64


def test_a_cache_refuses_what_would_be_appended_wrongly():
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    k = torch.ones(2, 2, 3, 4)
    with pytest.raises(ValueError, match=r"^layout must be"):
        Cache(k, k, range(3), "bhdt")
    cache, last = Cache(k, k, torch.tensor([2**24 + 1, 2**24 + 3, 2**53]), "bhtd"), 2**53 - 1
    assert cache.extended(k, k, torch.tensor([1, 2, last])).key_positions.tolist()[-4:] == [2**53, 1, 2, last]
    assert cache.extended(k, k, torch.tensor([1, 2, 3], dtype=torch.uint8)).key_positions[0] == 2**24 + 1
    mixed = cache.extended(k, k, torch.tensor([0.0, 0.5, 2.0**24])).key_positions  # float64 holds all of them
    assert mixed.tolist() == [2**24 + 1, 2**24 + 3, 2**53, 0, 0.5, 2**24]
    narrow = Cache(*[jax.numpy.ones((1, 1, 3, 4), "float32")] * 2, jax.numpy.arange(3), "bhtd")
    with pytest.raises(TypeError, match=r"^key_positions must be integers, as those in the cache are, where there"):
        narrow.extended(narrow.k, narrow.v, jax.numpy.ones(3, "float32"))
    with pytest.raises(ValueError, match=r"^key_positions must have the sequences of those in the cache"):
        cache.extended(k, k, torch.zeros(2, 3, dtype=torch.int64))


def test_documents_and_masks_of_numpy_go_with_vectors_of_pytorch():
    torch = pytest.importorskip("torch")
    x, numbers = torch.arange(40.0).reshape(1, 2, 5, 4), documents([3, 2])
    places = {"query_positions": range(5), "key_positions": range(5), "layout": "bhtd"}
    wanted = attention(*[x.numpy()] * 3, documents=(numbers, numbers), **places).output
    for hidden in ({"documents": (numbers, numbers)}, {"mask": numbers[:, None] == numbers}):
        assert np.allclose(attention(x, x, x, **places, **hidden).output, wanted, atol=1e-5)


def test_heads_without_channels_need_a_scale():
    q, v, places = np.ones((1, 1, 2, 0)), np.ones((1, 1, 2, 4)), {"query_positions": [0, 1], "key_positions": [0, 1]}
    assert np.allclose(attention(q, q, v, **places, layout="bhtd", scale=1.0).output, v)
    with pytest.raises(ValueError, match=r"^q must have channels where scale is"):
        attention(q, q, v, **places, layout="bhtd")


def test_positions_of_each_row_of_a_batch_are_its_own():
    q, k, v = draw(heads=2, key_heads=2, n=3, m=3, d=8)
    both = attention(
        q,
        k,
        v,
        query_positions=[[0, 1, 2], [5, 7, 9]],
        key_positions=[[0, 1, 2], [5, 7, 9]],
        layout="bhtd",
        encodings=[posenc.RoPE(dim=8)],
    ).output
    second = attention(
        q[1:],
        k[1:],
        v[1:],
        query_positions=[5, 7, 9],
        key_positions=[5, 7, 9],
        layout="bhtd",
        encodings=[posenc.RoPE(dim=8)],
    ).output
    assert np.abs(both[1:] - second).max() < FLOAT64


def test_a_mask_hides_and_a_query_that_sees_nothing_gives_zeros():
    q, k, v = draw(heads=2, key_heads=1, n=2, m=3)
    mask = np.array([[True, False, True], [False, False, False]])
    got = attention(q, k, v, query_positions=[0, 1], key_positions=[0, 1, 2], layout="bhtd", mask=mask)
    assert np.all(got.weights[..., 0, 1] == 0)
    assert np.all(got.output[:, :, 1] == 0)
    assert np.allclose(got.weights[..., 0, :].sum(-1), 1)


def test_no_queries_and_no_keys_work():
    q, k, v = draw(n=0)
    assert attention(q, k, v, query_positions=[], key_positions=range(7), layout="bhtd").output.shape == (2, 12, 0, 8)
    q, k, v = draw(m=0)
    got = attention(q, k, v, query_positions=range(5), key_positions=[], layout="bhtd").output
    assert got.shape == (2, 12, 5, 8)
    assert np.all(got == 0)


REFUSED = [
    ({"layout": "bhdt"}, ValueError, r"^layout must be one of 'bhtd', 'bthd'; got 'bhdt'"),
    ({"encodings": [posenc.NoPE(dim=8)]}, TypeError, r"^encodings must act inside attention; got NoPE"),
    ({"encodings": posenc.RoPE(dim=8)}, TypeError, r"^encodings must be a list"),
    ({"encodings": ["RoPE"]}, TypeError, r"^encodings must be a list of encodings"),
    ({"encodings": [posenc.ALiBi(heads=3)]}, ValueError, r"^encodings must have as many heads as q, 12; got ALiBi"),
    (
        {"encodings": [posenc.RoPE(dim=8), posenc.AxialRoPE(axis=(0, 1), frequency_index=(0, 0), frequency_dim=2)]},
        ValueError,
        r"^encodings must have one number of axes, since they share positions; got \[1, 2\]",
    ),
    ({"params": [None]}, ValueError, r"^params must be a list with one entry for each of 0"),
    (
        {"query_positions": [0]},
        ValueError,
        r"^query_positions must hold a position for each of 5 tokens, with or without a batch of 2; got shape \(1,\)",
    ),
    ({"causal": 1}, TypeError, r"^causal must be True or False; got 1"),
    ({"scale": 0.0}, ValueError, r"^scale must be a finite number above 0"),
    ({"mask": "yes"}, TypeError, r"^mask must be an array of truth values; got 'yes'"),
    ({"mask": [[0.5] * 7] * 5}, ValueError, r"^mask must hold 0 and 1"),
    ({"q": np.zeros((5, 8))}, ValueError, r"^q must have four axes, 'bhtd'; got shape \(5, 8\)"),
    ({"q": np.zeros((2, 12, 5, 8), int)}, TypeError, r"^q must hold floats; got int64. Convert it"),
    (
        {"k": np.zeros((2, 5, 7, 8)), "v": np.zeros((2, 5, 7, 8))},
        ValueError,
        r"^k must have a number of heads that divides",
    ),
    ({"k": np.zeros((2, 4, 7, 6))}, ValueError, r"^k must have the batch and head width of q"),
]


@pytest.mark.parametrize(("change", "error", "message"), REFUSED)
def test_refusals_name_the_argument(change, error, message):
    q, k, v = draw()
    positions = {"query_positions": range(5), "key_positions": range(7)}
    arguments = {"q": q, "k": k, "v": v, **positions, "layout": "bhtd"} | change
    with pytest.raises(error, match=message):
        attention(**arguments)


def test_causal_needs_the_keys_of_the_cache():
    q, k, v = draw(n=7, m=5)
    with pytest.raises(ValueError, match=r"^causal needs at least as many keys as queries, 7; got 5"):
        attention(q, k, v, query_positions=range(7), key_positions=range(5), layout="bhtd", causal=True)


def test_libraries_are_not_mixed():
    torch = pytest.importorskip("torch")
    q, k, v = draw()
    with pytest.raises(TypeError, match=r"^arrays must come from one library; got torch and numpy"):
        attention(torch.as_tensor(q), k, v, query_positions=range(5), key_positions=range(7), layout="bhtd")


@pytest.mark.parametrize(
    "encodings",
    [
        [posenc.RoPE(dim=8)],
        [posenc.ALiBi(heads=2)],
        [posenc.RoPE(dim=8), posenc.PaTH(dim=8, heads=2, model_dim=4, rank=2)],
        [posenc.Shaw(dim=8, clip=2), posenc.CoPE(dim=8, rows=4)],
    ],
)
def test_packed_documents_are_as_alone(encodings):
    rng = np.random.default_rng(0)
    params = [encoding.init(rng) or None for encoding in encodings]
    q, k, v = rng.standard_normal((3, 1, 2, 7, 8))
    x = rng.standard_normal((1, 7, 4)) if any(isinstance(encoding, posenc.PaTH) for encoding in encodings) else None
    positions, numbers = packed([4, 3]), documents([4, 3])
    given = {"layout": "bhtd", "encodings": encodings, "params": params, "causal": True}
    row = attention(
        q, k, v, query_positions=positions, key_positions=positions, hidden=x, documents=(numbers, numbers), **given
    ).output
    for own in (slice(0, 4), slice(4, 7)):
        there, inputs = positions[own], None if x is None else x[:, own]
        alone = attention(
            q[:, :, own], k[:, :, own], v[:, :, own], query_positions=there, key_positions=there, hidden=inputs, **given
        ).output
        # A mixture of at most seven values below 8, with weights that differ by a few roundings.
        assert np.abs(row[:, :, own] - alone).max() <= 7 * 8 * 64 * 2.0**-52


def test_documents_of_other_tokens_are_refused():
    x, place = np.zeros((1, 1, 3, 4)), np.arange(3)
    with pytest.raises(ValueError, match=r"^documents must hold a number for each of 3 keys; got shape \(2,\)"):
        attention(x, x, x, query_positions=place, key_positions=place, layout="bhtd", documents=([0, 0, 1], [0, 1]))


def test_traced_by_jax_it_gives_what_it_gives_alone():
    jax = pytest.importorskip("jax")
    q, k, v = (x.astype(np.float32) for x in draw())
    query_positions, key_positions = np.arange(2, 7), np.arange(7)

    def attended(q, k, v):
        return attention(
            q,
            k,
            v,
            query_positions=query_positions,
            key_positions=key_positions,
            layout="bhtd",
            encodings=[posenc.ALiBi(heads=12)],
            causal=True,
        ).output

    alone = attended(q, k, v)
    # Eight products a logit and seven terms an output, all below 8, in another order.
    assert np.abs(np.asarray(jax.jit(attended)(q, k, v)) - alone).max() <= (8 + 7) * 8 * 2**-24


def test_documents_have_one_row_or_one_for_each_sequence():
    q, k, v = draw()
    for rows in (1, 2):
        numbers = (np.zeros((rows, 5), int), np.zeros((rows, 7), int))
        attention(q, k, v, query_positions=np.arange(5), key_positions=np.arange(7), layout="bhtd", documents=numbers)
    numbers = (np.zeros((3, 5), int), np.zeros((3, 7), int))
    with pytest.raises(ValueError, match=r"^documents must have one row, or one for each of 2 sequences; got shape"):
        attention(q, k, v, query_positions=np.arange(5), key_positions=np.arange(7), layout="bhtd", documents=numbers)
