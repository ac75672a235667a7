"""Row 16: which position a printed value belongs to, and how sure that is."""

import math

import pytest

from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.learn import find_positions, worked


def test_the_chapters_puzzle_comes_out_as_it_is():
    """5120 dimensions, base 10,000, dimension 1088 = 0.488814; the chapter's answer is 7."""
    found = find_positions({1088: "0.488814"}, dim=5120)
    half = found.of("i/d")
    assert (half.first, half.following) == (7, 60_676)
    assert found.of("2i/d").first == 929_505
    assert found.fits[0] == half  # the smallest first fit stands in front
    text = str(found)
    assert "exponent i/d, interleaved, sine first, start 0: k = 7, next 60,676" in text
    assert "exponent 2i/d, interleaved, sine first, start 0: k = 929,505" in text
    assert "0.835354" in text
    assert "Not decided by these values" in text


def test_the_answer_under_the_stated_formula_is_another_value():
    assert f"{Sinusoidal(dim=5120).embed([7])[0, 1088]:.6f}" == "0.835354"
    assert f"{math.sin(7 / 10_000 ** (1088 / 5120)):.6f}" == "0.835354"
    value = Sinusoidal(dim=5120, exponent="i/d").embed([7])[0, 1088]
    assert f"{value:.8f}" == "0.48881494"
    assert value == pytest.approx(math.sin(7 / 10_000 ** (544 / 5120)), abs=1e-15)
    assert any("0.835354" in line for line in worked(Sinusoidal(dim=5120), 7, dims=[1088]).lines())


def test_the_fits_are_those_of_a_plain_scan():
    """A scan of every position up to 100,000 in plain Python finds the same two under the exponent i/d, and none
    else."""
    rate = 10_000 ** (-544 / 5120)
    scanned = [k for k in range(100_001) if abs(math.sin(k * rate) - 0.488814) <= 1e-6]
    found = find_positions({1088: "0.488814"}, conventions=Sinusoidal(dim=5120, exponent="i/d"), largest=100_000)
    assert scanned == [7, 60_676]
    assert (found.fits[0].count, found.fits[0].first, found.fits[0].following) == (2, 7, 60_676)


def test_085_is_the_position_of_the_and_not_of_book():
    encoding = Sinusoidal(dim=16, base=100.0)
    fit = find_positions({3: "0.85"}, conventions=encoding, largest=60).fits[0]
    assert (fit.first, fit.count) == (1, 1)
    assert f"{fit.exact:.3f}" == "0.987"
    assert fit.exact == pytest.approx(100 ** (2 / 16) * math.acos(0.85), abs=1e-14)
    assert "(exactly 0.987)" in fit.line()
    assert find_positions({3: "0.43"}, conventions=encoding, largest=12).fits[0].first == 2  # the row of "book"


def test_085_is_solved_step_by_step():
    found = find_positions({3: "0.85"}, dim=16, base=100.0, largest=60)
    _, _, equation, solved, numbers, others, whole = found.derivation()
    assert equation.strip() == "0.85 = cos(k / 100^(2·1/16))"
    assert solved.strip() == "k = 100^(2·1/16) · arccos 0.85"
    assert float(numbers.split(" = ")[-1]) == pytest.approx(100 ** (2 / 16) * math.acos(0.85), rel=1e-5)
    for place in others.rpartition(": ")[2].split(", ")[:-1]:
        assert math.cos(float(place) / 100 ** (2 / 16)) == pytest.approx(0.85, abs=1e-4)
    assert "k = 1, where cos(1 / 100^(2·1/16)) = 0.846009" in whole
    assert set(found.derivation()) < set(found.lines())


@pytest.mark.parametrize("exponent", ["2i/d", "i/d", "i/(d/2-1)"])
@pytest.mark.parametrize("first", ["sine", "cosine"])
def test_every_convention_is_solved_by_its_own_formula(exponent, first):
    encoding = Sinusoidal(8, 50.0, exponent=exponent, first=first, start=1)
    for dimension in (2, 5):
        value = f"{encoding.embed([4])[0, dimension]:.4f}"
        steps = find_positions({dimension: value}, conventions=encoding, largest=100).derivation()
        places = [float(place) for place in steps[-2].rpartition(": ")[2].split(", ")[:-1]]
        rows = encoding.embed(places)[:, dimension]
        assert rows == pytest.approx([float(value)] * len(places), abs=1e-3)
        assert min(abs(place - 4) for place in places) < 0.01 or len(places) == 4


def test_more_values_decide():
    encoding = Sinusoidal(dim=16, base=100.0)
    one = find_positions({3: "0.43"}, conventions=encoding, largest=100_000).fits[0]
    row = {dimension: f"{value:.2f}" for dimension, value in enumerate(encoding.embed([2])[0])}
    whole = find_positions(row, conventions=encoding, largest=100_000).fits[0]
    assert one.count > 100
    assert (whole.count, whole.first, whole.following) == (1, 2, None)


def test_a_search_over_conventions_finds_the_convention():
    truth = Sinusoidal(dim=12, base=500.0, layout="concatenated", exponent="i/(d/2-1)", first="cosine")
    row = {dimension: f"{value:.5f}" for dimension, value in enumerate(truth.embed([4321])[0])}
    found = find_positions(row, dim=12, base=500.0, largest=200_000)
    fitting = [fit for fit in found.fits if fit.first is not None]
    assert [(fit.encoding, fit.first) for fit in fitting if fit.encoding.start == 0] == [(truth, 4321)]
    assert [fit.first for fit in fitting if fit.encoding.start == 1] == [4320]
    assert "One convention and one position fit: k = 4,321." in str(found)


def test_no_position_is_said_to_be_none():
    found = find_positions({0: "0.500000", 1: "0.500000"}, conventions=Sinusoidal(dim=4), largest=1000)
    assert found.fits[0].first is None
    assert "No convention has a position with these values." in str(found)
