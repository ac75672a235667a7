"""T5's buckets, decided in whole numbers, and the bias they select."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
import torch

from posenc import T5Bias

#: buckets, max_distance: T5; WavLM; odd one-way; powers whose edges fall on whole distances; the narrowest.
SETTINGS = [(32, 128), (320, 800), (14, 49), (16, 64), (12, 27), (4, 3), (8, 1 << 20)]


def one_way(distance: int, buckets: int, max_distance: int) -> int:
    """The bucket by the printed formula, at 60 digits: an edge that is a whole number is met exactly."""
    exact = buckets // 2
    if distance < exact:
        return distance
    with mpmath.workdps(60):
        place = (
            mpmath.log(mpmath.mpf(distance) / exact) / mpmath.log(mpmath.mpf(max_distance) / exact) * (buckets - exact)
        )
        return min(buckets - 1, exact + int(mpmath.floor(place + mpmath.mpf(10) ** -50)))


@pytest.mark.parametrize(("buckets", "max_distance"), SETTINGS)
def test_buckets_are_those_of_the_formula(buckets: int, max_distance: int) -> None:
    distances = [*range(-300, 301), -max_distance - 1, -max_distance, max_distance - 1, max_distance, 10**9]
    both = T5Bias(heads=1, buckets=buckets, max_distance=max_distance).bucket(distances).tolist()
    half = buckets // 2
    assert both == [one_way(abs(d), half, max_distance) + (half if d > 0 else 0) for d in distances]
    decoder = T5Bias(heads=1, buckets=buckets, max_distance=max_distance, bidirectional=False).bucket(distances)
    assert decoder.tolist() == [one_way(max(-d, 0), buckets, max_distance) for d in distances]


def test_an_edge_on_a_whole_distance_opens_the_bucket() -> None:
    # exact = 4, four wide buckets to 64: edges 4·2^k, that is 4, 8, 16, 32, with nothing for rounding to decide.
    encoding = T5Bias(heads=1, buckets=8, max_distance=64, bidirectional=False)
    assert encoding.bucket([-7, -8, -15, -16, -31, -32]).tolist() == [4, 5, 5, 6, 6, 7]


def test_the_table_is_read_by_bucket_and_head() -> None:
    table = np.random.default_rng(3).standard_normal((32, 12))
    encoding = T5Bias(heads=12)
    query_positions, key_positions = [5, 900, 2], [0, 5, 17, 3000]
    found = encoding.matrix(query_positions, key_positions, {"table": table})
    assert found.shape == (12, 3, 4)
    for h in range(12):
        for i, m in enumerate(query_positions):
            for j, n in enumerate(key_positions):
                assert found[h, i, j] == table[one_way(abs(n - m), 16, 128) + (16 if n > m else 0), h]


def test_a_scale_multiplies_the_table() -> None:
    table = np.random.default_rng(3).standard_normal((32, 2))
    plain, scaled = (T5Bias(heads=2, scale=scale).matrix([3], [0, 9], {"table": table}) for scale in (1.0, 8.0))
    assert np.array_equal(scaled, 8 * plain)


def test_batched_positions() -> None:
    table = np.arange(64.0).reshape(32, 2)
    found = T5Bias(heads=2).matrix(np.array([[0], [9]]), np.array([[0, 3], [9, 12]]), {"table": table})
    assert found.shape == (2, 2, 1, 2)
    assert np.array_equal(found[0], found[1])


def test_far_positions_keep_their_distance() -> None:
    table = np.arange(32.0)[:, None]
    far = 2**53 - 8
    found = T5Bias(heads=1).matrix([far], [far - 3, far + 3], {"table": table})
    assert found.ravel().tolist() == [3.0, 19.0]


def test_init_has_the_variance_of_the_source() -> None:
    table = T5Bias(heads=64, buckets=1024, max_distance=4096).init(np.random.default_rng(0))["table"]
    assert table.shape == (1024, 64)
    # 65,536 uniform draws: the sample's variance is off by a share of √(0.8/65536) = 0.0035; five of these.
    assert abs(table.var() * (1024 + 64) / 2 - 1) < 0.0175


def test_a_fraction_is_nan_where_it_cannot_be_seen() -> None:
    table = jnp.ones((32, 1))
    add = jax.jit(
        lambda query_positions, key_positions: T5Bias(heads=1).matrix(query_positions, key_positions, {"table": table})
    )
    found = np.asarray(add(jnp.asarray([1.0, 1.5]), jnp.asarray([0.0, 0.5])))[0]
    assert np.isnan(found).tolist() == [[False, True], [True, True]]


def test_pointwise_under_compile() -> None:
    encoding, table = T5Bias(heads=3), torch.randn(32, 3, generator=torch.Generator().manual_seed(0))
    point = torch.compile(lambda h, m, n: encoding.bias(h, m, n, {"table": table}), fullgraph=True, backend="aot_eager")
    found = point(torch.tensor([2, 0]), torch.tensor([40, 1]), torch.tensor([3, 9]))
    assert found.tolist() == [table[one_way(37, 16, 128), 2].item(), table[16 + one_way(8, 16, 128), 0].item()]


def test_the_lookup_is_nobodys_to_change() -> None:
    encoding = T5Bias(heads=1)
    first = encoding.bucket([-9])
    first += 5
    assert encoding.bucket([-9]).tolist() == [8]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: T5Bias(heads=0), ValueError, r"^heads must be an integer from 1 to 65536; got 0"),
        (lambda: T5Bias(heads=1, buckets=7), ValueError, r"^buckets must be an even integer from 4 to 4096; got 7"),
        (lambda: T5Bias(heads=1, buckets=2), ValueError, r"^buckets must be an even integer from 4"),
        (lambda: T5Bias(heads=1, buckets=1, bidirectional=False), ValueError, r"^buckets must be an integer from 2"),
        (lambda: T5Bias(heads=1, max_distance=1 << 21), ValueError, r"^max_distance must be an integer from 2"),
        (
            lambda: T5Bias(heads=1, buckets=32, max_distance=8),
            ValueError,
            r"^max_distance must be above 8, the number of distances with a bucket of their own for buckets=32; got 8",
        ),
        (lambda: T5Bias(heads=1, bidirectional=1), TypeError, r"^bidirectional must be True or False; got 1"),
        (lambda: T5Bias(heads=1, scale=0.0), ValueError, r"^scale must be a finite number above 0"),
        (lambda: T5Bias(heads=1).init(None), TypeError, r"^rng must be a numpy.random.Generator; got None"),
        (lambda: T5Bias(heads=1).matrix([0], [1]), ValueError, r"^params must hold what T5Bias learns, \['table'\]"),
        (
            lambda: T5Bias(heads=1).matrix([0], [1], {"table": np.ones((1, 32))}),
            ValueError,
            r"^params\['table'\] must have shape \(32, 1\)",
        ),
        (
            lambda: T5Bias(heads=1).matrix([0.5], [0.5], {"table": np.ones((32, 1))}),
            ValueError,
            r"^query_positions must hold whole numbers, since each selects a row of a table; got 0\.5",
        ),
        (
            lambda: T5Bias(heads=1).matrix([0], [0.5], {"table": np.ones((32, 1))}),
            ValueError,
            r"^key_positions must hold whole numbers",
        ),
        (
            lambda: T5Bias(heads=1).matrix([math.nan], [0], {"table": np.ones((32, 1))}),
            ValueError,
            r"^query_positions must be finite",
        ),
        (lambda: T5Bias(heads=1).bucket([0.5]), ValueError, r"^distance must hold whole numbers"),
        (
            lambda: T5Bias(heads=2).bias(-1, 0, 1, {"table": np.ones((32, 2))}),
            ValueError,
            r"^head must be from 0 to 1; got values from -1 to -1",
        ),
        (
            lambda: T5Bias(heads=2).bias(2, 0, 1, {"table": np.ones((32, 2))}),
            ValueError,
            r"^head must be from 0 to 1; got values from 2 to 2",
        ),
        (
            lambda: T5Bias(heads=2).bias(0.0, 0, 1, {"table": np.ones((32, 2))}),
            TypeError,
            r"^head must hold whole numbers; got float64",
        ),
    ],
)
def test_refusals(make: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()  # type: ignore[operator]


def test_a_matrix_has_the_numbers_and_the_gradient_of_single_biases() -> None:
    """Heads of a matrix share their rows, and are picked a row at a time."""
    encoding = T5Bias(heads=3, buckets=8, max_distance=20)
    table = torch.randn(8, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    query, key = torch.arange(7, 12), torch.arange(40)
    single = torch.stack([
        torch.stack([encoding.bias(head, at, key, {"table": table}, dtype=torch.float64) for at in query])
        for head in range(3)
    ])  # fmt: skip
    matrix = encoding.matrix(query, key, {"table": table}, dtype=torch.float64)
    assert matrix.equal(single)
    rows = encoding.matrix(query.expand(2, -1), key, {"table": table}, dtype=torch.float64)
    assert rows.equal(single.expand(2, -1, -1, -1))
    learned = table.clone().requires_grad_()
    recorded = encoding.matrix(query, key, {"table": learned}, dtype=torch.float64)
    assert recorded.equal(single)
    (gradient,) = torch.autograd.grad(recorded.sum(), learned)
    bucket = encoding.bucket(key - query[:, None]).flatten()
    assert gradient.equal(torch.bincount(bucket, minlength=8).double()[:, None].expand(8, 3))
