"""Every public name, listed once: `__init__.py` loads each from here when it is first asked for."""

from .named_check import Check as Check
from .named_check import CheckFailed as CheckFailed
from .named_check import Outcome as Outcome
from .named_check import Report as Report
from .suite import ALL_CHECKS as ALL_CHECKS
from .suite import check_encoding as check_encoding
from .suite import checks_for as checks_for
