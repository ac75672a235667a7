"""Sinusoids on grids: what the generic suites do not see."""

import numpy as np
import pytest

import posenc
from posenc import GridSinusoidal, Sinusoidal
from posenc.positions import grid


def test_each_slice_is_the_plain_encoding_of_its_coordinate():
    places = grid(3, 5, start=(2**40, 0))
    rows, columns = places.T
    found = GridSinusoidal(dims=(8, 6), base=50.0).embed(places)
    assert np.array_equal(found[:, :8], Sinusoidal(dim=8, base=50.0).embed(rows))
    assert np.array_equal(found[:, 8:], Sinusoidal(dim=6, base=50.0).embed(columns))
    swapped = GridSinusoidal(dims=(8, 6), base=50.0, order=(1, 0)).embed(places[:, ::-1])
    assert np.array_equal(swapped, found)


def test_layouts_hold_the_same_waves():
    places = grid(3, 5)
    apart, together, gathered = (
        GridSinusoidal(dims=(4, 8), layout=layout).embed(places)
        for layout in ("interleaved", "concatenated", "gathered")
    )
    assert np.array_equal(together, apart[:, [0, 2, 1, 3, 4, 6, 8, 10, 5, 7, 9, 11]])
    assert np.array_equal(gathered, apart[:, [0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11]])


def test_shared_frequencies_leave_out_the_slow_waves_of_a_narrow_slice():
    wide, narrow = (GridSinusoidal(dims=dims, frequency_dim=6) for dims in ((6, 6), (6, 4)))
    assert np.array_equal(narrow.embed(grid(3, 5)), wide.embed(grid(3, 5))[:, :10])


REFUSED = [
    ({"dims": 8}, TypeError, r"^dims must be a tuple of 2 to 16 whole numbers, one a coordinate; got 8"),
    ({"dims": (8,)}, TypeError, r"^dims must be a tuple of 2 to 16"),
    ({"dims": (8, 3)}, ValueError, r"^dims must be an even integer from 2"),
    ({"dims": (8, 8), "order": (0, 0)}, ValueError, r"^order must name each of 2 coordinates once; got \(0, 0\)"),
    ({"dims": (8, 8), "order": (0, 1, 2)}, ValueError, r"^order must name each of 2 coordinates once"),
    ({"dims": (8, 8), "order": "hw"}, TypeError, r"^order must be a tuple of 2 to 16"),
    ({"dims": (8, 8), "frequency_dim": 6}, ValueError, r"^frequency_dim must be an even integer from 8"),
    (
        {"dims": (8, 8), "layout": "timm"},
        ValueError,
        r"^layout must be one of 'interleaved', 'concatenated', 'gathered'",
    ),
]


@pytest.mark.parametrize(("fields", "error", "message"), REFUSED)
def test_refusals_name_the_field(fields, error, message):
    with pytest.raises(error, match=message):
        GridSinusoidal(**fields)


def test_a_list_of_numbers_is_no_grid():
    with pytest.raises(ValueError, match=r"^positions must have a last axis of 2 coordinates; got shape \(3,\)"):
        posenc.GridSinusoidal(dims=(4, 4)).embed([0, 1, 2])
