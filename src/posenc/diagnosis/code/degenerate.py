"""Numbers that show a mistake whatever was meant: not finite, all one number, or the same at every position."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from posenc.diagnosis.mistake import Finding
from posenc.inspect._text import number


def degenerate(values: np.ndarray, *, masked: bool = False) -> Finding | None:
    """The finding that such numbers are, or None. values: positions on the first axis, or biases.

    masked: whether -inf is the mask of a key, and no mistake.
    """
    return next(_findings(values, masked), None)


def _findings(values: np.ndarray, masked: bool) -> Iterator[Finding]:
    bad = np.isnan(values) | (np.isposinf(values) if masked else np.isinf(values))
    if bad.any():
        first_bad = ", ".join(str(index) for index in np.argwhere(bad)[0])
        yield Finding(
            "not finite",
            f"{int(bad.sum()):,} of {values.size:,} numbers are NaN or infinite, the first at [{first_bad}].",
            "Look for a division by zero, a logarithm or square root of a negative number, or an overflow.",
        )
        return
    finite = values[np.isfinite(values)]
    if finite.size and np.ptp(finite) == 0:
        yield Finding(
            "all one number",
            f"Every number is {number(float(finite[0]))}: no position and no channel enters.",
            "Write the computed values into what is returned.",
        )
