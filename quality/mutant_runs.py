"""Run chosen tests on a copy of the checkout, in forks of one process that has imported what is slow to import.

The parent imports libraries, never posenc or a test, and starts no thread, so that a fork is safe; it looks before it
forks.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mutant_candidates import Mutant
from mutant_tests import Tests

#: Slow to import, and imported by many tests.
LIBRARIES = ("numpy", "mpmath", "torch", "jax", "transformers")

#: This library imports its modules when they are asked for, which takes seconds; a fork writes here which it asked for.
LAZY, ASKED_FOR = "transformers.", "asked_for.txt"

#: A run may take so many seconds of the processor, and so many times what its tests took when they were measured.
LEAST_SECONDS, TIMES_AS_LONG = 60.0, 5.0

#: By the clock it may take so many times as long, on a busy machine.
CLOCK = 8.0

#: What pytest itself takes for a test, in seconds.
EACH = 0.005

#: Where a fork writes what pytest prints; and how it ends when it is not pytest that ends it.
LOG, FAULT = "last_run.txt", 99

#: A mutant meets tests that took so many seconds together, from so many files; if it survives, the next.
STAGES = ((3.0, 4), (15.0, 40), (40.0, 1000))


@dataclass(frozen=True)
class Ending:
    """killed, timeout or survived; the test that killed it, or what pytest ended with; how many tests it met."""

    outcome: str
    test: str
    met: int = 0


@dataclass
class Judge:
    """Finds out whether tests kill a mutant, in a copy of the checkout that it alone works in."""

    tree: Path
    tests: Tests
    #: Tests by whether they pass alone, in a fork, without a mutant.
    sound: dict[str, bool] = field(default_factory=dict)

    def of(self, mutant: Mutant, code: str) -> Ending:
        left = self.tests.of(mutant)
        met = 0
        for seconds, files in STAGES:
            chosen = within(left, self.tests.seconds, seconds, files)
            left = [test for test in left if test not in set(chosen)]
            met += len(chosen)
            ending = self.meet(mutant, code, chosen)
            if ending.outcome != "survived":
                return Ending(ending.outcome, ending.test, met)
        return Ending("survived", "", met)

    def meet(self, mutant: Mutant, code: str, tests: Sequence[str]) -> Ending:
        """The mutant among these tests. A test that fails without it too kills nothing, and is left out."""
        chosen = [test for test in tests if self.sound.get(test, True)]
        if not chosen:
            return Ending("survived", "")
        with replaced(self.tree / mutant.file, code):
            ending = self.run(chosen)
        if ending.outcome == "survived" or self.is_sound(blamed(ending.test, chosen)):
            return ending
        return self.meet(mutant, code, chosen)

    def is_sound(self, test: str) -> bool:
        if test not in self.sound:
            self.sound[test] = self.run([test]).outcome == "survived"
        return self.sound[test]

    def run(self, tests: Sequence[str]) -> Ending:
        return run(self.tree, tests, sum(self.tests.seconds[test] for test in tests))


def blamed(name: str, tests: Sequence[str]) -> str:
    """The test of this name; where it was no test that failed, but its file or all of pytest, one that shows the
    same."""
    of_file = [test for test in tests if test.partition("::")[0] in name]
    return name if name in tests else next(iter([*of_file, *tests]))


def within(tests: Sequence[str], took: Mapping[str, float], seconds: float, files: int) -> list[str]:
    """The first of these tests that took no more seconds together, from no more files."""
    chosen: list[str] = []
    used: set[str] = set()
    for test in tests:
        file = test.partition("::")[0]
        if took[test] <= seconds and (file in used or len(used) < files):
            chosen.append(test)
            used.add(file)
            seconds -= took[test] + EACH
    return chosen


class Chosen:
    """A pytest plugin that runs these tests alone, in this order, and writes down what fails first."""

    def __init__(self, tests: Sequence[str], result: Path) -> None:
        self.rank = {test: rank for rank, test in enumerate(tests)}
        self.result = result

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((item for item in items if item.nodeid in self.rank), key=lambda item: self.rank[item.nodeid])

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.write(report.failed, f"collection of {report.nodeid}")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.write(report.failed, report.nodeid)

    def write(self, failed: bool, name: str) -> None:
        if failed and not self.result.exists():
            self.result.write_text(json.dumps(name))


def prepare() -> None:
    """Import the libraries once."""
    os.environ["OMP_NUM_THREADS"] = "1"
    for name in LIBRARIES:
        importlib.import_module(name)
    refuse_threads()


def import_what_was_asked_for(tree: Path) -> None:
    """Import what forks before asked for of the library that waits for it."""
    path = tree / ASKED_FOR
    for name in path.read_text().splitlines() if path.exists() else ():
        if name not in sys.modules:
            with contextlib.suppress(Exception):  # some need what is not installed
                importlib.import_module(name)
    path.unlink(missing_ok=True)
    refuse_threads()


def refuse_threads() -> None:
    """A thread that a library started would make forks unsafe."""
    if len(list(Path("/proc/self/task").iterdir())) > 1:
        raise RuntimeError("A library started a thread when it was imported: take it out of LIBRARIES.")


def run(tree: Path, tests: Sequence[str], expected: float) -> Ending:
    """Run the tests in `tree` until one fails; `expected`: the seconds that they took when they were measured."""
    result = tree / "first_failure.json"
    result.unlink(missing_ok=True)
    import_what_was_asked_for(tree)
    seconds = LEAST_SECONDS + TIMES_AS_LONG * expected
    child = forked(lambda: inside(tree, tests, result, seconds))
    status = waited(child, CLOCK * seconds)
    if status == FAULT:
        raise RuntimeError(f"pytest could not be run in a fork: see {tree / LOG}.")
    if status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        return Ending("survived", "")
    if status in (None, -signal.SIGXCPU):
        return Ending("timeout", "")
    return Ending("killed", json.loads(result.read_text()) if result.exists() else f"pytest ended with {status}")


def forked(work: Callable[[], int]) -> int:
    """A child that does this work and ends with the status that it gives; with FAULT if it raises. Gives its id."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    try:
        status = work()
    except BaseException:
        traceback.print_exc()
        status = FAULT
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def waited(child: int, seconds: float) -> int | None:
    """The exit status of the child; None where it takes longer, in which case it is ended with all that it started."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def inside(tree: Path, tests: Sequence[str], result: Path, seconds: float) -> int:
    """What the child does; gives pytest's exit code."""
    os.setsid()
    limit = int(time.process_time() + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    with (tree / LOG).open("w") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    os.chdir(tree)
    sys.path[:] = [str(tree / "src"), *(place for place in sys.path if not place.endswith(("/quality", "/src")))]
    os.environ.update(PYTHONPATH=str(tree / "src"), PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS="1")
    sys.dont_write_bytecode = True
    files = sorted({test.partition("::")[0] for test in tests})
    loaded = "-Wignore:Module already imported:pytest.PytestAssertRewriteWarning"  # a library's plugin, by LIBRARIES
    words = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", loaded, *files]
    before = set(sys.modules)
    status = pytest.main(words, plugins=[Chosen(tests, result)])
    asked = sorted(name for name in set(sys.modules) - before if name.startswith(LAZY))
    (tree / ASKED_FOR).write_text("\n".join(asked))
    return int(status)


@contextlib.contextmanager
def replaced(path: Path, text: str) -> Iterator[None]:
    """The file with another text, for a while."""
    original = path.read_bytes()
    try:
        path.write_text(text, encoding="utf-8")
        yield
    finally:
        path.write_bytes(original)
