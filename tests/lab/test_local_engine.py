"""Jobs in worker processes: nothing is left behind."""

import os
import signal

import pytest

from posenc.lab.engines import local
from posenc.lab.engines.events import Event, Failure, Finished, Job

ENDLESS = Job("endless", "itertools:count", ())


@pytest.fixture
def spied(monkeypatch):
    crew = []
    start = local.Worker.__init__
    monkeypatch.setattr(local.Worker, "__init__", lambda self, *given: (start(self, *given), crew.append(self))[0])
    return crew


def test_closing_ends_the_processes(spied):
    events = local.run([ENDLESS, ENDLESS], workers=2)
    next(events)
    assert [worker._process.poll() for worker in spied] == [None, None]
    events.close()
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
def test_a_worker_whose_parent_is_gone_ends(spied):
    events = local.run([ENDLESS], workers=1)
    next(events)
    process = spied[0]._process
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, process.stdout.fileno())  # the reading end of the pipe is gone, as it is when a parent dies
    os.close(null)
    assert process.wait(timeout=20) == 1
    events.close()
