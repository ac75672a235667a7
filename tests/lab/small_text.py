"""A text with a rule, and small experiments on it."""

from pathlib import Path

from posenc.lab.experiment import Experiment
from posenc.lab.tasks.corpus import text_options
from posenc.lab.tasks.task_table import experiment

#: Each letter follows from the one two before it.
RULED = "".join(chr(97 + (7 * (i // 2) + 3 * (i % 2)) % 20) for i in range(5000))
SMALL = {"steps": 60, "length": 16, "test_lengths": (16,), "batch": 8, "rate": 5e-3, "warmup": 5, "encoding_rate": 1.0}
MODEL = {"width": 16, "heads": 2, "layers": 1}


def ruled_text(folder: Path) -> Path:
    path = folder / "ruled.txt"
    path.write_text(RULED, encoding="utf-8")
    return path


def on_text(encoding, path, task="character-lm", **changes) -> Experiment:
    """An experiment of a small model on a text."""
    return experiment(repr(encoding), task, **{**SMALL, **MODEL, "options": text_options(str(path)), **changes})
