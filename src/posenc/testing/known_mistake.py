"""Numbers that differ from an encoding's, as the known mistake that explains them."""

from __future__ import annotations

import numpy as np

from posenc.core.doors import Encoding
from posenc.diagnosis.code.code_report import CodeReport
from posenc.diagnosis.code.judge_bias_values import judge_bias_values
from posenc.diagnosis.code.judge_values import judge_values
from posenc.diagnosis.code.observed_values import ObservedValues, ProbedBias
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.biases.t5 import T5Bias


def judged(wanted: Encoding, received: np.ndarray, positions: np.ndarray) -> CodeReport | None:
    """What the search of known mistakes says, at the doors that it knows."""
    if wanted.shapes or wanted.axes > 1:
        return None
    if isinstance(wanted, ALiBi | T5Bias):
        return judge_bias_values(ProbedBias(received, "float64"), against=wanted)
    if wanted.door not in ("adds", "rotates") or (wanted.door == "rotates" and len(received) != 1):
        return None
    values = received if wanted.door == "adds" else received[0]
    observed = ObservedValues("adds" if wanted.door == "adds" else "rotates", positions.astype(np.float64), values)
    try:
        return judge_values(observed, against=wanted)
    except (ValueError, TypeError):
        return None
