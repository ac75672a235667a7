"""`posenc compare`: train small models that differ in their encoding alone, and say which encoding does better."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_args

import tyro

from posenc.cli import report, run_engine
from posenc.cli.answer import Answer
from posenc.cli.progress_bar import run_with_progress
from posenc.cli.terminal import say
from posenc.lab.comparison import comparison_plan, comparison_report, planned_runs
from posenc.lab.experiment import Experiment, Model, Sampler
from posenc.lab.models.model_folder import ModelFolder, read_folder
from posenc.lab.running import run_missing
from posenc.lab.store import Store
from posenc.lab.tasks.corpus import text_options
from posenc.lab.tasks.language import CharacterLM
from posenc.lab.tasks.task_table import TASKS

#: Tasks that read text.
TEXT_TASKS = tuple(row.name for row in TASKS if issubclass(row.kind, CharacterLM))
#: The exit code where runs failed.
FAILED = 1
Numbers = Annotated[tuple[int, ...], tyro.conf.arg(metavar="INT")]


@dataclass(frozen=True)
class CompareVerb(run_engine.EngineVerb):
    """Compare encodings by training.

    Models that differ in nothing else learn tasks that ask for positions, or your own text, from the same data in the
    same order, paired by seed. Prints tables and verdicts with their confidence, writes a
    picture. A stopped comparison goes on where it was: run the same command again.

    Write encodings as RoPE(dim=16), several joined by a plus sign, or FILE.py:NAME for your own; a set of the tier if
    left out.
    Tiers: smoke (half a minute, no verdicts), core (5 seeds; a quarter of an hour on two cores), full (8 seeds, every
    task), big (models of 100 million parameters).

    Some examples:
      posenc compare --tier smoke
      posenc compare "RoPE(dim=16)" "ALiBi(heads=4)" mine.py:Mine --task copy --seeds 5
      posenc compare "RoPE(dim=16)" "NoPE(dim=64) + ALiBi(heads=4)" --task cued-offset last --out relative
      posenc compare --text my-book.txt --length 64 --test-lengths 64 128 256
      posenc compare "RoPE(dim=64, pairing='halves')" own --model my-llama --fine-tune --text my-book.txt
      posenc compare --tier full --engine ray
      torchrun --nproc-per-node 8 -m posenc compare "RoPE(dim=64)" "ALiBi(heads=12)" --tier big --engine accelerate
    """

    encodings: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="ENCODING")] = ()
    """Encodings such as RoPE(dim=16); widths must fit the model, by default 64 channels in 4 heads of 16."""

    task: Annotated[tuple[str, ...], tyro.conf.arg(metavar="TASK")] = ()
    """Tasks; those of the tier if left out. An unknown name lists them all."""

    tier: comparison_plan.TierName = "core"
    """How much to spend."""

    seeds: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """How many seeds: 5 for a verdict, 8 where two encodings lie close."""

    out: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("comparison")
    """Where results are kept."""

    text: Annotated[str | None, tyro.conf.arg(metavar="FILE")] = None
    """Your own text, or a data set as datasets:NAME: which encoding suits it, at which context?"""

    steps: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Training steps; those of the task if left out."""

    batch: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Sequences in a step."""

    length: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Length that is trained on, in units of the task."""

    test_lengths: Numbers = ()
    """Lengths that are measured, in rising order; with --length alone, once, twice and four times as much."""

    rate: Annotated[float | None, tyro.conf.arg(metavar="FLOAT")] = None
    """Peak learning rate."""

    encoding_rate: Annotated[tuple[float, ...], tyro.conf.arg(metavar="FLOAT")] = (comparison_plan.ENCODING_RATE,)
    """Multiples of it for the parameters of encodings; several are compared."""

    width: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Channels of the model."""

    layers: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Layers of the model."""

    heads: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Heads of the model."""

    model: Annotated[str | None, tyro.conf.arg(metavar="KIND|FOLDER")] = None
    """decoder, encoder or encoder-decoder, the usual one of the task if left out; or a folder with a model of
    transformers, whose own positions are called own, and into which each other encoding is swapped."""

    fine_tune: bool = False
    """Begin with the weights of the folder that --model names; otherwise with random ones, for each seed anew."""

    positions: Sampler | None = None
    """How positions are given in training: 0, 1, 2, … (range), from a random start, drawn at random, or coupled."""

    engine: run_engine.Name | run_engine.Together = "local"
    """Where to train: processes of this machine, Ray (joins RAY_ADDRESS or starts a local one), Slurm, or one run at a
    time on all processes of torchrun (accelerate)."""

    device: Annotated[str | None, tyro.conf.arg(metavar="DEVICE")] = None
    """cpu, cuda, cuda:1 or mps; the CPU if left out, and with --engine accelerate the GPU of each process, if any."""

    def run(self) -> Answer:
        if self.seeds is not None and self.seeds < 1:
            raise ValueError(f"seeds must be 1 or more; got {self.seeds}. Use 5 for a verdict.")
        together = self.engine == "accelerate"
        device = self.device or ("" if together else "cpu")
        if together:
            run_engine.follow_unless_first(device)
        runs = self._plan(device)
        engine = self.engine_in(self.out, self.engine, device)
        with Store(self.out) as store:
            if store.note:
                say(store.note)
            planned_runs.save(self.out, runs)
            waiting = [each for each in runs if each.identity not in store.results]
            if len(waiting) < len(runs):
                say(f"{len(runs) - len(waiting)} of {len(runs)} runs are finished already.")
            events = run_missing(runs, store, engine, run_engine.TOGETHER if together else "", device)
            failed = run_with_progress(events, len(waiting))
            path = planned_runs.save_failures(self.out, failed)
            told = f"{len(failed)} of {len(waiting)} runs failed. {path} says why, one line for each"
            if not any(each.identity in store.results for each in runs):
                raise ValueError(f"{told}; the first: {failed[0] if failed else 'none was reported'}")
        answer = report.report_answer(self.out, comparison_report.report(self.out, {each.identity for each in runs}))
        if not failed:
            return answer
        say(f"posenc compare: {told}. The same command runs them again.")
        return answer._replace(code=FAILED)

    def _plan(self, device: str) -> tuple[Experiment, ...]:
        folder, of_folder = self._folder()
        usual = TEXT_TASKS[:1] if folder is None else ("masked-lm",) if folder.kind == "encoder" else ("bpe-lm",)
        tasks = self.task or (usual if self.text is not None or folder is not None else ())
        unread = [task for task in tasks if task not in TEXT_TASKS]
        if self.text is not None and unread:
            raise ValueError(
                f"task must be one that reads text, {', '.join(TEXT_TASKS)}, with --text; got {', '.join(unread)}. "
                "Leave one of them out."
            )
        runs = comparison_plan.plan_comparison(
            self.encodings,
            tasks,
            self.tier,
            seeds=self.seeds,
            encoding_rates=self.encoding_rate,
            changes={**self._changes(), **of_folder},
            tokenizer=folder.path if folder is not None and folder.has_tokenizer else "",
        )
        comparison_plan.check(runs, device if self.engine == "local" else "cpu")
        return runs

    def _folder(self) -> tuple[ModelFolder | None, dict[str, Any]]:
        """Folder that --model names, and the fields of an experiment that it decides."""
        if self.model is None or self.model in get_args(Model):
            if self.fine_tune:
                raise ValueError("fine-tune must come with --model FOLDER, whose weights it keeps; there is none.")
            return None, {}
        folder, fields = read_folder(self.model, fine_tune=self.fine_tune)
        stated = [name for name in ("width", "layers", "heads") if getattr(self, name) is not None]
        if stated:
            raise ValueError(
                f"{stated[0]} must be left out with --model FOLDER, whose config.json states it; got "
                f"{getattr(self, stated[0])}. Change config.json for a model from scratch."
            )
        return folder, {name: value for name, value in fields.items() if name != "rate" or self.rate is None}

    def _changes(self) -> dict[str, Any]:
        """Fields of an experiment that the options state."""
        names = ("steps", "batch", "length", "width", "layers", "heads", "model", "positions", "rate")
        changes = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        lengths = self.test_lengths or (() if self.length is None else (self.length, 2 * self.length, 4 * self.length))
        if lengths:
            changes["test_lengths"] = lengths
        if self.text is not None:
            changes["options"] = text_options(self.text)
        return changes
