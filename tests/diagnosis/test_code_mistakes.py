"""The bank of mistakes in a recipe: each is found when it is planted, and a recipe is the encoding it stands for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from posenc.diagnosis.code.judge_values import Convention, conventions, judge_values
from posenc.diagnosis.code.mistakes_recipe import BY_DOOR
from posenc.diagnosis.code.observed_values import ObservedValues
from posenc.diagnosis.code.user_code import POSITIONS
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.rotates.rope import RoPE

ASKED = np.array(POSITIONS, dtype=np.float64)
#: What the mistakes that read a number off the values are planted with.
PLANTED = {
    "base": {"base": 777.0},
    "fixed width": {"fixed_width": 512},
    "values scaled": {"scale": 0.25},
    "frequencies scaled": {"angle_factor": 0.3},
}
#: What is a mistake in one convention and another convention by itself.
ALSO_RIGHT = {
    *(("adds", name) for name in ("layout", "divided by d-2", "sine and cosine swapped")),
    *(("rotates", name) for name in ("layout", "off by one")),
}


def seen(door: str, values: np.ndarray | None = None, length: int = 0, dim: int = 16) -> ObservedValues:
    positions = ASKED[length > ASKED] if length else ASKED
    shape = (len(positions), dim) if door == "adds" else (len(positions), dim, dim)
    return ObservedValues(door, positions, np.zeros(shape) if values is None else values, "float64", length)


CASES = [
    pytest.param(
        door,
        length,
        mistake,
        id=f"{door}-{length}-{index}-{mistake.name}".replace(" ", "_"),
        marks=pytest.mark.nightly if length and index % 4 else (),
    )
    for door, bank in BY_DOOR.items()
    for length in (0, 3000)
    for index, mistake in enumerate(bank)
    if length or mistake.name != "position divided by the length"
]


@pytest.mark.parametrize(("door", "length", "mistake"), CASES)
def test_every_mistake_of_the_bank_is_found(door, length, mistake):
    """Against every convention, and against the one encoding that is meant."""
    blank = seen(door, length=length)
    for convention in conventions(blank, 10_000.0, None)[:2]:
        if mistake.name in PLANTED:
            recipes = [replace(convention.recipe, **PLANTED[mistake.name])]
        else:
            recipes = [recipe for recipe, _ in mistake.change(convention.recipe, blank)]
        for recipe in recipes:
            observed = replace(blank, values=recipe.values(blank.positions, 16))
            report = judge_values(observed)
            if report.right:
                assert (door, mistake.name) in ALSO_RIGHT
            else:
                assert [finding.name for finding in report.findings] == [mistake.name]
            report = judge_values(observed, against=convention.encoding)
            assert (report.right, [finding.name for finding in report.findings]) == (False, [mistake.name])


@pytest.mark.parametrize("door", ["adds", "rotates"])
def test_a_recipe_is_the_encoding_it_stands_for(door):
    """float64 angles up to 100,003: each rounding is at most 2^-53 of the angle, a few of them 1e-10 at most."""
    for convention in conventions(seen(door, length=3000), 10_000.0, None):
        table = convention.recipe.values(ASKED, 16)
        assert np.abs(table - convention.values(ASKED)).max() < 1e-10


def test_odd_widths_have_conventions_where_tables_are_added():
    for encoding in (Sinusoidal(7, odd="truncate"), Sinusoidal(7, layout="concatenated", odd="zero")):
        report = judge_values(seen("adds", encoding.embed(ASKED), dim=7))
        assert (report.right, report.convention.startswith("Sinusoidal(dim=7")) == (True, True)
    with pytest.raises(ValueError, match="observed must have a width that some convention has; got 7"):
        judge_values(seen("rotates", dim=7))


def test_against_one_encoding():
    encoding = Sinusoidal(16, exponent="i/d", start=1, base=50.0, scale=3.0)
    observed = seen("adds", encoding.embed(ASKED))
    assert judge_values(observed, against=encoding).right
    negated = judge_values(seen("adds", -encoding.embed(ASKED)), against=encoding)
    assert [finding.name for finding in negated.findings] == ["values scaled"]
    with pytest.raises(ValueError, match="against must be an encoding that adds and has width 16; got RoPE"):
        judge_values(observed, against=RoPE(8))
    assert Convention(Sinusoidal(7, odd="zero")).recipe is None


def test_float32_angles_are_told_from_wrong_ones():
    single = ASKED.astype(np.float32)
    angles = single[:, None] * np.exp(np.arange(0, 16, 2, dtype=np.float32) * np.float32(-np.log(10_000.0) / 16))
    table = np.stack([np.sin(angles), np.cos(angles)], -1).reshape(-1, 16)
    assert judge_values(replace(seen("adds", table.astype(np.float64)), dtype="float32")).right
    late = judge_values(seen("adds", table.astype(np.float64)))
    assert (late.right, late.precision) == (True, "float32")
    assert "the angles were formed in float32" in late.notes[0]
    table[60:] += 0.1
    assert not judge_values(replace(seen("adds", table.astype(np.float64)), dtype="float32")).right


def test_nan_is_no_right_answer():
    table = Sinusoidal(16).embed(ASKED)
    table[5, 3] = np.nan
    report = judge_values(seen("adds", table))
    assert (report.right, [finding.name for finding in report.findings]) == (False, ["not finite"])
    assert (report.first_difference.position, report.first_difference.channel) == (5.0, 3)


def test_another_base_that_gives_the_same_numbers_is_told():
    """10000^(-i/d) = 100^(-2i/d): no numbers can tell the two apart."""
    report = judge_values(seen("adds", Sinusoidal(16, exponent="i/d").embed(ASKED)))
    assert [finding.name for finding in report.findings] == ["exponent i/d"]
    assert report.notes == ("The same numbers can be read otherwise: The base is 100.",)
    report = judge_values(seen("adds", Sinusoidal(16).embed(ASKED)), base=100.0)
    assert [finding.name for finding in report.findings] == ["base"]
    assert report.notes[0].startswith("The same numbers can be read otherwise: The exponent is 4i/d")
