"""The page of the table states what stands, what is planned, and what that costs; ranks are those of the runs."""

import pytest

from generator import citable_table
from posenc.cli.compare import CompareVerb
from posenc.lab.comparison import planned_runs
from posenc.lab.comparison.ranks import mean_ranks
from posenc.lab.comparison.rate_sweep import RateSweep
from posenc.lab.comparison.setting import settings
from posenc.lab.result import LengthScore, Progress, Result
from posenc.lab.store import write_results_table
from posenc.lab.tasks.task_table import experiment

SWEEP = RateSweep((0.001, 0.004), pilots=1)
NAMES = ("NoPE(dim=64)", "RoPE(dim=16)", "ALiBi(heads=4)")
#: Accuracy at every length by task, then by encoding, with seed 0 and with seed 1.
SCORES = {
    "fixed-offset": ((0.1, 0.1), (0.9, 0.8), (0.5, 0.9)),
    "last": ((0.2, 0.2), (0.6, 0.7), (0.9, 0.9)),
}


def run_of(run, accuracy):
    scores = tuple(LengthScore(length, accuracy, 0.0, 1 - accuracy, chance=3.0) for length in run.test_lengths)
    return Result(run, (Progress(10, 3.0), Progress(run.steps, 1.0)), scores)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """All pilots, and the judged runs of one task."""
    monkeypatch.setattr(citable_table, "FOLDER", tmp_path)
    runs = [experiment(name, task, seed) for task in SCORES for seed in (0, 1) for name in NAMES]
    planned_runs.save(tmp_path, runs, SWEEP)
    planned_runs.save_costs(tmp_path, dict.fromkeys(runs, 60.0))
    pilots = {run.identity: run_of(run, 0.5) for run in SWEEP.pilot_runs(runs)}
    judged = [run for run in SWEEP.at_best_rates(runs, pilots) if run.task == "last"]
    done = [run_of(run, SCORES["last"][NAMES.index(run.encoding)][run.seed]) for run in judged]
    write_results_table(tmp_path, [*pilots.values(), *done])
    citable_table.found.cache_clear()
    yield tmp_path
    citable_table.found.cache_clear()


def test_the_page_says_what_stands_and_what_the_rest_costs(folder):
    page = citable_table.page()
    assert "**18 of 24 runs stand.**" in page
    assert f"SHA-256 `{planned_runs.plan_digest(folder)}`" in page
    assert "| fixed-offset | 6 of 6 | 0 of 6 | 150 | 6 minutes |" in page
    assert "| last | 6 of 6 | 6 of 6 | 1000 | 0 seconds |" in page
    assert "### last" in page
    assert "### fixed-offset" not in page
    assert "| ALiBi(heads=4) | 1.00 | the same for every seed |" in page
    assert set(citable_table.pictures()) == {"table_last.svg", "table_ranks.svg"}


def test_without_judged_runs_the_page_claims_nothing(folder):
    (folder / "results.parquet").unlink()
    assert "**0 of 24 runs stand.**" in citable_table.page()
    assert "makes no statement on any encoding" in citable_table.page()
    assert citable_table.pictures() == {}


def test_ranks_are_averaged_over_tasks_for_each_seed():
    results = [
        run_of(experiment(name, task, seed), scores[index][seed])
        for task, scores in SCORES.items()
        for index, name in enumerate(NAMES)
        for seed in (0, 1)
    ]
    found = mean_ranks(settings(results, dict.fromkeys(SCORES, "accuracy")))
    # By hand: ALiBi is second and first with seed 0, first and first with seed 1; RoPE first and second, second twice.
    assert {name: each.mean for name, each in found.items()} == {
        "ALiBi(heads=4)": 1.25,
        "RoPE(dim=16)": 1.75,
        "NoPE(dim=64)": 3.0,
    }
    assert list(found) == ["ALiBi(heads=4)", "RoPE(dim=16)", "NoPE(dim=64)"]
    # Student's t with one degree of freedom, 12.706, times the standard error of 1.5 and 1.
    assert found["ALiBi(heads=4)"].high - 1.25 == pytest.approx(12.706 * 0.25, abs=1e-3)
    one_seed = [each for each in results if each.experiment.seed == 0]
    assert mean_ranks(settings(one_seed, dict.fromkeys(SCORES, "accuracy"))) == {}


def test_the_page_says_where_the_grid_of_rates_ends_too_early(folder):
    """Equal pilots choose the first rate, the lowest, for all three."""
    assert "Of 3 encodings, the lowest rate of the grid is the best for 3" in " ".join(citable_table.page().split())


def test_the_second_plan_is_what_its_command_plans():
    stored = planned_runs.read_plan(citable_table.FOLDER)
    planned = citable_table.second_plan(stored)
    verb = CompareVerb(tier="table", rate=planned.sweep.rates)
    ours, theirs = (
        [run for run in runs if run.task != "character-lm"]  # its text is that of this Python
        for runs in (planned.experiments, verb._plan())
    )
    assert ours == theirs
    assert verb._sweep() == planned.sweep
    assert len(planned.experiments) == len(stored.experiments)
