"""Positions on grids and in mixed media, and random real positions: by hand, and what is refused."""

import math

import numpy as np
import pytest

from posenc import positions
from posenc.positions import Film, Image, Text, Video


@pytest.mark.parametrize("order", ["hw", "wh"])
def test_patches_are_read_row_by_row_whatever_the_order(order):
    found = positions.grid(2, 5, order=order, start=(1, 10))
    flat = [{"h": y, "w": x} for y in range(2) for x in range(5)]
    assert found.tolist() == [[p[order[0]] + 1, p[order[1]] + 10] for p in flat]
    assert found.dtype == np.int64


def test_frames_come_first_and_columns_run_fastest():
    found = positions.grid(2, 3, frames=2)
    assert found.tolist() == [[t, y, x] for t in range(2) for y in range(2) for x in range(3)]
    assert positions.grid(2, 3, frames=2, order="wth").tolist() == found[:, [2, 0, 1]].tolist()
    assert positions.grid(0, 3).shape == (0, 2)


def test_centres():
    by_hand = [[2 * (y + 0.5) / 2 - 1, 2 * (x + 0.5) / 8 - 1] for y in range(2) for x in range(8)]
    assert positions.centres(2, 8).tolist() == by_hand
    assert positions.centres(2, 8, order="wh").tolist() == [pair[::-1] for pair in by_hand]
    assert positions.centres(2, 8, divide="longest")[:, 0].max() == 2 * 1.5 / 8 - 1
    assert positions.centres(2, 8, divide="shortest")[:, 1].max() == 2 * 7.5 / 2 - 1


@pytest.mark.parametrize("library", ["numpy", "torch", "jax.numpy"])
def test_a_mask_is_counted_along_both_axes(library):
    xp = pytest.importorskip(library)
    mask = np.zeros((2, 3, 4), bool)
    mask[0, :2, :3], mask[1] = True, True
    given = xp.asarray(mask)
    found = np.asarray(positions.grid_from_mask(given)).reshape(2, 3, 4, 2)
    assert found[0, :, :, 0].tolist() == [[1, 1, 1, 0], [2, 2, 2, 0], [2, 2, 2, 0]]
    assert found[0, :, :, 1].tolist() == [[1, 2, 3, 3], [1, 2, 3, 3], [0, 0, 0, 0]]
    spread = np.asarray(positions.grid_from_mask(given, span=2 * math.pi)).reshape(2, 3, 4, 2)
    assert np.allclose(spread[1, :, 0, 0], np.array([1, 2, 3]) / (3 + 1e-6) * 2 * math.pi, rtol=1e-6)


def test_prefix_tokens_stand_above_the_grid():
    for dtype in (np.int64, np.uint8, np.uint64):
        places = positions.grid(1, 2).astype(dtype)
        assert positions.prefixed(places, 3).tolist() == [[-1, 0], [-1, 1], [-1, 2], [0, 0], [0, 1]]
    assert positions.prefixed(places.astype(np.int8), 300)[299].tolist() == [-1, 299]


def test_media_by_hand():
    """The picture of the paper: a video of three frames of 2 × 2 tokens after two of text, then text from the largest
    on."""
    found, following = positions.media([Text(2), Video(3, 4, 4, merge=2, interval=1), Text(2)], after="largest")
    video = [[t + 2, y + 2, x + 2] for t in range(3) for y in range(2) for x in range(2)]
    assert found.tolist() == [[0] * 3, [1] * 3, *video, [5] * 3, [6] * 3]
    assert following == 7
    found, following = positions.media([Text(2), Video(3, 4, 4, merge=2, interval=1), Text(1)], after="extent")
    assert found[-1].tolist() == [4] * 3
    assert following == 5
    assert positions.media([], after="extent", start=9)[1] == 9


def test_time_follows_the_clock():
    assert Video(4, 2, 2, merge=2, interval=0.29 * 100 / 2).coordinates()[:, 0].tolist() == [0, 14, 29, 43]
    assert Video(31, 1, 1, merge=1, interval=1 / 30).coordinates()[:, 0].tolist() == [0] * 30 + [1]


def test_a_film_is_cut_into_chunks_with_the_picture_first():
    film = Film(Video(4, 2, 2, merge=2, interval=25), Text(100), chunk=50)
    times = film.coordinates()[:, 0].tolist()
    assert times == [0, 25, *range(50), 50, 75, *range(50, 100)]


def test_random_floats_are_sorted_and_fill_the_range():
    drawn = positions.random_floats(1_000, 64.0, np.random.default_rng(0), rows=3)
    assert drawn.shape == (3, 1_000)
    assert (np.diff(drawn) > 0).all()
    assert drawn.min() >= 0
    assert 63.5 < drawn.max() < 64
    assert abs(drawn.mean() - 32) < 4 * 64 / math.sqrt(12 * 3_000)  # four standard errors


RNG = np.random.default_rng(0)
REFUSED = [
    (lambda: positions.grid(-1, 2), ValueError, r"^height must be an integer from 0"),
    (lambda: positions.grid(2, 2.0), TypeError, r"^width must be an integer from 0"),
    (lambda: positions.grid(2, 2, frames=True), TypeError, r"^frames must be an integer from 0"),
    (lambda: positions.grid(1 << 20, 1 << 20), ValueError, r"^height and width must need at most"),
    (lambda: positions.grid(2, 2, order="thw"), ValueError, r"^order must be a permutation of 'hw'; got 'thw'"),
    (lambda: positions.grid(2, 2, order=1), TypeError, r"^order must be a permutation of 'hw'; got 1 \(int\)"),
    (lambda: positions.grid(2, 2, start=(1, 2, 3)), ValueError, r"^start must be one number or 2; got \(1, 2, 3\)"),
    (lambda: positions.grid(2, 2, start=0.5), TypeError, r"^start must be an integer"),
    (lambda: positions.centres(2, 2, divide="both"), ValueError, r"^divide must be one of 'each', 'longest'"),
    (lambda: positions.grid_from_mask([1, 1]), ValueError, r"^mask must have the shape \(\*batch, height, width\)"),
    (lambda: positions.grid_from_mask([[2]]), ValueError, r"^mask must hold 0 and 1"),
    (lambda: positions.grid_from_mask([[1]], span=0), ValueError, r"^span must be a finite number above 0"),
    (lambda: positions.prefixed([[0.5, 1.0]], 1), ValueError, r"^positions must be whole rows and columns"),
    (lambda: positions.prefixed([0, 1], 1), ValueError, r"^positions must be whole rows and columns"),
    (lambda: positions.prefixed([[0, 1]], -1), ValueError, r"^count must be an integer from 0"),
    (lambda: Text(0), ValueError, r"^length must be an integer from 1"),
    (lambda: Image(4, 5, merge=2), ValueError, r"^width must be a multiple of merge=2; got 5"),
    (lambda: Image(1, 4, merge=2), ValueError, r"^height must be an integer from 2"),
    (lambda: Video(0, 4, 4, 2, 1.0), ValueError, r"^frames must be an integer from 1"),
    (lambda: Video(1, 4, 4, 2, 0.0), ValueError, r"^interval must be a finite number above 0"),
    (lambda: Film(Text(1), Text(1), 2), TypeError, r"^video must be a Video"),
    (lambda: Film(Video(1, 2, 2, 1, 1.0), Text(1), 0), ValueError, r"^chunk must be an integer from 1"),
    (lambda: positions.media(Text(1), after="largest"), TypeError, r"^segments must be a list of Text"),
    (
        lambda: positions.media([3], after="largest"),
        TypeError,
        r"^segments must hold Text, Image, Video and Film; got 3",
    ),
    (lambda: positions.media([Text(1)], after="max"), ValueError, r"^after must be one of 'largest', 'extent'"),
    (lambda: positions.media([], after="extent", start=-1), ValueError, r"^start must be an integer from 0"),
    (lambda: positions.random_floats(-1, 4.0, RNG), ValueError, r"^length must be an integer from 0"),
    (
        lambda: positions.random_floats(2**30 + 1, 4.0, RNG),
        ValueError,
        r"^length must be an integer from 0 to 1073741824; got 1073741825",
    ),
    (lambda: positions.random_floats(1, 0.0, RNG), ValueError, r"^largest must be a finite number above 0"),
    (lambda: positions.random_floats(1, 1.0, None), TypeError, r"^rng must be a numpy.random.Generator"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_refusals_name_the_argument(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_media_say_which_argument_is_wrong_and_what_it_was():
    with pytest.raises(ValueError, match=r"^merge must be an integer from 1"):
        Image(2, 2, merge=0)
    with pytest.raises(TypeError, match=r"^segments must be a list of Text, Image, Video and Film; got 3\b"):
        positions.media(3, after="largest")
    with pytest.raises(TypeError, match=r"^segments must hold Text, Image, Video and Film; got 4\b"):
        positions.media([4], after="largest")


def test_coordinates_of_media_are_whole_numbers():
    for segments in ([], [Text(2)], [Image(2, 2, merge=1)]):
        assert positions.media(segments, after="largest")[0].dtype == np.int64


def test_positions_are_shifted_by_a_million_million_at_most():
    assert np.abs(positions.augmented([0, 1], np.random.default_rng(0), shift=1e12)).max() <= 1e12 + 1
    with pytest.raises(ValueError, match=r"^shift must be a finite number from 0 to 1e\+12"):
        positions.augmented([0, 1], np.random.default_rng(0), shift=np.nextafter(1e12, 2e12))


def test_a_grid_may_start_far_below_zero():
    assert positions.grid(1, 2, start=-(2**53)).tolist() == [[-(2**53)] * 2, [-(2**53), 1 - 2**53]]
    with pytest.raises(ValueError, match=r"^start must be an integer from -9007199254740992 to "):
        positions.grid(1, 2, start=-(2**53) - 1)
