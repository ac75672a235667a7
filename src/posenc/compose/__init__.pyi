"""Every public name, listed once: `__init__.py` loads each from here when it is first asked for."""

from .concatenated import Concatenated as Concatenated
from .per_layer import PerLayer as PerLayer
from .rotary_wrappers import Backward as Backward
from .rotary_wrappers import Partial as Partial
from .scaled import LearnedScale as LearnedScale
from .scaled import Scaled as Scaled
from .summed import Sum as Sum
