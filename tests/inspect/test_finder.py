"""The position finder against plain scans, and its errors."""

import math

import numpy as np
import pytest

from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.learn import find_positions
from posenc.learn.course.sinusoid_of_channel import SinusoidOfChannel, position_blocks

CONVENTIONS = (
    Sinusoidal(dim=16, base=100.0),
    Sinusoidal(dim=8, start=1, scale=0.5),
    Sinusoidal(dim=8, start=-700, scale=-2.0, first="cosine"),
    Sinusoidal(dim=12, layout="concatenated", exponent="i/(d/2-1)"),
    Sinusoidal(dim=8, base=0.01),
)


@pytest.mark.parametrize("encoding", CONVENTIONS)
@pytest.mark.parametrize("digits", [1, 2, 4])
def test_the_fits_are_those_of_a_scan(encoding, digits):
    """Every position up to 3000, its values read from the table, for every dimension by itself."""
    table = encoding.embed(np.arange(3001))
    for dimension in range(0, encoding.width, 3):
        text = f"{table[137, dimension]:.{digits}f}"
        unit = 10.0**-digits
        scanned = np.flatnonzero(np.abs(table[:, dimension] - float(text)) <= unit * (1 + 1e-9))
        fit = find_positions({dimension: text}, conventions=encoding, largest=3000).fits[0]
        assert fit.count == len(scanned)
        assert (fit.first, fit.following) == (*scanned[:2].tolist(), None)[:2]
        assert fit.value == pytest.approx(table[fit.first, dimension], abs=1e-13)


def test_several_values_leave_what_fits_them_all():
    encoding = Sinusoidal(dim=16, base=100.0)
    table = encoding.embed(np.arange(20_001))
    texts = {dimension: f"{table[321, dimension]:.1f}" for dimension in (0, 1, 5, 9)}
    fits = np.all([np.abs(table[:, d] - float(text)) <= 0.1 * (1 + 1e-9) for d, text in texts.items()], axis=0)
    found = find_positions(texts, conventions=encoding, largest=20_000).fits[0]
    assert found.count == fits.sum() > 1
    assert found.first == np.flatnonzero(fits)[0]


def test_a_string_keeps_its_digits():
    encoding = Sinusoidal(dim=2)
    wide, narrow = (
        find_positions({0: value}, conventions=encoding, largest=5000).fits[0].count for value in (0.5, "0.500")
    )
    assert wide > 20 * narrow > 0
    assert find_positions({0: 1}, conventions=encoding, largest=9).printed[0].unit == 0.1
    assert find_positions({0: "1"}, conventions=encoding, largest=9).fits[0].count > 5  # within a whole unit
    assert find_positions({0: "1e-2"}, conventions=encoding, largest=9).printed[0].unit == 0.01


def test_truncated_digits_fit_too():
    """0.48881494 printed as 0.488814, cut and not rounded."""
    encoding = Sinusoidal(dim=5120, exponent="i/d")
    for text in ("0.488814", "0.488815", "0.48881", "0.48881494"):
        assert find_positions({1088: text}, conventions=encoding, largest=100).fits[0].first == 7
    assert find_positions({1088: "0.488816"}, conventions=encoding, largest=100).fits[0].first is None


def test_values_beyond_the_wave_and_at_its_crest():
    encoding = Sinusoidal(dim=4)
    assert find_positions({0: "1.5"}, conventions=encoding, largest=100).fits[0].count == 0
    crest = find_positions({1: "1.01"}, conventions=encoding, largest=100).fits[0]
    assert crest.first == 0
    assert crest.exact is None
    assert "k = 0" in crest.line()
    still = find_positions({1: "0.0"}, conventions=Sinusoidal(dim=4, scale=0.0), largest=100).fits[0]
    assert (still.count, still.exact) == (101, None)


def test_the_real_valued_position_has_exactly_the_value():
    wave = SinusoidOfChannel(100.0, 2, 16, "sine", 0.5, 3)
    place = wave.nearest(-0.2, 1000)
    assert abs(place - 1000) < math.pi / wave.speed
    assert 0.5 * math.sin((place + 3) * wave.speed) == pytest.approx(-0.2, abs=1e-12)


def test_blocks_run_through_every_stretch_once(monkeypatch):
    from posenc.learn.course import sinusoid_of_channel as finder

    monkeypatch.setattr(finder, "BLOCK", 3)
    starts, ends = np.array([2, 9, 20]), np.array([5, 9, 24])
    assert np.concatenate(list(position_blocks(starts, ends))).tolist() == [2, 3, 4, 5, 9, 20, 21, 22, 23, 24]


def test_of_names_a_convention_that_was_searched():
    found = find_positions({0: "0.84"}, conventions=Sinusoidal(dim=4), largest=10)
    with pytest.raises(ValueError, match="exponent must name a convention that was searched; got 'i/d'"):
        found.of("i/d")


def test_a_derivation_is_under_a_convention_that_was_searched():
    found = find_positions({0: "0.84"}, dim=4, largest=10)
    counted_from_one = Sinusoidal(dim=4, start=1)
    assert "start 1" in found.derivation(counted_from_one)[0]
    with pytest.raises(ValueError, match=r"encoding must be one that was searched; got Sinusoidal\(dim=8,"):
        found.derivation(Sinusoidal(dim=8))
    with pytest.raises(TypeError, match="encoding must be a Sinusoidal; got 'i/d'"):
        found.derivation("i/d")


@pytest.mark.parametrize(
    ("values", "options", "kind", "message"),
    [
        ({}, {"dim": 8}, TypeError, "values must map dimensions to values, at least one"),
        ([0.5], {"dim": 8}, TypeError, "values must map dimensions to values"),
        ({8: 0.5}, {"dim": 8}, ValueError, "values must be an integer from 0 to 7; got 8"),
        ({"0": 0.5}, {"dim": 8}, TypeError, "values must be an integer"),
        ({0: "half"}, {"dim": 8}, ValueError, "values must be numbers; got 'half' for dimension 0"),
        ({0: "nan"}, {"dim": 8}, ValueError, "values must be numbers"),
        ({0: math.inf}, {"dim": 8}, ValueError, "values must be a finite number"),
        ({0: None}, {"dim": 8}, TypeError, "values must be a finite number"),
        ({0: 0.5}, {}, TypeError, "dim must be given, or conventions; got neither"),
        ({0: 0.5}, {"dim": 7}, ValueError, "dim must be an even integer from 4"),
        ({0: 0.5}, {"dim": 8, "base": -1.0}, ValueError, "base must be a finite number above 0"),
        ({0: 0.5}, {"dim": 8, "largest": -1}, ValueError, "largest must be an integer from 0"),
        ({6: 0.5}, {"dim": 8, "base": 1e-9}, ValueError, "largest must need at most"),
        ({0: 0.5}, {"conventions": []}, ValueError, "conventions must hold at least one encoding"),
        ({0: 0.5}, {"conventions": ["sine"]}, TypeError, "conventions must be a Sinusoidal encoding or a list of them"),
        (
            {8: 0.5},
            {"conventions": Sinusoidal(dim=9, odd="zero")},
            ValueError,
            "values must name a dimension that varies; got 8",
        ),
    ],
)
def test_bad_questions(values, options, kind, message):
    with pytest.raises(kind, match=message):
        find_positions(values, **options)
