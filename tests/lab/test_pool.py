"""Runs in worker processes: the same numbers, and nothing left behind."""

import os
import signal
import time

import numpy as np
import pytest

from posenc import Learned, NoPE, RoPE
from posenc.lab import pool
from posenc.lab.data import Corpus
from posenc.lab.result import Progress
from posenc.lab.run_config import Contestant, Outcome, Recipe
from posenc.lab.trial import trial

SMALL = Recipe(steps=20, length=16, batch=4, warmup=5, windows=4, bins=4, sample=3, width=16, heads=2, layers=1)
TOKENS = np.random.default_rng(0).integers(0, 20, 1000)
CORPUS = Corpus(TOKENS[:800], TOKENS[800:], 20)
PAIR = [Contestant("none", NoPE(dim=16)), Contestant("rotary", RoPE(dim=8)), Contestant("again", RoPE(dim=8))]


def test_workers_give_the_numbers_of_this_process():
    events = list(pool.run(PAIR, CORPUS, SMALL, workers=2))
    outcomes = {event.runner: event.report for event in events if isinstance(event.report, Outcome)}
    assert outcomes.keys() == {0, 1, 2}
    for index, contestant in enumerate(PAIR):
        *_, here = trial(contestant, CORPUS, SMALL)
        assert outcomes[index].curve == here.curve
        assert outcomes[index].sample == here.sample
        assert np.array_equal(outcomes[index].losses, here.losses)
        steps = [event.report.step for event in events if event.runner == index and isinstance(event.report, Progress)]
        assert steps == [10, 20]


def alive(process):
    return process.poll() is None


@pytest.fixture
def spied(monkeypatch):
    crew = []
    start = pool.Worker.__init__
    monkeypatch.setattr(pool.Worker, "__init__", lambda self, inbox: (start(self, inbox), crew.append(self))[0])
    return crew


def test_closing_ends_the_processes_at_once(spied):
    endless = Recipe(**{**vars(SMALL), "steps": 1_000_000})
    events = pool.run(PAIR[:2], CORPUS, endless, workers=2)
    next(events)
    assert [alive(worker._process) for worker in spied] == [True, True]
    began = time.monotonic()
    events.close()
    assert time.monotonic() - began < 5
    assert [alive(worker._process) for worker in spied] == [False, False]


@pytest.mark.nightly
def test_a_broken_run_says_why():
    broken = [Contestant("learned", Learned(dim=16, length=4))]
    with pytest.raises(
        RuntimeError, match=r"a worker process ended while training learned: ValueError: positions must be from 0 to 3"
    ):
        list(pool.run(broken, CORPUS, SMALL, workers=1))


def test_a_killed_worker_is_noticed(spied):
    endless = Recipe(**{**vars(SMALL), "steps": 1_000_000})
    events = pool.run(PAIR[:1], CORPUS, endless, workers=1)
    next(events)
    os.kill(spied[0]._process.pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="a worker process ended while training none: exit code -9"):
        list(events)


@pytest.mark.nightly
def test_a_worker_whose_parent_is_gone_ends(spied):
    endless = Recipe(**{**vars(SMALL), "steps": 1_000_000})
    events = pool.run(PAIR[:1], CORPUS, endless, workers=1)
    next(events)
    process = spied[0]._process
    os.close(os.dup(process.stdout.fileno()))  # the descriptor is valid until here
    fd = process.stdout.fileno()
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, fd)  # the reading end of the pipe is gone, as it is when a parent dies
    os.close(null)
    assert process.wait(timeout=20) == 1
    events.close()
