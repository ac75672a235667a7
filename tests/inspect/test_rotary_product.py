"""The product of a rotated query and key, from both positions to their difference."""

import re

import numpy as np
import pytest

from posenc import ALiBi, LogNTemperature, Partial, RoPE, XPos
from posenc.inspect import product_derivation

Q, K = np.random.default_rng(0).standard_normal((2, 8))
RELATIVE = [RoPE(dim=8), RoPE(dim=8, pairing="halves", base=500_000.0), Partial(RoPE(dim=4), 8)]
PLACES = [(7, 3), (3, 7), (0, 0), (2.5, -1), (2**52, 1)]


def exact(encoding, q, k, m, n):
    """The product with complex numbers, one pair after the other."""
    inner = encoding.encoding if isinstance(encoding, Partial) else encoding
    width = inner.dim
    if inner.pairing == "halves":
        pairs = [(i, i + width // 2) for i in range(width // 2)]
    else:
        pairs = [(2 * i, 2 * i + 1) for i in range(width // 2)]
    total = float(q[width:] @ k[width:])
    for i, (a, b) in enumerate(pairs):
        angle = (m - n) * inner.base ** (-2 * i / width)
        total += (complex(q[a], q[b]) * complex(k[a], k[b]).conjugate() * np.exp(1j * angle)).real
    return total


@pytest.mark.parametrize("encoding", RELATIVE)
@pytest.mark.parametrize(("m", "n"), PLACES[:4])
def test_each_step_ends_in_the_same_product(encoding, m, n):
    found = product_derivation(encoding, Q, K, position=m, key=n)
    expected = exact(encoding, Q, K, m, n)
    assert found.product == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert Q @ found.rotated_back == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert Q @ found.shifted_key == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert found.shares.sum() + found.unpaired == pytest.approx(expected, rel=1e-12, abs=1e-12)
    ends = [float(step.numbers.rpartition(" = ")[2]) for step in found.steps if step.formula[0] != "R"]
    assert ends == pytest.approx([expected] * 4, abs=5.1e-5)
    assert len(found.steps) == 5


def test_moving_both_changes_nothing_but_the_rotated_vectors():
    near = product_derivation(RoPE(dim=8), Q, K, position=7, key=3)
    far = product_derivation(RoPE(dim=8), Q, K, position=2**52, key=2**52 - 4)
    assert far.product == pytest.approx(near.product, rel=1e-12)
    np.testing.assert_array_equal(far.shifted_key, near.shifted_key)
    assert re.search(r"m = 4503599627370496, n = 4503599627370492$", far.lines()[0])


@pytest.mark.parametrize(
    ("encoding", "changed", "message"),
    [
        (XPos(dim=8), {}, "encoding must rotate pairs of channels, keep their length"),
        (LogNTemperature(dim=8, length=4), {"position": 90}, "encoding must"),
        (RoPE(dim=8), {"query_vector": [1.0]}, "query_vector must hold 8 numbers"),
        (RoPE(dim=8), {"key_vector": [np.inf] * 8}, "key_vector must hold finite numbers"),
        (RoPE(dim=8), {"position": 1e300}, "position must be a finite number from"),
        (RoPE(dim=8), {"key": float("nan")}, "key must be a finite number from"),
    ],
)
def test_bad_input_is_named(encoding, changed, message):
    given = {"query_vector": Q, "key_vector": K, "position": 1, "key": 0, **changed}
    with pytest.raises(ValueError, match=message):
        product_derivation(encoding, **given)
    with pytest.raises(TypeError, match="encoding must be a rotary encoding"):
        product_derivation(ALiBi(heads=1), Q, K, position=1, key=0)
