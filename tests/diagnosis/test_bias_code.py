"""`check_code` of functions that return biases: another encoding is meant, 12 heads, a constant."""

import numpy as np
import pytest

from posenc import ALiBi, RoPE, T5Bias
from posenc.diagnosis import check_code


def geometric(heads):
    return 2.0 ** (-8 * np.arange(1, heads + 1) / heads)[:, None, None]


def symmetric(heads, length):
    return -geometric(heads) * abs(np.arange(length)[:, None] - np.arange(length))


def of_keys_alone(heads, length):
    return geometric(heads) * np.arange(length)[None, None]


def learned(heads, length):
    """T5's biases of an encoder, from a table that the function keeps to itself."""
    table = np.random.default_rng(3).normal(size=(32, heads))
    return T5Bias(heads).matrix(np.arange(length), np.arange(length), {"table": table})


def constant(heads, length):
    return np.full((heads, length, length), 0.5)


def noise(heads, length):
    return np.random.default_rng(0).normal(size=(heads, length, length))


@pytest.mark.parametrize(
    ("code", "against", "right", "named", "convention"),
    [
        (symmetric, ALiBi(8), True, (), "ALiBi(heads=8)"),
        (symmetric, ALiBi(8, form="signed"), False, ("form",), "ALiBi(heads=8, form='signed')"),
        (symmetric, ALiBi(6), False, ("slope rule",), "ALiBi(heads=6)"),
        (symmetric, None, False, ("slope rule",), "ALiBi(heads=12)"),
        (of_keys_alone, None, False, ("slope rule",), "ALiBi(heads=12, form='signed')"),
        (symmetric, T5Bias(8), False, (), "T5Bias(heads=8)"),
        (constant, None, False, ("all one number",), "ALiBi(heads=8)"),
        (noise, None, False, (), "ALiBi(heads=8)"),
        (learned, T5Bias(8), True, (), "T5Bias(heads=8)"),
    ],
)
def test_the_bias_that_is_meant_or_the_mistake(code, against, right, named, convention):
    report = check_code(code, against=against)
    assert (report.right, tuple(each.name for each in report.findings), report.convention) == (right, named, convention)


def test_an_encoding_of_another_kind_is_no_bias():
    report = check_code(symmetric, against=RoPE(dim=8))
    assert (report.right, [each.name for each in report.findings]) == (False, ["another kind of encoding"])
