"""Numbers that show a mistake whatever was meant: NaN, infinities, or one number everywhere."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from posenc.core.text_lines import number
from posenc.diagnosis.mistake import Finding

#: Name of the finding on NaN and infinities.
NOT_FINITE = "not finite"
_LOOK = "Look at how it is made: memory that was never set, a root or power of a negative number, 16-bit sums."


def not_finite(arrays: Mapping[str, np.ndarray]) -> Finding | None:
    """Finding on the first array with NaN or an infinity in it; None where all is finite."""
    for name, values in arrays.items():
        wrong = np.argwhere(~np.isfinite(values))
        if len(wrong):
            kind = "NaN (not a number)" if np.isnan(values[tuple(wrong[0])]) else "an infinity"
            where = ", ".join(map(str, wrong[0]))
            sentence = f"{name} holds {kind} first at [{where}], and {len(wrong)} of {values.size} are not finite."
            return Finding(NOT_FINITE, sentence, _LOOK)
    return None


def degenerate(values: np.ndarray, *, masked: bool = False) -> Finding | None:
    """Finding on numbers that are not finite, or all one number; None for others.

    Args:
        values: Positions on the first axis, or biases.
        masked: Whether -inf is the mask of a key, and no mistake.
    """
    wrong = not_finite({"The result": np.where(np.isneginf(values), 0.0, values) if masked else values})
    finite = values[np.isfinite(values)]
    if wrong is not None or not finite.size or np.ptp(finite) != 0:
        return wrong
    return Finding(
        "all one number",
        f"Every number is {number(float(finite[0]))}: no position and no channel enters.",
        "Write the computed values into what is returned.",
    )
