"""Every kind of run of a plan tried before the first is trained."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from posenc.lab.experiment import Experiment


def check(experiments: Sequence[Experiment], device: str = "cpu") -> None:
    """ValueError for the first encoding that does not fit its task, model or lengths, or a device that is not there.
    Builds a model for each."""
    from posenc.lab.prepare import prepare

    for each in dict.fromkeys(dataclasses.replace(one, seed=0) for one in experiments):
        prepare(each, device)
