"""Row 12: rotary position embedding, as matrices and efficiently."""

import math

import numpy as np
import pytest

from posenc.compose import Partial
from posenc.encodings.rotates.rope import RoPE
from posenc.inspect import rotation_error, rotation_matrices

RECORDS = (
    RoPE(dim=128),
    RoPE(dim=12, base=500_000.0, pairing="halves"),
    Partial(RoPE(dim=8), dim=12, start=2),
)


def article_matrices(length: int, width: int) -> np.ndarray:
    """The article's matrices entry by entry, in plain Python; its first slice is position 1."""
    matrices = np.zeros((length, width, width))
    for slice_, i in np.ndindex(length, width // 2):
        angle = (slice_ + 1) * 10_000.0 ** (-2.0 * i / width)
        matrices[slice_, 2 * i, 2 * i] = matrices[slice_, 2 * i + 1, 2 * i + 1] = math.cos(angle)
        matrices[slice_, 2 * i + 1, 2 * i] = math.sin(angle)
        matrices[slice_, 2 * i, 2 * i + 1] = -math.sin(angle)
    return matrices


def test_the_matrices_are_the_articles_with_its_slices_one_position_on():
    ours = rotation_matrices(RoPE(dim=128), range(101))
    assert ours.shape == (101, 128, 128)
    # Plain float64 angles below 100 carry an error of 100 · 2^-53.
    np.testing.assert_allclose(ours[1:], article_matrices(100, 128), atol=4e-14)
    assert np.array_equal(ours[0], np.eye(128))
    theirs = article_matrices(100, 8)
    for slice_, position in ((0, 1), (50, 51), (99, 100)):
        np.testing.assert_allclose(rotation_matrices(RoPE(dim=8), [position])[0], theirs[slice_], atol=4e-14)


@pytest.mark.parametrize("encoding", RECORDS)
def test_matrix_and_efficient_form_agree_and_lengths_and_differences_are_kept(encoding):
    error = rotation_error(encoding, range(60), shift=100_000)
    # d products a row for the matrix, of which two are not zero; values up to 4.
    assert error.efficient <= 4 * 4 * 2.0**-53
    assert error.norm <= encoding.head_dim * 2.0**-53
    assert error.relative <= encoding.head_dim * 2.0**-53
    assert error.orthogonality <= 8 * 2.0**-53


def test_a_product_of_two_matrices_is_that_of_the_difference():
    matrices = rotation_matrices(RoPE(dim=6), [3, 8, 5])
    np.testing.assert_allclose(matrices[0].T @ matrices[1], matrices[2], atol=1e-15)


def test_the_score_depends_on_the_difference_and_on_the_content():
    encoding, rng = RoPE(dim=16), np.random.default_rng(0)
    q, k, other = rng.standard_normal((3, 1, 16))

    def score(left, right, m, n):
        return (encoding.rotation([m])(left) @ encoding.rotation([n])(right).T).item()

    assert score(q, k, 5, 2) == pytest.approx(score(q, k, 1005, 1002), abs=1e-13)
    assert abs(score(q, k, 5, 2) - score(q, k, 5, 3)) > 0.01
    # The rotation is independent of content; the angle between q and k is not.
    angles = [math.acos(score(q, one, 5, 2) / np.linalg.norm(q) / np.linalg.norm(one)) for one in (k, other)]
    assert abs(angles[0] - angles[1]) > 0.01


def test_one_vector_at_several_positions_in_two_dimensions():
    vector = np.array([1.0, 0.5])
    rotated = rotation_matrices(RoPE(dim=2), range(5)) @ vector
    np.testing.assert_allclose(np.hypot(*rotated.T), math.hypot(1, 0.5), atol=1e-15)
    angles = np.unwrap(np.arctan2(rotated[:, 1], rotated[:, 0]))
    np.testing.assert_allclose(np.diff(angles), 1.0, atol=1e-14)
