"""Forms in which logits are dumped: raw, less a constant per row, as probabilities, or with a mask in them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posenc.diagnosis.named_arrays import Arrays
from posenc.diagnosis.rotation.comparison import ROUNDING
from posenc.inspect.rounding import NARROW_TYPES

#: Arrays that hold logits, in one form or another.
LOGIT_NAMES = ("logits", "probabilities")
#: No logit is so low; and the number that older code writes where a key is masked.
LOWEST_LOGIT, OLD_MASK = -1e8, -1e4
#: Smallest probabilities that each type holds with all its digits.
SMALLEST = {"float64": 1e-300, "float32": 1e-36, "bfloat16": 1e-36, "float16": 2.0**-14}
#: How far the maximum of a row, or the sum of its probabilities, may be off where it was brought to 0, or to 1.
NORMALISED = {"float64": 1e-6, "float32": 1e-4, "float16": 0.02, "bfloat16": 0.1}


class ShownLogits(NamedTuple):
    """Logits, and how much of them a dump shows.

    Args:
        values: Logits, (..., n, m); 0 where they are not visible.
        visible: Mask of the numbers that show a logit.
        up_to_rows: Whether every row may differ from the logits by a number of its own, which no softmax sees.
        rounding: How far rounding of a probability may move its logarithm, besides what rounding does to logits.
        dtype: Name of the type that they came in.
        masks: Whether what is not visible is masked, and not merely too small to be seen.
        form: What they are, in words.
    """

    values: np.ndarray
    visible: np.ndarray
    up_to_rows: bool
    rounding: np.ndarray | float
    dtype: str
    masks: bool
    form: str


def shown_logits(arrays: Arrays) -> ShownLogits:
    """Read logits off `logits` or `probabilities`.

    Raises:
        ValueError: `probabilities` holds a number below 0, or rows whose sum is above 1.

    Example:
        >>> from posenc.diagnosis.named_arrays import named_arrays
        >>> shown = shown_logits(named_arrays({"probabilities": [[1.0, 0.0], [0.25, 0.75]]}))
        >>> shown.values.round(3).tolist(), shown.visible.tolist()
        ([[0.0, 0.0], [-1.386, -0.288]], [[True, False], [True, True]])
    """
    return _of_probabilities(arrays) if "probabilities" in arrays else _of_logits(arrays)


def is_masked(logits: np.ndarray) -> np.ndarray:
    """Mask of the numbers that stand for no logit, however the mask was written."""
    return np.asarray(np.isneginf(logits) | (logits <= LOWEST_LOGIT) | (logits == OLD_MASK))


def _of_logits(arrays: Arrays) -> ShownLogits:
    logits, dtype = arrays["logits"]
    masked = is_masked(logits)
    values = np.where(masked, 0.0, logits)
    form = _normalised(values, ~masked, dtype)
    return ShownLogits(values, ~masked, bool(form), 0.0, dtype, bool(masked.any()), form or "logits")


def _normalised(values: np.ndarray, visible: np.ndarray, dtype: str) -> str:
    """Form of logits that were brought to a maximum of 0 or a sum of 1; "" for plain ones."""
    rows = visible.sum(-1) > 1
    if not rows.any():
        return ""
    most = np.where(visible, values, -np.inf).max(-1)[rows]
    if not np.all(most <= NORMALISED[dtype]):
        return ""
    if np.all(most >= -NORMALISED[dtype]):
        return "logits less the maximum of their row"
    sums = np.where(visible, np.exp(np.minimum(values, 1.0)), 0.0).sum(-1)[rows]
    return "log-softmax" if np.all(np.abs(sums - 1.0) <= NORMALISED[dtype]) else ""


def _of_probabilities(arrays: Arrays) -> ShownLogits:
    values, dtype = arrays["probabilities"]
    finite = np.where(np.isfinite(values), values, 0.0)
    if finite.min() < 0.0 or finite.sum(-1).max() > 1.0 + NORMALISED[dtype]:
        raise ValueError(
            "probabilities must be what the softmax gives: from 0 on, with rows whose sum is at most 1; got numbers "
            f"from {finite.min():.6g} and a row of sum {finite.sum(-1).max():.6g}. Give logits under that name."
        )
    # A row of one number is that of a query whose keys are all masked, padding, say.
    even = np.ptp(finite, axis=-1, keepdims=True) == 0.0
    visible = ~(values < SMALLEST[dtype]) & ~(even & (values.shape[-1] > 1))
    logarithms = np.log(np.where(visible, values, 1.0))
    relative = ROUNDING[dtype] if dtype in NARROW_TYPES else 4 * ROUNDING[dtype]
    masks = bool((values == 0.0).any()) and dtype != "float16"
    return ShownLogits(logarithms, visible, True, relative, dtype, masks, "attention probabilities")
