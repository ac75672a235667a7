"""Every known mistake in a recipe, by door. Add one in the file of its kind."""

from __future__ import annotations

from collections.abc import Mapping

from posenc.diagnosis.code.mistakes_frequency import FREQUENCY
from posenc.diagnosis.code.mistakes_position import POSITION
from posenc.diagnosis.code.mistakes_sinusoid import ROTATIONS, SINUSOIDS
from posenc.diagnosis.code.recipe import Door, Recipe
from posenc.diagnosis.mistake import Mistake

#: In the order of the search: the likelier before the stranger, what is read off the values after what is not.
BY_DOOR: Mapping[Door, tuple[Mistake[Recipe], ...]] = {
    "adds": (*FREQUENCY, *SINUSOIDS, *POSITION),
    "rotates": (*FREQUENCY, *ROTATIONS, *POSITION),
}
