"""Encodings and tasks of the user's own: an error is one line that names the file, and costs their runs alone."""

import pytest

from posenc.cli import main
from posenc.lab.comparison.cost import plan_cost
from posenc.lab.encodings import own_python_files
from posenc.lab.experiment import Experiment
from posenc.lab.own_code import OwnCodeError
from posenc.lab.prepare import prepare
from posenc.lab.trial import run

MINE = '''
from dataclasses import dataclass
import numpy as np
from posenc import ALiBi, RoPE
from posenc.lab.tasks.task import Batch, Task, TaskRow

class Fine(ALiBi):
    pass

class Raises(ALiBi):
    def bias(self, *given, **named):
        return 1 / 0

class Narrow(ALiBi):
    def bias(self, *given, **named):
        return super().bias(*given, **named)[..., :1, :1, :1].repeat(1, 3, 1)

@dataclass(frozen=True)
class Shift(Task):
    """Say the token before."""

    step: int = 1

    @property
    def vocabulary(self):
        return 10

    def batch(self, rng, size, length):
        tokens = rng.integers(0, 10, (size, length))
        return Batch(tokens, np.roll(tokens, self.step, 1))

class Wide(Shift):
    def batch(self, rng, size, length):
        tokens = rng.integers(0, 12, (size, length))
        return Batch(tokens, tokens)

class Fails(Shift):
    def batch(self, rng, size, length):
        raise KeyError("nothing here")

class Half(Task):
    pass

row = TaskRow("row", Shift, "What came before?", "mine", ("encoder",), length=8, test_lengths=(8, 16), steps=3)
'''
SMALL = {"steps": 2, "batch": 4, "length": 8, "test_lengths": (8,), "width": 16, "heads": 2, "layers": 1}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path


def test_a_task_of_ones_own_is_learned_and_reported(here, capsys):
    words = ["compare", "RoPE(dim=16)", "--task", "mine.py:row", "--seeds", "1", "--dry-run", "--json"]
    assert main(words) == 0
    assert '"runs": 1' in capsys.readouterr().out
    *_, result = run(Experiment("RoPE(dim=8)", "mine.py:Shift", options=(("step", 2),), **SMALL))
    assert result.at(8).loss > 0
    with pytest.raises(ValueError, match=r"model must be encoder for the task mine.py:row"):
        prepare(Experiment("RoPE(dim=8)", "mine.py:row", **SMALL))


@pytest.mark.parametrize(
    ("encoding", "task", "says"),
    [
        ("mine.py:Raises", "copy", r"^mine.py, line 12: ZeroDivisionError: division by zero$"),
        ("mine.py:Narrow", "copy", r"^mine.py"),
        ("RoPE(dim=8)", "mine.py:Fails", r"^mine.py, line 39: KeyError: 'nothing here'$"),
        ("RoPE(dim=8)", "mine.py:Wide", r"task must give integer tokens .* from 0 to 9; mine.py:Wide gives tokens"),
        ("RoPE(dim=8)", "mine.py:Half", r"task must define vocabulary and batch; mine.py:Half does not"),
        ("RoPE(dim=8)", "mine.py:Fine", r"task must be a subclass of posenc.lab.tasks.task.Task or a TaskRow; .* Fine"),
    ],
)  # fmt: skip
def test_errors_name_the_users_file(here, encoding, task, says):
    with pytest.raises(ValueError, match=says):
        prepare(Experiment(encoding, task, **SMALL))


@pytest.mark.parametrize("file", ["Downloads (1)/mine.py", "(2).py", "mine.py"])
def test_a_file_is_seen_whatever_its_folder_is_called(here, file):
    """A bracket once hid it: its changes went unnoticed, and an error in it ended the whole comparison."""
    (here / file).parent.mkdir(exist_ok=True)
    (here / file).write_text(MINE.replace("return 1 / 0", "return 1 / 0  # elsewhere"))
    assert own_python_files(Experiment(f"RoPE(dim=8) + {file}:Raises", f"{file}:Shift")) == (file,)
    assert own_python_files(Experiment(file, "copy")) == (file,), "a file with one encoding needs no name"
    with pytest.raises(OwnCodeError, match=r"\.py, line 12: ZeroDivisionError"):
        prepare(Experiment(f"{file}:Raises", "copy", **SMALL))


def test_a_candidate_that_raises_costs_its_runs_alone(here):
    runs = [Experiment(name, "copy", **SMALL) for name in ("RoPE(dim=8)", "mine.py:Raises", "mine.py:Fine")]
    cost = plan_cost(runs)
    assert cost.runs == (runs[0], runs[2])
    assert cost.left_out == (
        "mine.py:Raises on copy is left out: mine.py, line 12: ZeroDivisionError: division by zero",
    )
    assert 0 < cost.total(cost.runs) < 60


def test_an_error_in_training_names_the_file_too(here):
    (here / "mine.py").write_text(MINE.replace("np.roll(tokens, self.step, 1)", "check(tokens)") + LATE)
    with pytest.raises(OwnCodeError, match=r"^mine.py, line \d+: RuntimeError: too late$"):
        list(run(Experiment("RoPE(dim=8)", "mine.py:Shift", **SMALL)))


LATE = """
calls = []

def check(tokens):
    calls.append(1)
    if len(calls) > 3:
        raise RuntimeError("too late")
    return tokens
"""


def test_a_tokenizer_needs_a_task_of_pieces(here, capsys):
    assert main(["compare", "--task", "copy", "--tokenizer", "folder"]) == 2
    assert "tokenizer must come with a task of pieces, bpe-lm, masked-lm; got copy." in capsys.readouterr().err
    assert main(["compare", "--task", "bpe-lm", "--tokenizer", "folder"]) == 2
    assert "tokenizer must be a folder with a tokenizer of transformers; got 'folder'" in capsys.readouterr().err
