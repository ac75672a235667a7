"""Jobs in worker processes: the same numbers, and nothing left behind."""

import os
import signal
import time

import numpy as np
import pytest

from posenc import Learned, NoPE, RoPE
from posenc.lab.data import Corpus
from posenc.lab.engines import local
from posenc.lab.engines.events import Event, Failure, Finished, Job
from posenc.lab.result import Progress
from posenc.lab.tour_plan import Candidate, TrainingOutcome, TrainingRecipe
from posenc.lab.tour_plan import run_candidates as run_candidates
from posenc.lab.tour_training import train_and_measure

SMALL = TrainingRecipe(steps=20, length=16, batch=4, warmup=5, windows=4, bins=4, sample=3, width=16, heads=2, layers=1)
TOKENS = np.random.default_rng(0).integers(0, 20, 1000)
CORPUS = Corpus(TOKENS[:800], TOKENS[800:], 20)
THREE = [Candidate("none", NoPE(dim=16)), Candidate("rotary", RoPE(dim=8)), Candidate("again", RoPE(dim=8))]
ENDLESS = Job("endless", "itertools:count", ())


@pytest.mark.nightly
def test_workers_give_the_numbers_of_this_process():
    events = list(run_candidates(THREE, CORPUS, SMALL, workers=2))
    outcomes = {event.job: event.report for event in events if isinstance(event.report, TrainingOutcome)}
    assert outcomes.keys() == {0, 1, 2}
    for index, candidate in enumerate(THREE):
        *_, here = train_and_measure(candidate, CORPUS, SMALL)
        assert outcomes[index].curve == here.curve
        assert outcomes[index].sample == here.sample
        assert np.array_equal(outcomes[index].losses, here.losses)
        steps = [event.report.step for event in events if event.job == index and isinstance(event.report, Progress)]
        assert steps == [10, 20]


@pytest.fixture
def spied(monkeypatch):
    crew = []
    start = local.Worker.__init__
    monkeypatch.setattr(local.Worker, "__init__", lambda self, *given: (start(self, *given), crew.append(self))[0])
    return crew


def test_closing_ends_the_processes_at_once(spied):
    events = local.run([ENDLESS, ENDLESS], workers=2)
    next(events)
    assert [worker._process.poll() for worker in spied] == [None, None]
    began = time.monotonic()
    events.close()
    assert time.monotonic() - began < 5
    assert None not in [worker._process.poll() for worker in spied]


def test_a_job_that_fails_or_is_killed_costs_only_itself(spied):
    jobs = [Job("fails", "operator:truediv", (1, 0)), ENDLESS, Job("last", "builtins:range", (2,))]
    events, seen = local.run(jobs, workers=1), []
    for event in events:
        if event.job == 1 and event.report == 0:
            os.kill(spied[0]._process.pid, signal.SIGKILL)
        if event.job != 1 or isinstance(event.report, Failure):
            seen.append(event)
    assert seen == [
        Event(0, Failure("ZeroDivisionError: division by zero")),
        Event(1, Failure("the worker process ended with exit code -9")),
        Event(2, 0),
        Event(2, 1),
    ]


def test_workers_see_one_gpu_each():
    jobs = [Job("gpus", "lab.pretend_trial:visible_gpus", ())] * 2
    events = list(local.run(jobs, gpus=["3", "5"]))
    assert {event.report for event in events if not isinstance(event.report, Finished)} == {"3", "5"}


@pytest.mark.nightly
def test_a_broken_trial_says_why():
    broken = [Candidate("learned", Learned(dim=16, length=4))]
    with pytest.raises(RuntimeError, match="training learned failed: ValueError: positions must be from 0 to 3"):
        list(run_candidates(broken, CORPUS, SMALL, workers=1))


@pytest.mark.nightly
def test_a_worker_whose_parent_is_gone_ends(spied):
    events = local.run([ENDLESS], workers=1)
    next(events)
    process = spied[0]._process
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, process.stdout.fileno())  # the reading end of the pipe is gone, as it is when a parent dies
    os.close(null)
    assert process.wait(timeout=20) == 1
    events.close()
