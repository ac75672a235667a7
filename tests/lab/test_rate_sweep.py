"""Learning rates are chosen on pilot seeds alone, and the table is done block by block."""

import dataclasses

import pytest

from posenc.cli import compare, main
from posenc.lab import running
from posenc.lab.comparison import comparison_plan, comparison_report, planned_runs
from posenc.lab.comparison.rate_sweep import FIRST_PILOT, RateSweep
from posenc.lab.comparison.setting import settings
from posenc.lab.engines.events import Event, last_report
from posenc.lab.result import LengthScore, Progress, Result
from posenc.lab.store import Store
from posenc.lab.tasks.task_table import experiment
from posenc.lab.train import DivergedError

SWEEP = RateSweep((0.006, 0.001), pilots=2)
RUNS = tuple(experiment(name, "copy", seed) for seed in range(3) for name in ("RoPE(dim=16)", "NoPE(dim=64)"))


def result(run, loss):
    scores = tuple(LengthScore(length, 0.5, 0.5, loss, chance=9.0) for length in run.test_lengths)
    return Result(run, (Progress(run.steps, loss),), scores)


def pilots(losses):
    """Results of the pilots, with losses by encoding and rate; None for one without a result."""
    found = {run: losses[run.encoding[:4], run.rate] for run in SWEEP.pilot_runs(RUNS)}
    return {run.identity: result(run, loss) for run, loss in found.items() if loss is not None}


def test_each_gets_the_rate_with_the_lowest_loss_of_its_pilots():
    results = pilots({("RoPE", 0.001): 2.0, ("RoPE", 0.006): 1.0, ("NoPE", 0.001): 3.0, ("NoPE", 0.006): 3.5})
    chosen = SWEEP.at_best_rates(RUNS, results)
    assert {(run.encoding[:4], run.rate) for run in chosen} == {("RoPE", 0.006), ("NoPE", 0.001)}
    assert [dataclasses.replace(run, rate=RUNS[0].rate) for run in chosen] == list(RUNS)
    assert {run.seed for run in SWEEP.pilot_runs(RUNS)} == {FIRST_PILOT, FIRST_PILOT + 1}


def test_judged_seeds_choose_nothing():
    results = pilots({("RoPE", 0.001): 2.0, ("RoPE", 0.006): 1.0, ("NoPE", 0.001): 3.0, ("NoPE", 0.006): 3.5})
    judged = {run.identity: result(run, 0.0) for rate in SWEEP.rates for run in _at(rate)}
    assert SWEEP.at_best_rates(RUNS, results | judged) == SWEEP.at_best_rates(RUNS, results)
    assert SWEEP.at_best_rates(RUNS, judged) == ()


def _at(rate):
    return [dataclasses.replace(run, rate=rate) for run in RUNS]


def test_a_rate_that_diverges_is_not_taken_and_waits_until_all_were_tried():
    results = pilots({("RoPE", 0.001): 2.0, ("RoPE", 0.006): None, ("NoPE", 0.001): None, ("NoPE", 0.006): None})
    assert SWEEP.at_best_rates(RUNS, results) == ()
    tried = SWEEP.at_best_rates(RUNS, results, all_tried=True)
    assert {(run.encoding, run.rate) for run in tried} == {("RoPE(dim=16)", 0.001)}
    judged = result(tried[0], 1.0)  # is begun when every pilot was tried
    assert SWEEP.at_best_rates(RUNS, results | {tried[0].identity: judged}) == tried


@pytest.mark.parametrize(
    ("rates", "says"),
    [((0.1,), "two or more"), ((0.1, 0.1), "Leave out repeats"), ((0.1, 2.0), r"rates\[1\] must be"), (0.1, "tuple")],
)
def test_rates_that_are_none_are_refused(rates, says):
    with pytest.raises((ValueError, TypeError), match=says):
        RateSweep(rates)


def test_the_table_begins_with_its_first_block():
    runs = comparison_plan.plan_comparison((), (), "table", changes={})
    parts = comparison_plan.parts(runs, "table")
    assert sum(map(len, parts)) == len(runs) == 20 * 10 * 5
    assert [len(part) for part in parts[:6]] == [50] * 6
    names = {name.partition("(")[0] for name in {run.encoding for part in parts[:6] for run in part}}
    assert names == {"NoPE", "Sinusoidal", "Learned", "RoPE", "ALiBi", "T5Bias", "KerpleLog", "FIRE", "Partial", "Shaw"}
    assert {run.width * run.width * 24 for run in runs} == {98304}, "a tenth of a million parameters"


def pretend(run, device="cpu", checkpoint=""):
    """Learns best at 0.004."""
    yield result(run, 1.0 + abs(run.rate - 0.004) * 100 + run.seed % 7 / 100)


@pytest.fixture
def in_this_process(tmp_path, monkeypatch):
    def engine(jobs):
        yield from (Event(index, last_report(job)) for index, job in enumerate(jobs))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(compare.run_engine, "engine", lambda *given, **named: engine)
    monkeypatch.setattr(running, "TRAIN", "lab.test_rate_sweep:pretend")
    monkeypatch.setattr(comparison_report, "write_report", lambda folder, found: ())


def test_a_sweep_from_plan_to_report_and_on(in_this_process, capsys):
    words = ["compare", "RoPE(dim=16)", "ALiBi(heads=4)", "--task", "copy", "--steps", "60", "--out", "out"]
    words += ["--rate", "0.001", "0.004"]
    assert main([*words, "--seeds", "2", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "8 runs, 4 of them to choose learning rates" not in said
    assert "12 runs, 8 of them to choose learning rates: about" in said
    assert f"digest {planned_runs.plan_digest('out')}" in said
    assert main([*words, "--seeds", "2"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "the best of 0.001, 0.004 on the pilot seeds 1000000, 1000001" in told
    assert "seeds 0, 1" in told
    with Store("out") as store:
        judged = [run.experiment for run in store.results.values() if run.experiment.seed < FIRST_PILOT]
        assert {run.rate for run in judged} == {0.004}
        assert len(store.results) == 12
    assert main([*words, "--seeds", "2", "--first-seed", "2", "--pilot-seeds", "2"]) == 0
    assert "8 of 12 runs are finished already." in capsys.readouterr().err
    assert main(["report", "out"]) == 0
    assert "seeds 0, 1, 2, 3" in " ".join(capsys.readouterr().out.split())
    assert main([*words[:-3], "--seeds", "2"]) == 2
    assert (
        "rate must be as it was when 'out' was begun, the best of 0.001, 0.004; got one rate" in capsys.readouterr().err
    )


def diverging(run, device="cpu", checkpoint=""):
    """Diverges for one encoding at one rate."""
    if run.encoding == "ALiBi(heads=4)" and run.rate == 0.004:
        raise DivergedError("the training loss is nan")
    yield from pretend(run)


def test_a_report_has_who_diverged_at_one_rate(in_this_process, capsys, monkeypatch):
    """It was once left out by `report`, though its runs are done and `compare` judges them."""
    monkeypatch.setattr(running, "TRAIN", "lab.test_rate_sweep:diverging")
    words = ["compare", "RoPE(dim=16)", "ALiBi(heads=4)", "--task", "copy", "--steps", "60", "--out", "out"]
    assert main([*words, "--rate", "0.001", "0.004", "--seeds", "2"]) == 1
    compared = capsys.readouterr().out
    assert "ALiBi" in compared
    assert main(["report", "out"]) == 0
    assert capsys.readouterr().out.startswith(compared.rstrip()[:-200])
    assert comparison_report.report("out").missing == 2


def test_results_of_other_versions_are_refused_or_named(in_this_process, capsys, monkeypatch):
    words = ["compare", "RoPE(dim=16)", "ALiBi(heads=4)", "--task", "copy", "--steps", "60", "--out", "out"]
    with Store("out") as store:
        old = experiment("RoPE(dim=16)", "copy", 7, steps=60)
        store.add(dataclasses.replace(result(old, 1.0), versions=(("torch", "1.13.0"),)))
    assert main([*words, "--seeds", "1"]) == 2
    said = capsys.readouterr().err
    assert "out must hold results of one set of versions; 'out' has torch 1.13.0, and here is torch 2" in said
    assert main([*words, "--seeds", "1", "--mix-versions"]) == 0
    assert main(["report", "out"]) == 0
    assert "; runs of several versions: torch 1.13.0, none" in " ".join(capsys.readouterr().out.split())


def test_a_length_at_the_floor_is_not_judged():
    def scored(run, exact):
        scores = tuple(LengthScore(n, 0.5, share, 1.0) for n, share in zip(run.test_lengths, exact, strict=True))
        return Result(run, (Progress(1, 1.0),), scores)

    runs = [experiment("RoPE(dim=16)", "copy", seed) for seed in range(2)]
    (setting,) = settings([scored(run, (0.9, 0.3, 0.004, 0.0)) for run in runs], {"copy": "exact"})
    assert setting.at_floor == (40, 80)
    assert [str(measure) for measure in setting.measures[:2]] == ["exact match at 20", "exact match at 30"]
    (setting,) = settings([scored(run, (0.9, 0.3, 0.02, 0.2)) for run in runs], {"copy": "exact"})
    assert setting.at_floor == ()
    assert str(setting.measures[1]) == "exact match at 80"
    (setting,) = settings([scored(run, (0.0, 0.0, 0.0, 0.0)) for run in runs], {"copy": "exact"})
    assert [str(measure) for measure in setting.measures[:1]] == ["exact match at 20"]
