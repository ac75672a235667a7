"""A pytest plugin: a stopped run goes on with the tests that have not passed yet.

`pytest -p resume --resume=FOLDER` writes the name of each test that passes to a file in the folder, at once, and leaves
out those that are written there. The file is named for the contents of what decides how tests end, so that after a
change all run again; it is removed when a run ends with every test passed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import working_tree

PASSED = pytest.StashKey[frozenset[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    said = "leave out tests that passed in a run that was stopped, as written in this folder"
    parser.addoption("--resume", type=Path, metavar="FOLDER", help=said)


def pytest_configure(config: pytest.Config) -> None:
    folder = config.getoption("resume")
    if folder is None:
        return
    if hasattr(config, "workerinput"):  # every worker leaves out the same, also one that is started later
        config.stash[PASSED] = frozenset(config.workerinput["passed"])
        return
    path = folder / working_tree.contents()
    config.stash[PASSED] = frozenset(path.read_text().splitlines() if path.exists() else ())
    config.pluginmanager.register(Record(path, config.stash[PASSED]))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    passed = config.stash.get(PASSED, frozenset())
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in passed])
    items[:] = [item for item in items if item.nodeid not in passed]


class Record:
    """Writes down what passed, in the one process that hears of every test."""

    def __init__(self, path: Path, before: frozenset[str]) -> None:
        self.path, self.before = path, before
        self.failed: set[str] = set()
        path.parent.mkdir(parents=True, exist_ok=True)
        for other in set(path.parent.iterdir()) - {path}:
            other.unlink()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["passed"] = sorted(self.before)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)
        elif report.when == "teardown" and report.nodeid not in self.failed:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(f"{report.nodeid}\n")

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self.before:  # all that were left had passed
            session.exitstatus = exitstatus = pytest.ExitCode.OK
        if exitstatus == pytest.ExitCode.OK:
            self.path.unlink(missing_ok=True)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.before:
            terminalreporter.write_line(f"{len(self.before)} passed before, in a run that was stopped.")
