"""ALiBi: slopes for any number of heads, and a bias of 0.0, not -0.0, at distance 0."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from posenc import ALiBi


def test_distance_nought_is_plus_nought_in_every_library() -> None:
    encoding = ALiBi(heads=12)
    compiled = torch.compile(encoding.matrix, fullgraph=True, backend="aot_eager")
    for found in (
        encoding.matrix([3, 4], [3, 4]),
        encoding.matrix([3.5, 4.5], [3.5, 4.5]),
        encoding.matrix(torch.tensor([3, 4]), torch.tensor([3, 4])),
        compiled(torch.tensor([3.0, 4.0]), torch.tensor([3.0, 4.0])),
        encoding.matrix(jnp.asarray([3, 4]), jnp.asarray([3, 4])),
        jax.jit(encoding.matrix)(jnp.asarray([3.0, 4.0]), jnp.asarray([3.0, 4.0])),
    ):
        diagonal = np.asarray(found)[:, [0, 1], [0, 1]]
        assert (diagonal == 0.0).all()
        assert not np.signbit(diagonal).any()


def test_slopes_of_twelve_heads() -> None:
    # Eight of the power of two below, then the first, third, fifth and seventh of sixteen.
    expected = [2.0**-h for h in range(1, 9)] + [2.0 ** (-0.5 * h) for h in (1, 3, 5, 7)]
    assert np.abs(ALiBi(heads=12).slopes() - expected).max() <= 2.0**-53
    assert ALiBi(heads=1).slopes().tolist() == [2.0**-8]


def test_rules_of_slopes() -> None:
    paper, geometric, linear = (ALiBi(heads=16, rule=rule).slopes() for rule in ("paper", "geometric", "linear"))
    assert np.array_equal(paper, geometric)
    # Exponents from -1 to -8 in fifteenths of seven, where the paper has them from -1/2 in halves.
    assert np.abs(linear / np.exp2(-1 - 7 * np.arange(16) / 15) - 1).max() <= 2.0**-52
    assert np.abs(linear - paper).max() > 0.2
    # Twelve heads tell the paper from the plain formula: 1/2, 1/4 … against 2^(-2/3), 2^(-4/3) …
    assert ALiBi(heads=12).slopes()[:2].tolist() == [0.5, 0.25]
    assert np.abs(ALiBi(heads=12, rule="geometric").slopes()[:2] - [2 ** (-2 / 3), 2 ** (-4 / 3)]).max() <= 2.0**-52


def test_the_signed_form_rewards_later_keys_and_is_one_with_the_other_behind_a_causal_mask() -> None:
    signed, symmetric = (ALiBi(heads=8, form=form).matrix(range(5), range(5)) for form in ("signed", "symmetric"))
    earlier = np.tri(5, dtype=bool)
    assert np.array_equal(signed[:, earlier], symmetric[:, earlier])
    assert np.array_equal(signed[:, ~earlier], -symmetric[:, ~earlier])
    assert not np.signbit(signed[:, range(5), range(5)]).any()
    assert "symmetric" not in ALiBi(heads=8, form="signed").claims


def test_head_and_distance() -> None:
    found = ALiBi(heads=4).matrix([[7], [2]], [[0, 9], [2, 3]])
    slopes = [2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8]
    assert found.tolist() == [[[[-7 * s, -2 * s]] for s in slopes], [[[0.0, -s]] for s in slopes]]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ALiBi(heads=0), ValueError, r"^heads must be an integer from 1 to 65536; got 0"),
        (lambda: ALiBi(heads=2.0), TypeError, r"^heads must be an integer"),
        (lambda: ALiBi(heads=2, steepest=0.0), ValueError, r"^steepest must be a finite number above 0"),
        (
            lambda: ALiBi(heads=2, rule="press"),
            ValueError,
            r"^rule must be one of 'paper', 'geometric', 'linear'; got 'press'",
        ),
        (lambda: ALiBi(heads=2, form=None), TypeError, r"^form must be one of 'symmetric', 'signed'; got None"),
        (lambda: ALiBi(heads=1, rule="linear"), ValueError, r"^heads must be at least 2 for rule='linear'.*got 1"),
        (lambda: ALiBi(heads=2).bias(-1, 0, 1), ValueError, r"^head must be from 0 to 1; got values from -1 to -1"),
        (lambda: ALiBi(heads=2).bias(1.0, 0, 1), TypeError, r"^head must hold whole numbers; got float64"),
    ],
)
def test_refusals(make: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()  # type: ignore[operator]
