"""Arrays of evidence that hold what is no number: nothing else can be seen through it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from posenc.diagnosis.mistake import Finding


def not_finite(arrays: Mapping[str, np.ndarray]) -> Finding | None:
    """The first array with NaN or an infinity in it, where it stands, and how many there are.

    None where all is finite.
    """
    for name, values in arrays.items():
        wrong = np.argwhere(~np.isfinite(values))
        if len(wrong):
            kind = "NaN (not a number)" if np.isnan(values[tuple(wrong[0])]) else "an infinity"
            where = ", ".join(map(str, wrong[0]))
            sentence = f"{name} holds {kind} first at [{where}], and {len(wrong)} of {values.size} are not finite."
            fix = (
                "Look at how it is made: memory that was never set, a root or power of a negative number, 16-bit sums."
            )
            return Finding("not finite", sentence, fix)
    return None
