"""The embedding of a time step: its conventions against the sinusoidal encoding's, the scale, and every refusal."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from posenc import Sinusoidal, TimestepEmbedding

TIMES = np.array([0.0, 1.0, 3.5, 999.0])


@pytest.mark.parametrize(("shift", "exponent"), [(1.0, "i/(d/2-1)"), (0.0, "2i/d")])
@pytest.mark.parametrize("flip", [False, True])
def test_the_two_usual_shifts_are_two_sinusoidal_conventions(shift: float, exponent: str, flip: bool) -> None:
    twin = Sinusoidal(dim=16, layout="concatenated", exponent=exponent, first="cosine" if flip else "sine")
    assert np.array_equal(TimestepEmbedding(dim=16, shift=shift, flip=flip).embed(TIMES), twin.embed(TIMES))


def test_an_odd_width_ends_in_zero() -> None:
    odd = TimestepEmbedding(dim=9, flip=True).embed(TIMES)
    assert (odd[:, 8] == 0).all()
    assert np.array_equal(odd[:, :8], TimestepEmbedding(dim=8, flip=True).embed(TIMES))


def test_the_scale_is_in_the_angle_and_stays_exact() -> None:
    # 0.75·1024 = 768 exactly, many revolutions a step or not; one more with a period of its own.
    scaled = TimestepEmbedding(dim=8, scale=1_024.0)
    assert np.array_equal(scaled.embed([0.75]), TimestepEmbedding(dim=8).embed([768]))
    slowest = TimestepEmbedding(dim=8, max_period=100.0).frequencies.radians()[-1]
    assert slowest == 0.01


def test_one_pair_needs_no_progression() -> None:
    assert np.array_equal(TimestepEmbedding(dim=2, shift=0.5).embed(TIMES), Sinusoidal(dim=2).embed(TIMES))


def test_released_numerics_lose_what_float32_loses() -> None:
    exact, released = (TimestepEmbedding(dim=8, numerics=numerics) for numerics in ("exact", "float32"))
    far = torch.tensor([999_983])
    assert (exact.embed(far) - released.embed(far)).abs().max() > 1e-5
    # Frequency, its exponent of ln 10000 and the product: 2·ln 10000 + 4 units of 2^-24 of an angle of 999.
    near = torch.tensor([999.0])
    assert (exact.embed(near) - released.embed(near)).abs().max() <= 23 * 2.0**-24 * 999


REFUSED = [
    (lambda: TimestepEmbedding(dim=1), ValueError, r"^dim must be an integer from 2"),
    (lambda: TimestepEmbedding(dim=8.0), TypeError, r"^dim must be an integer"),
    (lambda: TimestepEmbedding(dim=2), ValueError, r"^shift must be below the number of pairs, 1, .*got 1\.0"),
    (lambda: TimestepEmbedding(dim=8, shift=4), ValueError, r"^shift must be below the number of pairs, 4"),
    (lambda: TimestepEmbedding(dim=8, shift=-1.0), ValueError, r"^shift must be a finite number from 0"),
    (lambda: TimestepEmbedding(dim=8, flip=1), TypeError, r"^flip must be True or False; got 1"),
    (lambda: TimestepEmbedding(dim=8, scale=np.inf), ValueError, r"^scale must be a finite number"),
    (lambda: TimestepEmbedding(dim=8, max_period=0), ValueError, r"^max_period must be a finite number above 0"),
    (lambda: TimestepEmbedding(dim=8, numerics="half"), ValueError, r"^numerics must be one of 'exact', 'float32'"),
    (lambda: TimestepEmbedding(dim=8).embed([2**60]), ValueError, r"^positions must be finite and of magnitude"),
]


@pytest.mark.parametrize(("call", "kind", "message"), REFUSED)
def test_refusals_name_the_argument(call, kind, message) -> None:
    with pytest.raises(kind, match=message):
        call()
