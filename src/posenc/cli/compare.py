"""`posenc compare`: train small models that differ in their encoding alone, and say which encoding does better."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_args

import tyro

from posenc.cli import report, run_engine
from posenc.cli.answer import Answer, columns
from posenc.cli.progress_bar import run_with_progress
from posenc.cli.terminal import say
from posenc.core.text_lines import count
from posenc.lab.comparison import comparison_plan, comparison_report, planned_runs
from posenc.lab.comparison.cost import PlanCost, duration, plan_cost
from posenc.lab.comparison.rate_sweep import RateSweep
from posenc.lab.experiment import Experiment, Model, Sampler
from posenc.lab.models.model_folder import ModelFolder, read_folder
from posenc.lab.running import Engine, check_versions, run_stages
from posenc.lab.store import Store, read
from posenc.lab.tasks.corpus import text_options
from posenc.lab.tasks.language import CharacterLM, SubwordLM
from posenc.lab.tasks.task_table import TASKS, task_row

#: Tasks that read text.
TEXT_TASKS = tuple(row.name for row in TASKS if issubclass(row.kind, CharacterLM))
PIECE_TASKS = tuple(row.name for row in TASKS if issubclass(row.kind, SubwordLM))
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
    task), table (20 encodings at the best of three rates, 10 tasks), big (models of 100 million parameters).

    Some examples:
      posenc compare --tier smoke
      posenc compare "RoPE(dim=16)" "ALiBi(heads=4)" mine.py:Mine --task copy --seeds 5
      posenc compare "RoPE(dim=16)" "NoPE(dim=64) + ALiBi(heads=4)" --task cued-offset last --out relative
      posenc compare --text my-book.txt --length 64 --test-lengths 64 128 256
      posenc compare "RoPE(dim=64, pairing='halves')" own --model my-llama --fine-tune --text my-book.txt
      posenc compare --task copy --rate 0.0007 0.002 0.006 --pilot-seeds 2 --dry-run
      posenc compare --tier full --engine ray
      torchrun --nproc-per-node 8 -m posenc compare "RoPE(dim=64)" "ALiBi(heads=12)" --tier big --engine accelerate
    """

    encodings: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="ENCODING")] = ()
    """Encodings such as RoPE(dim=16); widths must fit the model, by default 64 channels in 4 heads of 16."""

    task: Annotated[tuple[str, ...], tyro.conf.arg(metavar="TASK")] = ()
    """Tasks, or FILE.py:NAME for your own; those of the tier if left out. An unknown name lists them all."""

    tier: comparison_plan.TierName = "core"
    """How much to spend."""

    seeds: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """How many seeds: 5 for a verdict, 8 where two encodings lie close."""

    first_seed: Annotated[int, tyro.conf.arg(metavar="INT")] = 0
    """The first seed; 5 adds seeds to a comparison that has those from 0 to 4."""

    dry_run: bool = False
    """Check the plan, estimate its processor time, write plan.json and costs.json, and train nothing."""

    out: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("comparison")
    """Where results are kept."""

    mix_versions: bool = False
    """Add to results of another version of posenc, PyTorch or NumPy; the report says so."""

    text: Annotated[str | None, tyro.conf.arg(metavar="FILE")] = None
    """Your own text, or a data set as datasets:NAME: which encoding suits it, at which context?"""

    tokenizer: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """A tokenizer of transformers for tasks of pieces; that of --model, or pieces learned from the text if left out."""

    steps: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Training steps; those of the task if left out."""

    batch: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Sequences in a step."""

    length: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Length that is trained on, in units of the task."""

    test_lengths: Numbers = ()
    """Lengths that are measured, in rising order; with --length alone, once, twice and four times as much."""

    rate: Annotated[tuple[float, ...], tyro.conf.arg(metavar="FLOAT")] = ()
    """Peak learning rate. Of several, each encoding gets the one with the lowest loss on the pilot seeds."""

    pilot_seeds: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Seeds that choose among several rates and are not judged; 2 if left out."""

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
        sweep, engine = self._sweep(), self.engine_in(self.out, self.engine, device)
        stored = read(self.out)  # before anything that takes time
        if not self.mix_versions:
            check_versions(stored.results.values(), str(self.out), may_mix=True)
        plan = self._plan()
        self._check_paths(plan)
        cost = plan_cost(plan, sweep, device if self.engine == "local" else "cpu")
        for line in cost.left_out:
            say(line)
        if not cost.runs:
            raise ValueError(f"encoding must run; every one has an error: {cost.left_out[0]}")
        with Store(self.out) as store:
            planned_runs.save(self.out, cost.runs, sweep)
            if self.dry_run:
                if cost.seconds is not None:
                    planned_runs.save_costs(self.out, cost.seconds)
                return plan_answer(self.out, cost)
            told = self._trained(cost, sweep, store, engine, device)
            judged = cost.runs if sweep is None else sweep.at_best_rates(cost.runs, store.results, all_tried=True)
            names = {each.identity for each in judged} & store.results.keys()
        if not names:
            raise ValueError(told)
        answer = report.report_answer(self.out, comparison_report.report(self.out, names))
        if not told:
            return answer
        say(f"posenc compare: {told}. The same command runs them again.")
        return answer._replace(code=FAILED)

    def _trained(self, cost: PlanCost, sweep: RateSweep | None, store: Store, engine: Engine, device: str) -> str:
        """Train what is missing; say what failed, or "" where nothing did."""
        judged = cost.runs if sweep is None else sweep.at_best_rates(cost.runs, store.results)
        kept = sum(each.identity in store.results for each in (*cost.pilots, *judged))
        runs = len(cost.runs) + len(cost.pilots)
        for line in (store.note, cost.sentence(), f"{kept} of {runs} runs are finished already." if kept else ""):
            if line:
                say(line)
        stages = comparison_plan.stages(cost.runs, self.tier, sweep, store.results)
        function = run_engine.TOGETHER if self.engine == "accelerate" else ""
        seen = self.engine in ("local", "slurm")  # a machine of Ray may have another disk
        events = run_stages(stages, store, engine, function, device, checkpoints=seen)
        failed = run_with_progress(events, runs, kept)
        return self._told(failed, cost.left_out, runs - kept)

    def _told(self, failed: Sequence[str], left_out: Sequence[str], runs: int) -> str:
        """Write down what failed or was left out; say how much, or "" where there is nothing."""
        path = planned_runs.save_failures(self.out, [*left_out, *failed])
        parts = [f"{len(failed)} of {runs} runs failed"] if failed else []
        parts += [f"{count(len(left_out), 'candidate')} with code of your own left out"] if left_out else []
        first = f"; the first: {failed[0]}" if failed and len(failed) == runs else ""
        return f"{' and '.join(parts)}. {path} says why, one line for each{first}" if parts else ""

    def _sweep(self) -> RateSweep | None:
        """How learning rates are chosen, or None where there is one."""
        rates = self.rate or comparison_plan.TIERS[self.tier].rates
        if len(rates) < 2:
            if self.pilot_seeds is not None:
                raise ValueError(f"pilot-seeds must come with several --rate; got {self.pilot_seeds}. Leave it out.")
            return None
        if self.engine == "accelerate":
            raise ValueError(
                f"rate must be one with --engine accelerate; got {len(rates)}. Choose it with another engine first."
            )
        return RateSweep(rates, 2 if self.pilot_seeds is None else self.pilot_seeds)

    def _plan(self) -> tuple[Experiment, ...]:
        folder, of_folder = self._folder()
        usual = TEXT_TASKS[:1] if folder is None else ("masked-lm",) if folder.kind == "encoder" else ("bpe-lm",)
        tasks = self.task or (usual if self.text is not None or folder is not None else ())
        unread = [task for task in tasks if not issubclass(task_row(task).kind, CharacterLM)]
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
            first_seed=self.first_seed,
            encoding_rates=self.encoding_rate,
            changes={**self._changes(), **of_folder},
            tokenizer=self._tokenizer(folder, tasks),
        )
        return runs

    def _check_paths(self, plan: Sequence[Experiment]) -> None:
        """Refuse relative paths where a run is done on a cluster, whose machines begin in folders of their own."""
        if self.engine != "ray" or not os.environ.get("RAY_ADDRESS"):
            return
        own = {name for run in plan for name in planned_runs.own_files(run)}
        given = [("FILE.py" if name.endswith(".py") else "model", name) for name in sorted(own)]
        text = self.text or ""
        given += [("text", text)] if text and not text.startswith("datasets:") else []
        given += [("tokenizer", str(self.tokenizer))] if self.tokenizer is not None else []
        for name, path in given:
            if not Path(path).is_absolute():
                raise ValueError(
                    f"{name} must be an absolute path on a Ray cluster, whose machines begin in other folders; got "
                    f"{path!r}. Write {Path(path).resolve()}, and put it there on every machine."
                )

    def _tokenizer(self, folder: ModelFolder | None, tasks: Sequence[str]) -> str:
        """Folder of the tokenizer, or "" where pieces are learned."""
        if self.tokenizer is None:
            return folder.path if folder is not None and folder.has_tokenizer else ""
        chosen = tasks or comparison_plan.TIERS[self.tier].tasks
        if not any(issubclass(task_row(task).kind, SubwordLM) for task in chosen):
            raise ValueError(
                f"tokenizer must come with a task of pieces, {', '.join(PIECE_TASKS)}; got {', '.join(chosen)}. Add "
                "--task bpe-lm."
            )
        return str(self.tokenizer)

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
        return folder, {name: value for name, value in fields.items() if name != "rate" or not self.rate}

    def _changes(self) -> dict[str, Any]:
        """Fields of an experiment that the options state."""
        names = ("steps", "batch", "length", "width", "layers", "heads", "model", "positions")
        changes = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        lengths = self.test_lengths or (() if self.length is None else (self.length, 2 * self.length, 4 * self.length))
        if lengths:
            changes["test_lengths"] = lengths
        if self.rate:
            changes["rate"] = min(self.rate)
        if self.text is not None:
            changes["options"] = text_options(self.text)
        return changes


def plan_answer(folder: Path, cost: PlanCost) -> Answer:
    """Answer with the runs of a plan by task, and their cost."""
    rows = []
    for task in dict.fromkeys(run.task for run in cost.runs):
        judged, pilots = ([run for run in runs if run.task == task] for runs in (cost.runs, cost.pilots))
        encodings, seconds = len({run.encoding for run in judged}), cost.total((*judged, *pilots))
        rows.append((task, str(encodings), str(len(judged)), str(len(pilots)), str(judged[0].steps), duration(seconds)))
    headers = ("task", "encodings", "runs", "pilots", "steps", "one core")
    written, name = folder / planned_runs.NAME, planned_runs.plan_digest(folder)
    done = f"Nothing was trained. Wrote {written}, digest {name}."
    return Answer(
        lambda: {
            "tasks": [dict(zip(headers, row, strict=True)) for row in rows],
            "runs": len(cost.runs),
            "pilots": len(cost.pilots),
            "seconds": cost.total((*cost.runs, *cost.pilots)),
            "digest": name,
            "file": written,
        },
        lambda: [
            *columns(headers, rows, (1, 2, 3, 4)),
            cost.sentence(),
            done,
        ],
    )
