"""Every public name, listed once: `__init__.py` loads each from here when it is first asked for."""

from .course.errata import ERRATA as ERRATA
from .course.errata import Erratum as Erratum
from .course.errata import errata as errata
from .course.find_positions import Fit as Fit
from .course.find_positions import FoundPositions as FoundPositions
from .course.find_positions import find_positions as find_positions
from .course.ladder_of_ideas import LADDER as LADDER
from .course.ladder_of_ideas import LadderFigures as LadderFigures
from .course.ladder_of_ideas import ladder_figures as ladder_figures
from .worked_examples.score_terms import ScoreTerms as ScoreTerms
from .worked_examples.score_terms import score_terms as score_terms
from .worked_examples.worked_example import Worked as Worked
from .worked_examples.worked_example import worked as worked
