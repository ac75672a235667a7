"""The bank of mistakes: each is a change of a right recipe, a sentence that names it, and what to do.

To add one, add a row to the part where it belongs. The order is that of the search: the likelier stands before the
stranger, and what is read off the values comes after what is not.
"""

from posenc.inspect.changes import Mistake
from posenc.inspect.mistakes_frequency import FREQUENCY
from posenc.inspect.mistakes_place import PLACE
from posenc.inspect.mistakes_wave import WAVE

MISTAKES: tuple[Mistake, ...] = (*FREQUENCY, *WAVE, *PLACE)
