"""Losses of the lesson's rotary model with its frequencies scaled, for the section on NTK and YaRN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from posenc.core.text_lines import short
from posenc.explorer.lesson.rounded import rounded
from posenc.explorer.lesson.verdicts import change
from posenc.lab.tour_plan import ScaledLosses, TourModel


def scaled_curves(models: Sequence[TourModel]) -> dict[str, Any] | None:
    """Curves of each way and factor, the unchanged encoding first; None where no rotary model has been measured."""
    model = next((each for each in models if each.scaled), None)
    if model is None:
        return None
    plain, lengths = model.scaled[0], model.experiment.test_lengths
    return {
        "length": lengths[0],
        "contexts": list(plain.contexts),
        "windows": len(plain.losses),
        "block": lengths[0] // 4,
        "curves": [_curve(one, plain) for one in model.scaled],
    }


def _curve(one: ScaledLosses, plain: ScaledLosses) -> dict[str, Any]:
    """Losses of a way, its wavelengths, and the change from the unchanged encoding at each context, with its error."""
    changes = [change(*pair) for pair in zip(one.losses.T, plain.losses.T, strict=True)]
    wavelengths = 2 * np.pi / one.encoding.frequencies.radians()
    return {
        "way": one.way,
        "factor": one.factor,
        "encoding": short(one.encoding),
        "losses": rounded(one.losses.mean(0)),
        "wavelengths": [float(f"{length:.6g}") for length in wavelengths.tolist()],
        "changes": [str(each) for each in changes],
        "signs": [(1 if each.mean > 0 else -1) if each.is_significant else 0 for each in changes],
    }
