"""Numbers that show a mistake whatever was meant: not finite, all one number, or the same at every position."""

from __future__ import annotations

import numpy as np

from posenc.core.text_lines import number
from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.not_finite import not_finite


def degenerate(values: np.ndarray, *, masked: bool = False) -> Finding | None:
    """The finding that such numbers are, or None.

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
