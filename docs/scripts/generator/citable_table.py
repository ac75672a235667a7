"""docs/table.md: the table of encodings, from its plan, its costs and the runs that stand."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from generator.text import WIDE, escaped, table
from posenc.core.text_lines import count
from posenc.lab.comparison import planned_runs
from posenc.lab.comparison.comparison_picture import comparison_picture
from posenc.lab.comparison.comparison_plan import FIRST_BLOCK
from posenc.lab.comparison.comparison_report import ComparisonReport, report, score_table
from posenc.lab.comparison.cost import duration
from posenc.lab.comparison.judge import learned_nothing
from posenc.lab.comparison.planned_runs import ComparisonPlan
from posenc.lab.comparison.ranks import mean_ranks, rank_picture
from posenc.lab.comparison.setting import Setting
from posenc.lab.experiment import Experiment
from posenc.lab.result import Result
from posenc.lab.statistics import Interval
from posenc.lab.store import read_results_table
from posenc.plot.export import image

FOLDER = Path(__file__).parents[2] / "table_runs"
START = """# The table of encodings

Which encoding does what, measured alike: RUNS of ENCODINGS encodings on TASKS tasks with SEEDS seeds, in a model of
0.1 million parameters (2 layers, 64 channels, 4 heads), each encoding at the best of the learning rates RATES, chosen
on PILOTS that are not judged. The plan was written and committed before the first run: `docs/table_runs/plan.json`,
SHA-256 `DIGEST`….

**STANDING of PLANNED runs stand.** Every one, pilots among them, is in `docs/table_runs/results.parquet` of the
repository, with its training curve, scores, losses by position and versions. In a clone, this command goes on from
there, on any machine, in any number of sittings; `--engine ray` or `slurm` share it among many:

```sh
posenc compare --tier table --out docs/table_runs
posenc report docs/table_runs                     # all tables, verdicts and pictures of what stands
```
"""
NOTHING = """## What stands

No task has judged runs of two encodings yet; up to here pilots alone were run, which choose learning rates. So this
page makes no statement on any encoding."""
RANKS = """## Ranks

Mean rank over the tasks above of which every seed stands, at the longest test length that is not at the floor. For
each seed the encodings are ranked in every task, and the ranks are averaged; the interval is Student's over the
seeds. Ranks that are the same for every seed have no spread, and so no interval: they are not certain. A rank says
nothing of how far apart two encodings are: the tables do."""
ORDER = """## What is planned, and its cost

The first block, ENCODINGS encodings on TASKS tasks, is done before the rest, task by task. Processor time is that of
one core of the machine that made the plan, from two timed steps of each encoding on each task."""
#: A rate above those of the plan, of a second plan.
HIGHER_RATE = 0.018
SECOND = """## A second plan, with a fourth rate

Where the best rate is the highest of the grid, a higher one may be better, and may change an order. The plan above
stays as it is: a grid that is widened where its results ask for it is another plan. This is that plan, with the rate
HIGHER for every encoding and task. It was written after runs of fixed-offset had been seen, and **nothing of it has
been run**. Its further pilots take PILOTS of one core, and judging anew those encodings for which HIGHER is best
takes at most JUDGED. SHA-256 of its plan: `DIGEST`…. Runs that both plans have are taken from the first:

```sh
mkdir docs/table_runs_four_rates
cp docs/table_runs/results.parquet docs/table_runs_four_rates
posenc compare --tier table --rate RATES --out docs/table_runs_four_rates
```
"""


@cache
def found() -> tuple[ComparisonPlan, dict[str, Result], ComparisonReport | None]:
    """The plan, the runs that stand, and their report if any are judged."""
    plan, results = planned_runs.read_plan(FOLDER), read_results_table(FOLDER)
    judged = {each.identity for each in plan.judged(results)} & results.keys()
    return plan, results, report(FOLDER) if judged else None


def standing() -> list[Setting]:
    """Settings with judged runs of at least two encodings, without seeds that some encoding lacks."""
    _, _, judged = found()
    settings = []
    for each in judged.judged if judged is not None else ():
        one = each.setting
        of_all = set.intersection(*(set(runs) for runs in one.results.values()))
        whole = {name: {seed: runs[seed] for seed in sorted(of_all)} for name, runs in one.results.items()}
        if len(whole) > 1 and of_all:
            settings.append(Setting(one.common, one.metric, whole, one.sweep))
    return settings


def _whole(settings: list[Setting]) -> list[Setting]:
    """Those of which every planned seed stands."""
    planned = {run.seed for run in found()[0].experiments}
    return [each for each in settings if set(each.seeds) == planned]


def pictures() -> dict[str, str]:
    """Pictures of the page by their names among the images."""
    settings = standing()
    drawn = {f"table_{each.common.task}.svg": comparison_picture([each]) for each in settings}
    if ranked := mean_ranks(whole := _whole(settings)):
        drawn["table_ranks.svg"] = rank_picture(ranked, len(whole))
    return {name: image(figure, "svg").data.decode() for name, figure in drawn.items()}


def page() -> str:
    """The whole page."""
    plan, results, _ = found()
    settings = standing()
    parts = [WIDE + _start(plan, results), *([NOTHING] if not settings else ["## What stands"])]
    for setting in settings:
        parts += _task(setting)
    if ranked := mean_ranks(_whole(settings)):
        parts += [RANKS, "![Mean ranks of the encodings with their intervals](images/table_ranks.svg)"]
        rows = ((escaped(name), f"{each.mean:.2f}", _interval_of_ranks(each)) for name, each in ranked.items())
        parts.append(table(["encoding", "mean rank", "95 % interval"], rows))
    parts += [_numbers(ORDER, ENCODINGS=FIRST_BLOCK[0], TASKS=FIRST_BLOCK[1]), _planned(plan, results), _second(plan)]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _interval_of_ranks(rank: Interval) -> str:
    return f"{rank.low:.2f} to {rank.high:.2f}" if rank.low < rank.high else "the same for every seed"


def _start(plan: ComparisonPlan, results: dict[str, Result]) -> str:
    runs, sweep = plan.experiments, plan.sweep
    return _numbers(
        START,
        ENCODINGS=len({run.encoding for run in runs if run.task == runs[0].task}),
        TASKS=len({run.task for run in runs}),
        SEEDS=len({run.seed for run in runs}),
        RATES=", ".join(f"{rate:g}" for rate in sweep.rates) if sweep else "one rate",
        PILOTS=count(sweep.pilots if sweep else 0, "pilot seed"),
        DIGEST=planned_runs.plan_digest(FOLDER),
        STANDING=f"{plan.runs - plan.missing(results):,}",
        PLANNED=f"{plan.runs:,}",
        RUNS=f"{len(runs):,} runs",
    )


def _numbers(text: str, **values: object) -> str:
    """A text with its numbers, each paragraph of prose in lines of the width of a page's source."""
    for name in sorted(values, key=len, reverse=True):
        text = text.replace(name, str(values[name]))
    return "\n\n".join(part if part.startswith("```") else _wrapped(part) for part in text.split("\n\n"))


def _wrapped(paragraph: str) -> str:
    return textwrap.fill(paragraph, 120, break_long_words=False, break_on_hyphens=False)


def _task(setting: Setting) -> Iterator[str]:
    headers, rows, _ = score_table(setting)
    yield f"### {setting.common.task}"
    yield _wrapped(setting.conditions() + ".")
    if not _whole([setting]):
        yield "The other seeds are still to be run, so nothing is decided here."
    yield f"![Scores by test length and training loss on {setting.common.task}](images/table_{setting.common.task}.svg)"
    yield table(list(headers), (tuple(map(escaped, row)) for row in rows))
    yield _wrapped(_at_the_edge(setting))
    if nothing := learned_nothing(setting):
        told = "; ".join(f"{escaped(name)}, {reason}" for name, reason in nothing.items())
        yield _wrapped(f"Learned nothing: {told}.")


def _at_the_edge(setting: Setting) -> str:
    """How many encodings have an end of the grid as their best rate, which leaves open whether another is better."""
    rates = setting.sweep.rates if setting.sweep else ()
    best = [next(iter(runs.values())).experiment.rate for runs in setting.results.values()]
    ends = {word: best.count(rate) for word, rate in (("highest", max(rates)), ("lowest", min(rates)))}
    told = " and ".join(f"the {word} rate of the grid is the best for {many}" for word, many in ends.items() if many)
    if not told:
        return f"None of the {len(best)} encodings has its best rate at an end of the grid."
    return f"Of {len(best)} encodings, {told}: a rate outside it may be better for them. A second plan, below, asks."


def second_plan(plan: ComparisonPlan) -> ComparisonPlan:
    """The same plan with a higher rate in its grid, as `posenc compare` makes it."""
    assert plan.sweep is not None
    sweep = replace(plan.sweep, rates=(*plan.sweep.rates, HIGHER_RATE))
    return ComparisonPlan(tuple(replace(run, rate=sweep.rates[0]) for run in plan.experiments), plan.files, sweep)


def _second(plan: ComparisonPlan) -> str:
    """What the second plan is, and what it costs beyond the first."""
    second, costs = second_plan(plan), _costs()
    assert second.sweep is not None
    pilots = [run for run in second.sweep.pilot_runs(second.experiments) if run.rate == HIGHER_RATE]
    with TemporaryDirectory() as folder:
        planned_runs.save(folder, second.experiments, second.sweep)
        name = planned_runs.plan_digest(folder)
    return _numbers(
        SECOND,
        HIGHER=f"{HIGHER_RATE:g}",
        PILOTS=duration(_seconds(pilots, costs)),
        JUDGED=duration(_seconds(second.experiments, costs)),
        DIGEST=name,
        RATES=" ".join(f"{rate:g}" for rate in second.sweep.rates),
    )


def _costs() -> dict[str, dict[str, float]]:
    costs: dict[str, dict[str, float]] = json.loads((FOLDER / planned_runs.COSTS).read_text(encoding="utf-8"))
    return costs


def _planned(plan: ComparisonPlan, results: dict[str, Result]) -> str:
    """A row for each task: runs that stand and are planned, and the processor time that is left."""
    costs, rows, total = _costs(), [], 0.0
    for task in dict.fromkeys(run.task for run in plan.experiments):
        own = [run for run in plan.experiments if run.task == task]
        pilots = plan.sweep.pilot_runs(own) if plan.sweep else ()
        judged = [run for run in plan.judged(results) if run.task == task]
        cells, left = [], 0.0
        for planned, known in ((pilots, pilots), (own, judged)):
            done = [run for run in known if run.identity in results]
            left += _seconds(planned, costs) - _seconds(done, costs)
            cells.append(f"{len(done)} of {len(planned)}")
        total += left
        rows.append((task, *cells, str(own[0].steps), duration(left)))
    rows.append(("all", "", "", "", duration(total)))
    return table(["task", "pilots", "judged runs", "steps", "left, of one core"], rows)


def _seconds(runs: Sequence[Experiment], costs: dict[str, dict[str, float]]) -> float:
    return sum(costs[run.task][run.encoding] for run in runs)
