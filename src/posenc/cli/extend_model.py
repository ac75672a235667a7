"""`posenc extend --model`: a user's own model at a longer context, without training."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from posenc.cli.answer import Answer, Heading, columns
from posenc.cli.progress_bar import count_with_progress
from posenc.core.plain_file import write_whole
from posenc.lab.kept_measurements import KeptMeasurements
from posenc.lab.tasks.corpus import text_of

#: Names of the files in the folder of the command.
KEPT, PICTURE = "model.jsonl", "model.png"


def answer_of_model(folder: Path, text: str, out: Path, options: Mapping[str, Any]) -> Answer:
    """Measure a model, and answer with what came out.

    Args:
        folder: Of the model.
        text: File that it reads.
        out: Where measurements and the picture are kept.
        options: `device`, `dtype`, `batch`, `windows`, `needles`, `trained` and `length`; None for the usual value.

    Returns:
        The answer.

    Raises:
        ValueError: An option, the model or the text does not fit; the message names it.
    """
    from posenc.lab.extension_study.checkpoint_extension import CheckpointStudy, extend_checkpoint
    from posenc.lab.extension_study.checkpoint_summary import CheckpointSummary
    from posenc.lab.models.checkpoint import load_checkpoint
    from posenc.plot.export import image

    given = {name: value for name, value in options.items() if value is not None}
    read, load = text_of(text), {name: given[name] for name in ("device", "dtype", "batch") if name in given}
    checkpoint = load_checkpoint(str(folder), **load)
    stated = options.get("trained")
    trained = checkpoint.trained_length if stated is None else stated
    counts = {name: given[name] for name in ("windows", "needles") if name in given}
    study = CheckpointStudy(read, trained, given.get("length", 4 * trained), **counts)
    with KeptMeasurements(out / KEPT) as kept:
        summary = CheckpointSummary(count_with_progress(extend_checkpoint(checkpoint, study, kept), "measurements"))
    path = write_whole(out / PICTURE, image(summary.picture(), "png", dpi=130).data)
    return Answer(
        lambda: {**summary.facts(), "files": [path]},
        lambda: [
            Heading(summary.conditions()),
            *columns(*summary.table()),
            summary.sentence(),
            f"wrote {path}",
        ],
    )
