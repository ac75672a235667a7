"""One model on two processes that torchrun starts: the numbers of one process, and nothing finished lost."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from posenc.lab.store import NAME, read

COMPARE = ["-m", "posenc", "compare", "RoPE(dim=8)", "T5Bias(heads=2, bidirectional=False)", "--engine", "accelerate"]
COMPARE += ["--device", "cpu", "--batch", "5", "--width", "16", "--heads", "2", "--layers", "1", "--length", "8"]
COMPARE += ["--task", "copy", "--test-lengths", "8", "16"]
TWO = ["-m", "torch.distributed.run", "--nproc-per-node", "2"]


def started(folder, words):
    return subprocess.Popen(
        [sys.executable, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def finished(folder, words):
    process = started(folder, words)
    output, _ = process.communicate(timeout=600)
    return process.returncode, output


@pytest.mark.nightly
def test_two_processes_give_what_one_gives(tmp_path):
    """Odd rows of a batch and even ones hold different numbers of predicted tokens; lengths vary."""
    small = ["--steps", "30", "--seeds", "2"]
    code, output = finished(tmp_path, [*TWO, *COMPARE, *small, "--out", "two"])
    assert code == 0, output
    assert output.count("4 of 4 runs finished") == 1, output
    code, output = finished(tmp_path, [*COMPARE, *small, "--out", "one"])
    assert code == 0, output
    one, two = read(tmp_path / "one").results, read(tmp_path / "two").results
    assert one.keys() == two.keys()
    for name, alone in one.items():
        shared = two[name]
        assert dict(shared.versions)["processes"] == "2"
        assert shared.parameters == alone.parameters
        # 30 steps of Adam, each of which may round every sum of 5 rows anew
        rounding = 30 * 5 * 2**-24
        for point, other in zip(alone.curve, shared.curve, strict=True):
            assert other.loss == pytest.approx(point.loss, rel=rounding)
        for score, other in zip(alone.scores, shared.scores, strict=True):
            assert other.loss == pytest.approx(score.loss, rel=rounding)


@pytest.mark.nightly
def test_what_one_process_refuses_is_one_line_and_more_processes_than_rows_too(tmp_path):
    code, output = finished(tmp_path, [*TWO, *COMPARE, "--steps", "2", "--batch", "1", "--seeds", "1", "--out", "out"])
    assert code != 0
    assert "batch must have a sequence for each of the 2 processes; got 1." in output


@pytest.mark.nightly
def test_killing_one_process_ends_all_and_loses_no_finished_run(tmp_path):
    words = [*TWO, *COMPARE, "--steps", "400", "--seeds", "3", "--out", "out"]
    process = started(tmp_path, words)
    results = tmp_path / "out" / NAME
    while not results.exists() or results.read_bytes().count(b"\n") < 1:
        assert process.poll() is None, process.stdout.read()
        time.sleep(0.05)
    os.kill(follower_of(process.pid), signal.SIGKILL)
    output, _ = process.communicate(timeout=120)
    assert process.returncode != 0, output
    kept = read(tmp_path / "out").results
    assert 1 <= len(kept) < 6
    code, output = finished(tmp_path, words)
    assert code == 0, output
    assert f"{len(kept)} of 6 runs are finished already." in output
    after = read(tmp_path / "out").results
    assert len(after) == 6
    assert all(after[name] == result for name, result in kept.items())


def follower_of(pid):
    """The process of torchrun that is number 1."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    (found,) = [int(child) for child in children if b"\0RANK=1\0" in Path(f"/proc/{child}/environ").read_bytes()]
    return found
