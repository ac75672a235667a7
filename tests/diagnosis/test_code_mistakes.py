"""The bank of mistakes by its numbers alone: each is found when it is planted, and a recipe is the record it stands for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from posenc.diagnosis.code.caller import PLACES
from posenc.diagnosis.code.mistakes import MISTAKES
from posenc.diagnosis.code.recipe import evaluate, rounded
from posenc.diagnosis.code.recipe_changes import Observed
from posenc.diagnosis.code.table_diagnosis import conventions, diagnose, recipe_of
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.rotates.rope import RoPE

PLACED = np.array(PLACES, dtype=np.float64)
#: What the mistakes that read a number off the values are planted with.
PLANTED = {
    "base": {"base": 777.0},
    "fixed width": {"fixed": 512},
    "values scaled": {"scale": 0.25},
    "frequencies scaled": {"turns": 0.3},
}


def seen(door: str, values: np.ndarray | None = None, length: int = 0, dim: int = 16) -> Observed:
    places = PLACED[length > PLACED] if length else PLACED
    shape = (len(places), dim) if door == "adds" else (len(places), dim, dim)
    return Observed(door, places, np.zeros(shape) if values is None else values, "float64", length)


CASES = [
    (door, length, index)
    for door in ("adds", "rotates")
    for length in (0, 3000)
    for index, mistake in enumerate(MISTAKES)
    if door in mistake.doors and (length or mistake.name != "position divided by the length")
]


@pytest.mark.parametrize(("door", "length", "index"), CASES)
def test_every_mistake_of_the_bank_is_found(door, length, index):
    mistake, blank = MISTAKES[index], seen(door, length=length)
    for convention in conventions(blank, 10_000.0, None)[:2]:
        changes = PLANTED.get(mistake.name)
        recipe = replace(convention.recipe, **changes) if changes else mistake.change(convention.recipe, blank)
        if recipe is None:  # the table is longer than what was asked for
            continue
        verdict = diagnose(replace(blank, values=evaluate(recipe, blank.positions, 16)))
        if verdict.right:  # what is a mistake in one convention is another convention
            assert (door, mistake.name) in {
                ("adds", "divided by d-2"),
                ("adds", "sine and cosine swapped"),
                ("rotates", "off by one"),
            }
        else:
            assert [found.name for found in verdict.mistakes] == [mistake.name]


@pytest.mark.parametrize("door", ["adds", "rotates"])
def test_a_recipe_is_the_record_it_stands_for(door):
    """float64 angles up to 100,003: each rounding is at most 2^-53 of the angle, a few of them 1e-10 at most."""
    for convention in conventions(seen(door), 10_000.0, None):
        table = evaluate(convention.recipe, PLACED, 16)
        assert np.abs(table - convention.values(PLACED)).max() < 1e-10


def test_odd_widths_have_conventions_where_tables_are_added():
    for record in (Sinusoidal(7, odd="truncate"), Sinusoidal(7, layout="concatenated", odd="zero")):
        verdict = diagnose(seen("adds", record.embed(PLACED), dim=7))
        assert (verdict.right, verdict.convention.startswith("Sinusoidal(dim=7")) == (True, True)
    with pytest.raises(ValueError, match="observed must have a width that some convention has; got 7"):
        diagnose(seen("rotates", dim=7))


def test_against_one_record():
    record = Sinusoidal(16, exponent="i/d", start=1, base=50.0, scale=3.0)
    observed = seen("adds", record.embed(PLACED))
    assert diagnose(observed, against=record).right
    assert [one.name for one in diagnose(seen("adds", -record.embed(PLACED)), against=record).mistakes] == [
        "values scaled"
    ]
    with pytest.raises(ValueError, match="against must be a record that adds and has width 16; got RoPE"):
        diagnose(observed, against=RoPE(8))
    assert recipe_of(Sinusoidal(7, odd="zero")) is None


def test_float32_angles_are_told_from_wrong_ones():
    record, single = Sinusoidal(16), PLACED.astype(np.float32)
    angles = single[:, None] * np.exp(np.arange(0, 16, 2, dtype=np.float32) * np.float32(-np.log(10_000.0) / 16))
    table = np.stack([np.sin(angles), np.cos(angles)], -1).reshape(-1, 16)
    assert diagnose(replace(seen("adds", table.astype(np.float64)), dtype="float32")).right
    late = diagnose(seen("adds", table.astype(np.float64)))
    assert (late.right, late.precision) == (True, "float32")
    assert "the angles were formed in float32" in late.notes[0]
    table[60:] += 0.1
    assert not diagnose(replace(seen("adds", table.astype(np.float64)), dtype="float32")).right
    assert record.dim == 16


def test_nan_is_no_right_answer():
    table = Sinusoidal(16).embed(PLACED)
    table[5, 3] = np.nan
    verdict = diagnose(seen("adds", table))
    assert (verdict.right, verdict.mistakes) == (False, ())
    assert (verdict.first.position, verdict.first.channel) == (5.0, 3)


def test_bfloat16_rounds_to_nearest_even():
    """By the definition: 8 bits of significand; 257 lies between 256 and 258 and goes to the even one."""
    values = np.array([1.0, 256.0, 257.0, 258.0, 259.0, 261.0, 0.1])
    assert rounded(values, "bfloat16").tolist() == [1.0, 256.0, 256.0, 258.0, 260.0, 260.0, 0.10009765625]


def test_another_base_that_gives_the_same_numbers_is_told():
    """10000^(-i/d) = 100^(-2i/d): no numbers can tell the two apart."""
    table = Sinusoidal(16, exponent="i/d").embed(PLACED)
    verdict = diagnose(seen("adds", table))
    assert [one.name for one in verdict.mistakes] == ["exponent i/d"]
    assert verdict.notes == ("The same numbers can be read otherwise: The base is 100.",)
    verdict = diagnose(seen("adds", Sinusoidal(16).embed(PLACED)), base=100.0)
    assert [one.name for one in verdict.mistakes] == ["base"]
    assert verdict.notes[0].startswith("The same numbers can be read otherwise: The exponent is 4i/d")
