"""The training curves and scores of a comparison as TensorBoard event files, written by tensorboardX."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from posenc.lab.comparison.measures import metric_value
from posenc.lab.comparison.setting import Setting
from posenc.lab.engines.needed import needed


def write_events(folder: str | os.PathLike[str], settings: Sequence[Setting]) -> Path:
    """`tensorboard/` in the folder, written anew: a run for each task, contestant and seed."""
    writer = needed("tensorboardX", "track").SummaryWriter
    target = Path(folder) / "tensorboard"
    shutil.rmtree(target, ignore_errors=True)
    for setting in settings:
        for name, runs in setting.results.items():
            for seed, run in runs.items():
                words = (setting.common.task, setting.common.identity[:4], name, f"seed {seed}")
                with writer(str(target / "-".join(re.sub(r"[^\w=.]+", "_", word) for word in words))) as events:
                    for point in run.curve:
                        events.add_scalar("loss/training", point.loss, point.step)
                    for score in run.scores:
                        events.add_scalar(
                            f"by_length/{setting.metric}", metric_value(score, setting.metric), score.length
                        )
    return target
