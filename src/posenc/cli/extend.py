"""`posenc extend`: a rotary model at a longer context in every way, a small one that is trained here or your own."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from posenc.cli import run_engine
from posenc.cli.answer import Answer, Heading, attributes, columns
from posenc.cli.inputs import check_kind_of_model
from posenc.cli.progress_bar import run_with_progress
from posenc.lab.comparison.judge import SEEDS
from posenc.lab.engines.events import Job
from posenc.lab.extension_study.study import (
    TASKS,
    Extension,
    Study,
    plan_extension,
    read_extension,
    write_extension,
)
from posenc.lab.extension_study.study_summary import StudySummary, summaries
from posenc.lab.running import Engine, RunEvent, check_versions

WORK = "posenc.lab.extension_study.run_study:work"
#: Options of models that are trained here, and of one's own.
OF_TRAINED = ("encoding", "task", "seeds", "steps", "tuning")
OF_CHECKPOINT = ("windows", "needles", "device", "dtype", "batch")
LIMITS = (
    "Small models and short budgets: an order found here is a reason to test two or three ways on your own model, not "
    "the answer for it."
)


@dataclass(frozen=True)
class ExtendVerb(run_engine.EngineVerb):
    """Use rotary models at a longer context in every way that posenc knows.

    Trains small models, and measures them as they are and after a little training at that length: the loss of the same
    tokens with more and more to read, and whether a fact is found, by length and depth. With --model, takes your own
    decoder of transformers from its folder, and measures it without training: the loss of your text, and pass keys in
    it. Draws a picture. A stopped command goes on where it was: run it again.

    Some examples:
      posenc extend
      posenc extend --encoding "RoPE(dim=16, base=500000.0)" --length 512 --tuning 100 --out extension-512
      posenc extend --task character-lm --text my-book.txt
      posenc extend --model my-llama --text my-book.txt --length 131072 --device cuda --dtype bfloat16 --batch 1
    """

    encoding: str | None = None
    """The rotation that is trained, without a scaling; RoPE(dim=16) if left out."""

    task: tuple[Literal[TASKS], ...] = ()  # type: ignore[valid-type]
    """The task: the loss of a language model, or a fact found in a text; both if left out."""

    model: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """A decoder of transformers with its tokenizer, in place of models that are trained here."""

    trained: int | None = None
    """The length of training, in tokens; that of the task, or of the config of --model, if left out."""

    length: int | None = None
    """The length to reach; 256 if left out, and with --model four times the length of training."""

    seeds: int | None = None
    """How many models are trained for each task; 5 if left out."""

    steps: int | None = None
    """Training steps; those of the study if left out."""

    tuning: int | None = None
    """Training steps at the new length, for each way; 50 if left out."""

    text: Path | None = None
    """Your own text, for the language model, or for --model, which needs it."""

    windows: int | None = None
    """Windows that --model reads at each length; 8 if left out."""

    needles: int | None = None
    """Pass keys for --model at each length and depth; 4 if left out."""

    device: Annotated[str | None, tyro.conf.arg(metavar="DEVICE")] = None
    """Device of --model: cpu, cuda, cuda:1 or mps; the CPU if left out."""

    dtype: Annotated[str | None, tyro.conf.arg(metavar="TYPE")] = None
    """Number type of --model: float32, bfloat16 or float16; what the folder says if left out."""

    batch: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Windows that --model reads at once; 4 if left out."""

    out: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("extension")
    """Where results are kept."""

    engine: Literal["local", "ray", "slurm"] = "local"
    """Where to train: processes of this machine, Ray, or Slurm."""

    def run(self) -> Answer:
        if self.model is not None:
            self.check_trains("with --model")
        check_kind_of_model(self, OF_TRAINED, OF_CHECKPOINT)
        if self.model is not None:
            from posenc.cli.extend_model import answer_of_model

            options = attributes(self, *OF_CHECKPOINT, "trained", "length")
            return answer_of_model(self.model, str(self.text), self.out, options)
        from posenc.lab.extension_study.run_study import begun

        tasks, options = self.task or TASKS, attributes(self, "length", "trained", "steps", "text")
        seeds, tuning = 5 if self.seeds is None else self.seeds, 50 if self.tuning is None else self.tuning
        studies = plan_extension(self.encoding or "RoPE(dim=16)", tasks, seeds=seeds, tuning=tuning, **options)
        for study in studies[: len(tasks)]:  # the first seed of each task
            begun(study)
        engine = self.engine_in(self.out, self.engine)
        finished = {study: read_extension(self.out, study) for study in studies}
        missing = [study for study, found in finished.items() if found is None]
        if missing:
            check_versions([found for found in finished.values() if found is not None], str(self.out))
            run_with_progress(_run(missing, engine, self.out), len(missing))
        return extension_answer(self.out, studies)


def extension_answer(out: Path, studies: Sequence[Study]) -> Answer:
    """Answer with the finished studies of a folder."""
    read = [read_extension(out, study) for study in studies]
    finished = [each for each in read if each is not None]
    found, missing = summaries(finished), len(studies) - len(finished)
    pictures = [_draw(out, summary) for summary in found]
    return Answer(
        lambda: {"summaries": [_facts(each) for each in found], "missing": missing, "files": pictures},
        lambda: _lines(found, missing, pictures),
        int(bool(missing)),
    )


def _run(studies: Sequence[Study], engine: Engine, out: Path) -> Generator[RunEvent, None, None]:
    """Run the studies and yield their reports as events; a finished extension is written to `out` before its event."""
    jobs = [Job(f"{each.experiment.task}, seed {each.experiment.seed}", WORK, (each,)) for each in studies]
    with contextlib.closing(engine(jobs)) as events:
        for index, report in events:
            if isinstance(report, Extension):
                write_extension(out, report)
            yield RunEvent(studies[index].experiment, report)


def _draw(out: Path, summary: StudySummary) -> Path:
    from posenc.lab.extension_study.study_summary import extension_picture
    from posenc.plot.export import image

    path = out / f"{summary.study.experiment.task}.png"
    path.write_bytes(image(extension_picture(summary), "png", dpi=130).data)
    return path


def _lines(found: Sequence[StudySummary], missing: int, pictures: Sequence[Path]) -> Iterable[str]:
    for summary in found:
        yield Heading(summary.conditions())
        yield from columns(*summary.table())
        for steps in summary.tunings:
            yield summary.sentence(steps)
            yield summary.plan_checked(steps) if len(summary.extensions) >= SEEDS else ""
        yield ""
    if found:
        yield LIMITS
    if missing:
        yield f"{missing} runs are missing: run the same command again."
    if pictures:
        yield f"wrote {' and '.join(map(str, pictures))}"


def _facts(summary: StudySummary) -> dict[str, Any]:
    return {
        "conditions": summary.conditions(),
        "study": summary.study,
        "seeds": [each.study.experiment.seed for each in summary.extensions],
        "ways": [
            {"way": way, "steps": steps, "runs": summary.runs(way, steps)}
            for steps in summary.tunings
            for way in summary.ranked(steps)
        ],
        "verdicts": {str(steps): summary.verdicts(steps) for steps in summary.tunings if len(summary.extensions) > 1},
        "planned": summary.planned(),
    }
