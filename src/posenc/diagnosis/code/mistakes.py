"""The bank of mistakes: each is a change of a right recipe, a sentence that names it, and what to do.

To add one, add a row to the part where it belongs. The order is that of the search: the likelier stands before the
stranger, and what is read off the values comes after what is not.
"""

from posenc.diagnosis.code.mistakes_frequency import FREQUENCY
from posenc.diagnosis.code.mistakes_position import PLACE
from posenc.diagnosis.code.mistakes_sinusoid import WAVE
from posenc.diagnosis.code.recipe_changes import Mistake

MISTAKES: tuple[Mistake, ...] = (*FREQUENCY, *WAVE, *PLACE)
