"""The same rule for every claim that a score falls with distance: generally, not at every step."""

from __future__ import annotations

import numpy as np

#: The longest distance that is compared, and the share of pairs of distances from which on a score generally falls.
LONGEST, GENERALLY = 256, 0.75
FALLS = (
    f"Of all pairs of distances from 1 to {LONGEST}: supported if the nearer one has the higher score in more than "
    f"{GENERALLY:g} of them."
)
STRICT = (
    "Two claims on scores that fall with distance had rules of different strictness; both have had this one since, set "
    "before its figures were computed."
)


def nearer_is_higher(scores: np.ndarray) -> tuple[float, int]:
    """How a score falls with distance.

    Args:
        scores: At the distances 0, 1, 2, ….

    Returns:
        The share of pairs of distances from 1 on whose nearer one has the higher score, and the steps that rise.

    Example:
        >>> nearer_is_higher(np.array([9.0, 3.0, 1.0, 2.0]))[1]
        1
    """
    rest = np.asarray(scores)[1:]
    near, far = np.triu_indices(len(rest), 1)
    return float((rest[near] > rest[far]).mean()), int((np.diff(rest) > 0).sum())
