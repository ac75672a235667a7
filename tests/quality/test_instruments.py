"""The instruments of quality/ see what they are there to see."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import coverage_summary
import mutant_candidates

QUALITY = Path(__file__).parents[2] / "quality"


def test_a_branch_of_the_core_that_nothing_runs_is_named(tmp_path: Path):
    source = tmp_path / "src" / "posenc" / "core" / "rotation.py"
    source.parent.mkdir(parents=True)
    source.write_text("import sys\nif sys.argv[1:]:\n    side = 'left'\nelse:\n    side = 'right'\n")

    def measured(name: str, *words: str) -> Path:
        path = tmp_path / name
        own = {**os.environ, "COVERAGE_FILE": str(path)}
        run = [sys.executable, "-m", "coverage", "run", "--branch", str(source), *words]
        subprocess.run(run, env=own, cwd=tmp_path, check=True)
        return path

    right, left = measured("right"), measured("left", "word")
    half = coverage_summary.summary(tmp_path, "", {"test": [right], "nightly": [right]}, {})
    assert half["files"]["src/posenc/core/rotation.py"]["missing"] == ["3"]
    assert half["total"]["both"][:2] == [3, 1]
    named, overall = coverage_summary.unmet(half)
    assert named.startswith("src/posenc/core/rotation.py: ")
    assert overall.startswith("50.00 % of all branches")

    whole = coverage_summary.summary(
        tmp_path, "", {"test": [right], "nightly": [left]}, {"test": {"two": "passed"}, "nightly": {"one": "failed"}}
    )
    assert whole["total"]["both"] == [4, 2, 100.0]
    assert coverage_summary.unmet(whole) == ["one failed."]

    alone = coverage_summary.summary(tmp_path, "", {"test": [left]}, {"test": {"two": "passed"}})
    assert alone["measured"] == ["test"]
    assert alone["files"]["src/posenc/core/rotation.py"]["missing"] == ["5"]
    assert coverage_summary.unmet(alone)[1].startswith("50.00 % of all branches")
    assert "both" not in coverage_summary.table(alone)


def test_who_is_drawn_stays_drawn_when_a_file_moves_and_another_grows(tmp_path: Path):
    text = "def rotation(x):\n    return x * 2 + 1\n\n\ndef other(x):\n    return x < 3\n"
    (tmp_path / "a.py").write_text(text)
    before, every = mutant_candidates.sample(tmp_path, ["a.py"], 3, seed=1)
    (tmp_path / "b.py").write_text('"""New words."""\n\n' + text.replace("def other(x):", "def other(x):  # a comment"))
    after, _ = mutant_candidates.sample(tmp_path, ["b.py"], 3, seed=1)
    assert every > len(before)
    assert [mutant.key for mutant in after] == [mutant.key for mutant in before]
    assert {mutant.file for mutant in after} == {"b.py"}
    for mutant in before:
        assert mutant_candidates.mutated(tmp_path, mutant) != text


JUDGED = """
import sys
from pathlib import Path
from types import SimpleNamespace
from mutant_candidates import mutated, sample
from mutant_runs import Judge

tree = Path(sys.argv[1])
tests = ["test_it.py::test_always_fails", "test_it.py::test_sees_nothing", "test_it.py::test_sees"]
(mutant,), _ = sample(tree, ["src/doubled.py"], 1, seed=1)
for known in (tests[:1], tests[:2], tests):
    judge = Judge(tree, SimpleNamespace(of=lambda mutant: known, seconds=dict.fromkeys(tests, 0.1)))
    print(judge.of(mutant, mutated(tree, mutant)).outcome)
"""

TESTS = """
from doubled import double
def test_always_fails(): assert False
def test_sees_nothing(): double(3)
def test_sees(): assert double(3) == 6
"""


@pytest.mark.nightly
def test_a_mutant_is_killed_by_a_test_that_passes_without_it(tmp_path: Path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "doubled.py").write_text("def double(x):\n    return x + x\n")
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    own = {**os.environ, "PYTHONPATH": str(QUALITY)}
    words = [sys.executable, "-c", JUDGED, str(tmp_path)]
    ended = subprocess.run(words, env=own, capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["survived", "survived", "killed"]


NIGHT = """
import os
import pytest

@pytest.mark.parametrize("case", ["first", "second", "third"])
def test_it(case):
    assert case != "second" or "MENDED" in os.environ
"""


@pytest.mark.nightly
def test_a_stopped_run_goes_on_with_what_has_not_passed(tmp_path: Path):
    (tmp_path / "test_night.py").write_text(NIGHT)
    (tmp_path / "pytest.ini").touch()
    words = ["-q", "-n2", "-p", "no:cacheprovider", "-p", "resume", f"--resume={tmp_path / 'passed'}", str(tmp_path)]

    def run(**more: str) -> str:
        own = {**os.environ, "PYTHONPATH": str(QUALITY), **more}
        command = [sys.executable, "-m", "pytest", *words]
        return subprocess.run(command, env=own, cwd=tmp_path, capture_output=True, text=True, check=False).stdout

    assert "1 failed, 2 passed" in run()
    (kept,) = (tmp_path / "passed").iterdir()
    assert [line.split("::")[1] for line in sorted(kept.read_text().splitlines())] == [
        "test_it[first]",
        "test_it[third]",
    ]
    assert "1 passed" in (said := run(MENDED="yes"))
    assert "2 passed before" in said
    assert not list((tmp_path / "passed").iterdir())
