"""Every mistake of every bank is planted by a test, and says what is wrong and what to do."""

from __future__ import annotations

import pytest

from diagnosis import (
    test_bases_of_scalings,
    test_distance_biases,
    test_dumps,
    test_rotation_axes,
    test_rotations,
    test_two_configs,
)
from posenc.diagnosis.bias.mistakes_bias import BIASES
from posenc.diagnosis.code.mistakes_recipe import BY_DOOR
from posenc.diagnosis.layers.mistakes_layers import LAYERS
from posenc.diagnosis.rotation.rotation_mistakes import IN_CODE, IN_CONFIGS

#: The names that tests expect, by the bank that they are in; recipes are planted one by one in test_code_mistakes.
PLANTED = {
    "rotations": {name for _, _, name in test_rotations.ONE.values()}
    | {name for _, name in test_bases_of_scalings.RAMPS.values()}
    | {name for _, _, name, _ in test_dumps.ONE.values()}
    | {name for _, names in test_rotation_axes.CASES.values() for name in names}
    | {name for _, _, name in test_two_configs.ONE.values()},
    "biases": {name for _, _, name in test_distance_biases.ONE.values()},
    "layers": {name for _, _, name in test_two_configs.ONE.values()},
}
BANKS = {"rotations": (*IN_CODE, *IN_CONFIGS), "biases": BIASES, "layers": LAYERS}
EVERY = {mistake for bank in (*BANKS.values(), *BY_DOOR.values()) for mistake in bank}


@pytest.mark.parametrize("bank", BANKS)
def test_every_mistake_is_planted(bank: str) -> None:
    assert {mistake.name for mistake in BANKS[bank]} - PLANTED[bank] == set()


def test_every_mistake_is_said_in_sentences() -> None:
    bad = [mistake.name for mistake in EVERY if not (mistake.sentence.endswith(".") and mistake.fix.endswith("."))]
    assert bad == []


def test_no_two_mistakes_say_the_same() -> None:
    """Rows of one name differ in their sentence, or are made in configs and in code; narrow types stand in braces."""
    seen = [(mistake.name, mistake.sentence, mistake.only_in) for mistake in EVERY if "{" not in mistake.sentence]
    assert len(set(seen)) == len(seen)
