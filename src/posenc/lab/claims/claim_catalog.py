"""Every claim by name, in the order in which the page shows them."""

from __future__ import annotations

import difflib

from posenc.lab.claims import (
    claims_on_cost,
    claims_on_models,
    claims_on_order,
    claims_on_rotation,
    claims_on_sinusoids,
    claims_on_training,
)
from posenc.lab.claims.claim import Claim

_THEMES = (
    claims_on_order,
    claims_on_sinusoids,
    claims_on_rotation,
    claims_on_cost,
    claims_on_models,
    claims_on_training,
)
CLAIMS = {name: value for theme in _THEMES for name, value in vars(theme).items() if isinstance(value, Claim)}
NAMES = tuple(CLAIMS)
#: Decided by mathematics, and by training.
COMPUTED = tuple(name for name, claim in CLAIMS.items() if not claim.trained)
TRAINED = tuple(name for name, claim in CLAIMS.items() if claim.trained)


def claim(name: str) -> Claim:
    """The claim of a name.

    Raises:
        ValueError: No claim has this name; the message suggests a near one.

    Example:
        >>> claim("shift_is_linear").sources
        ('lecture', 'article', 'lesson', 'chapter')
    """
    if name not in CLAIMS:
        near = difflib.get_close_matches(name, NAMES, n=1)
        advice = f"Did you mean {near[0]}?" if near else "`posenc claims` lists them."
        raise ValueError(f"claim must be the name of one; got {name!r:.80}. {advice}")
    return CLAIMS[name]
