"""A run that was stopped in the middle goes on, and gives the numbers of one that was not, bit for bit."""

import dataclasses
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from lab.pretend_trial import EXPERIMENTS, result_of
from posenc.lab import train as training
from posenc.lab.engines.events import Event
from posenc.lab.result import Progress
from posenc.lab.running import CHECKPOINTS, run_missing
from posenc.lab.store import Store
from posenc.lab.tasks.task_table import experiment
from posenc.lab.train import RunCheckpoint
from posenc.lab.trial import run

#: Dropout, drawn positions, lengths that vary, parameters of the encoding with a rate of their own.
RUN = experiment(
    "T5Bias(heads=2, bidirectional=False)",
    "copy",
    steps=40,
    batch=4,
    width=16,
    heads=2,
    layers=1,
    length=6,
    test_lengths=(6, 9),
    warmup=5,
    dropout=0.1,
    encoding_rate=10.0,
    positions="randomised",
)


@pytest.fixture(autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def whole():
    *_, result = run(RUN)
    return result


def stopped(path, step, seconds=0.0):
    """Run up to a report, and no further."""
    for report in run(RUN, checkpoint=RunCheckpoint(path, RUN, seconds=seconds)):
        if isinstance(report, Progress) and report.step == step:
            return


def resumed(path):
    *progress, result = run(RUN, checkpoint=RunCheckpoint(path, RUN))
    return [report.step for report in progress], dataclasses.replace(result, seconds=0.0, memory=0)


@pytest.mark.parametrize("step", [10, 30])
def test_a_stopped_run_gives_the_same_result(tmp_path, whole, step):
    stopped(tmp_path / "one.pt", step)
    steps, result = resumed(tmp_path / "one.pt")
    assert steps == list(range(step + 10, 41, 10))
    assert result == dataclasses.replace(whole, seconds=0.0, memory=0)


def test_the_generator_and_the_optimizer_are_part_of_it(tmp_path, whole):
    stopped(tmp_path / "one.pt", 20)
    kept = torch.load(tmp_path / "one.pt", weights_only=True)
    for name in ("generator", "optimizer"):
        torch.save({**kept, name: changed(kept[name])}, tmp_path / "other.pt")
        assert resumed(tmp_path / "other.pt")[1].curve != whole.curve, name


def changed(kept):
    if isinstance(kept, torch.Tensor):
        return torch.Generator().manual_seed(5).get_state()
    return {**kept, "state": {number: {**one, "exp_avg": -one["exp_avg"]} for number, one in kept["state"].items()}}


def test_nothing_is_saved_before_its_time(tmp_path):
    stopped(tmp_path / "one.pt", 30, seconds=60.0)
    assert not (tmp_path / "one.pt").exists()


def test_numbers_of_other_versions_and_runs_are_not_continued(tmp_path, monkeypatch):
    stopped(tmp_path / "one.pt", 20)
    monkeypatch.setattr(training, "package_versions", lambda: (("torch", "1.0"),))
    assert resumed(tmp_path / "one.pt")[0] == [10, 20, 30, 40]
    other = dataclasses.replace(RUN, seed=1)
    monkeypatch.undo()
    *progress, _ = run(other, checkpoint=RunCheckpoint(tmp_path / "one.pt", other))
    assert progress[0].step == 10


def test_a_run_of_another_device_begins_anew(tmp_path, monkeypatch):
    """With or without a GPU here: its checkpoint is not damaged, and a result names one device."""
    monkeypatch.setattr(torch.serialization, "location_tag", lambda storage: "cuda:0")  # as a GPU's tensors are saved
    monkeypatch.setattr(training, "described", lambda device: "a GPU" if device == "cuda" else device)
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    RunCheckpoint(tmp_path / "one.pt", RUN, "cuda", seconds=0.0).reached(Progress(10, 1.0), model, optimizer)
    assert RunCheckpoint(tmp_path / "one.pt", RUN).resume(model, optimizer) == 0
    assert RunCheckpoint(tmp_path / "one.pt", RUN, "mps").resume(model, optimizer) == 0
    assert RunCheckpoint(tmp_path / "one.pt", RUN, "cuda").resume(model, optimizer) == 10


@pytest.mark.parametrize("damage", [b"", b"PK nothing", None])
def test_a_damaged_file_is_named(tmp_path, damage):
    stopped(tmp_path / "one.pt", 10)
    data = (tmp_path / "one.pt").read_bytes()
    (tmp_path / "one.pt").write_bytes(data[: len(data) // 2] if damage is None else damage)
    with pytest.raises(ValueError, match=r"one\.pt must be the checkpoint of a run; it is damaged: .* Delete it"):
        resumed(tmp_path / "one.pt")


def test_a_finished_run_keeps_no_checkpoint(tmp_path):
    def engine(jobs):
        for index, job in enumerate(jobs):
            path = Path(job.arguments[2])
            path.parent.mkdir(exist_ok=True)
            path.touch()
            yield Event(index, result_of(EXPERIMENTS[index]))

    with Store(tmp_path) as store:
        list(run_missing(EXPERIMENTS[:2], store, engine, checkpoints=True))
    assert not (tmp_path / CHECKPOINTS).exists()


@pytest.mark.nightly
def test_kill_9_in_the_middle(tmp_path, whole):
    code = (
        "import torch; torch.set_num_threads(1)\nfrom lab.test_run_checkpoint import *\n"
        f"for report in run(RUN, checkpoint=RunCheckpoint(Path({str(tmp_path / 'one.pt')!r}), RUN, seconds=0.0)):\n"
        "    time.sleep(0.5)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, "-c", code], env=environment)
    until = time.monotonic() + 60
    while not (tmp_path / "one.pt").exists() and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    steps, result = resumed(tmp_path / "one.pt")
    assert len(steps) < 4
    assert result == dataclasses.replace(whole, seconds=0.0, memory=0)
