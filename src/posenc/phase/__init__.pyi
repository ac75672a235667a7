"""Every public name, listed once: `__init__.py` loads each from here when it is first asked for."""

from .cos_sin import Numerics as Numerics
from .cos_sin import cos_sin as cos_sin
from .cos_sin import cos_sin_of_sum as cos_sin_of_sum
from .cos_sin import cosine_sine as cosine_sine
from .cos_sin import product_dtype as product_dtype
from .cos_sin import short_on_host as short_on_host
from .fixed_frequencies import FixedFrequencies as FixedFrequencies
from .fixed_frequencies import FixedSinusoids as FixedSinusoids
from .fixed_frequencies import along_one as along_one
from .fixed_frequencies import fixed_frequencies_of as fixed_frequencies_of
from .fixed_frequencies import fixed_sinusoids_of as fixed_sinusoids_of
from .fixed_frequencies import frequency_limbs as frequency_limbs
from .fixed_frequencies import frequency_words as frequency_words
from .fixed_point import Phase as Phase
from .fixed_point import phase as phase
from .fixed_point import revolution_words as revolution_words
from .frequencies import Frequencies as Frequencies
from .learned_frequencies import cos_sin_of_learned as cos_sin_of_learned
from .learned_frequencies import learned_gradients as learned_gradients
from .matrix_exponential import exponential as exponential
from .powers import power_of_two as power_of_two
