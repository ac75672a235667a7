"""`posenc frequencies`: what each rotary pair of a trained model is worth to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from posenc.cli import run_engine
from posenc.cli.answer import Answer, Heading, columns
from posenc.cli.inputs import check_kind_of_model
from posenc.cli.progress_bar import count_with_progress, run_with_progress
from posenc.core.plain_file import write_whole
from posenc.lab.frequency_roles.roles import FrequencyRoles, Level
from posenc.lab.frequency_roles.roles_summary import RolesSummary
from posenc.lab.frequency_roles.run_roles import KEPT, kept_roles, missing_studies, plan_roles, run_studies
from posenc.lab.kept_measurements import KeptMeasurements
from posenc.lab.running import check_versions
from posenc.lab.tasks.corpus import text_of

#: Options of models that are trained here, and of one's own.
OF_LAB = ("encoding", "task", "steps", "seeds")
OF_CHECKPOINT = ("device", "dtype", "batch")


@dataclass(frozen=True)
class FrequenciesVerb(run_engine.EngineVerb):
    """Stop, average and remove each rotary pair of a trained model, and measure what that costs.

    A stopped pair rotates by zero everywhere: its position is gone, its content stays. An averaged pair is the same for
    all tokens before it rotates: its content is gone, its position stays. A removed pair adds nothing to any score.
    Prints what each costs in loss and accuracy, and the share of each pair in |q||k|; draws both by head and pair.

    Trains models of the lab, or takes your own decoder from a folder, with --text. A stopped command goes on where it
    was: run it again.

    Some examples:
      posenc frequencies --seeds 2
      posenc frequencies --encoding "RoPE(dim=16, base=100.0)" --by head --csv roles.csv
      posenc frequencies --model my-llama --text my-book.txt --by layer --device cuda --dtype bfloat16
    """

    encoding: str | None = None
    """The rotation that is trained; RoPE(dim=16) if left out."""

    task: Annotated[str | None, tyro.conf.arg(metavar="TASK")] = None
    """Task that the models learn; character-lm if left out."""

    steps: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Training steps; 600 if left out."""

    seeds: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """How many models are trained; 5 if left out."""

    model: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """A decoder of transformers with its tokenizer, in place of models that are trained here."""

    text: Annotated[str | None, tyro.conf.arg(metavar="FILE")] = None
    """Your own text, which --model needs."""

    by: Level = "model"
    """Where a pair is changed at once: a pair in all layers, in each layer, or in each head."""

    length: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Tokens of a window; those of the task if left out, 512 with --model."""

    windows: int = 128
    """How many windows are read."""

    device: Annotated[str | None, tyro.conf.arg(metavar="DEVICE")] = None
    """Device of --model: cpu, cuda, cuda:1 or mps; the CPU if left out."""

    dtype: Annotated[str | None, tyro.conf.arg(metavar="TYPE")] = None
    """Number type of --model: float32, bfloat16 or float16; what the folder says if left out."""

    batch: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Windows that --model reads at once; 4 if left out."""

    out: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("frequencies")
    """Where measurements and the picture are kept."""

    csv: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Write every measurement as CSV too."""

    engine: run_engine.Name = "local"
    """Where models are trained: processes of this machine, Ray, or Slurm."""

    def run(self) -> Answer:
        self._check()
        found, planned = self._of_lab() if self.model is None else (self._of_checkpoint(self.model), 1)
        if not found:
            raise ValueError("every run failed; the reasons stand above. The same command runs them again.")
        summary = RolesSummary(tuple(found))
        files = [_draw(self.out, summary)]
        if self.csv is not None:
            files.append(write_whole(self.csv, summary.csv_text().encode()))
        return Answer(
            lambda: _facts(summary, planned, files),
            lambda: _lines(summary, planned, files),
            int(len(found) < planned),
        )

    def _check(self) -> None:
        """Refuse options of the other kind of model, and files that could not be written at the end."""
        if self.model is not None:
            self.check_trains("with --model")
        check_kind_of_model(self, OF_LAB, OF_CHECKPOINT)
        if self.csv is not None and not self.csv.absolute().parent.is_dir():
            raise ValueError(f"csv must lie in a folder that exists; got {str(self.csv)!r}. Make the folder first.")

    def _of_lab(self) -> tuple[list[FrequencyRoles], int]:
        """Roles of models that are trained here, and how many were planned."""
        from posenc.lab.frequency_roles.lab_roles import begun_roles

        given = {name: getattr(self, name) for name in (*OF_LAB, "text", "length") if getattr(self, name) is not None}
        studies = plan_roles(by=self.by, windows=self.windows, **given)
        begun_roles(studies[0])
        engine = self.engine_in(self.out, self.engine)
        with KeptMeasurements(self.out / KEPT) as kept:
            if missing := missing_studies(studies, kept):
                check_versions(kept_roles(studies, kept).values(), str(self.out))
                run_with_progress(run_studies(missing, engine, kept), len(missing))
            return list(kept_roles(studies, kept).values()), len(studies)

    def _of_checkpoint(self, folder: Path) -> list[FrequencyRoles]:
        from posenc.lab.frequency_roles.checkpoint_roles import CheckpointPlan, roles_of_checkpoint
        from posenc.lab.models.checkpoint import load_checkpoint

        text = text_of(self.text or "")
        given = {name: getattr(self, name) for name in OF_CHECKPOINT if getattr(self, name) is not None}
        checkpoint = load_checkpoint(str(folder), **given)
        plan = CheckpointPlan(text, self.by, 512 if self.length is None else self.length, self.windows)
        with KeptMeasurements(self.out / KEPT) as kept:
            events = roles_of_checkpoint(checkpoint, plan, kept)
            return [count_with_progress(events, "changes")]


def _draw(out: Path, summary: RolesSummary) -> Path:
    from posenc.lab.frequency_roles.roles_summary import roles_picture
    from posenc.plot.export import image

    return write_whole(out / "frequencies.png", image(roles_picture(summary), "png", dpi=130).data)


def _lines(summary: RolesSummary, planned: int, files: Sequence[Path]) -> Iterable[str]:
    yield Heading(summary.conditions())
    for of, unit in (("loss", "Nats that a change adds to the loss"), ("accuracy", "Accuracy that a change costs")):
        yield ""
        yield f"{unit}:"
        yield from columns(*summary.table(of))
    if costliest := summary.costliest():
        yield ""
        yield "Costliest changes in one place:"
        yield from columns(("layer", "head", "pair", "change", "nats"), costliest, (0, 2, 4))
    yield ""
    yield summary.sentence()
    yield (
        "A change also puts the model off balance: a cost says that the model uses a pair so, not how little it would "
        "lose after training without it."
    )
    if len(summary.roles) < planned:
        yield f"{planned - len(summary.roles)} runs are missing: run the same command again."
    yield f"wrote {' and '.join(map(str, files))}"


def _facts(summary: RolesSummary, planned: int, files: Sequence[Path]) -> dict[str, Any]:
    first = summary.first
    return {
        "conditions": summary.conditions(),
        "missing": planned - len(summary.roles),
        "layers": [{"number": each.number, "heads": each.heads, "radians": each.radians} for each in first.layers],
        "changes": [
            {**change._asdict(), "loss": summary.loss(change), "accuracy_cost": summary.accuracy(change)}
            for change, _ in first.changes
        ],
        "roles": [each.to_fields() for each in summary.roles],
        "files": list(files),
    }
