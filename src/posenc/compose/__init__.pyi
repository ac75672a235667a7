"""Every public name, listed once: `__init__.py` loads each from here when it is first asked for."""

from .backward import Backward as Backward
from .concatenated import Concatenated as Concatenated
from .partial import Partial as Partial
from .per_layer import PerLayer as PerLayer
from .scaled import LearnedScale as LearnedScale
from .scaled import Scaled as Scaled
from .summed import Sum as Sum
