"""A pytest plugin: run one part of the tests, and write what came of each.

A part is chosen by the tests' ids, so that parts stay the same while tests are added, and every worker chooses alike.
Seconds are those of the processor, of a test and the processes it starts: they hardly depend on what else runs.
"""

from __future__ import annotations

import json
import os
import time
import zlib
from pathlib import Path

import pytest

BEGUN = pytest.StashKey[float]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("parts of a long run")
    group.addoption("--part", default="1/1", help="run part K of N, as K/N; the tests' ids decide which is where")
    group.addoption("--outcomes", help="write outcome and seconds of every test to this file, as JSON")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--outcomes")
    if path and not hasattr(config, "workerinput"):  # workers report to the one process that writes
        config.pluginmanager.register(Outcomes(Path(path)))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    number, of = map(int, config.getoption("--part").split("/"))
    chosen = [item for item in items if in_part(item.nodeid, number, of)]
    config.hook.pytest_deselected(items=[item for item in items if not in_part(item.nodeid, number, of)])
    items[:] = chosen


def in_part(test: str, number: int, of: int) -> bool:
    """Whether the test with this id belongs to part `number` (from 1) of `of`."""
    return zlib.crc32(test.encode()) % of == number - 1


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    item.stash[BEGUN] = processor_seconds()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    if call.when == "call":
        item.user_properties.append(("seconds", processor_seconds() - item.stash[BEGUN]))


def processor_seconds() -> float:
    """Of this process and of those it started that have ended."""
    return time.process_time() + sum(os.times()[2:4])


def seconds_of(report: pytest.TestReport) -> float:
    return next((float(str(value)) for name, value in report.user_properties if name == "seconds"), 0.0)


class Outcomes:
    """Collects what came of each test: a test failed if its setup, its call or its teardown did."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.outcomes: dict[str, str] = {}
        self.seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = report.nodeid
        self.seconds[name] = max(self.seconds.get(name, 0.0), seconds_of(report))
        if report.failed or self.outcomes.get(name, "passed") == "passed":
            self.outcomes[name] = report.outcome

    def pytest_sessionfinish(self) -> None:
        record = {name: [outcome, round(self.seconds[name], 4)] for name, outcome in sorted(self.outcomes.items())}
        self.path.write_text(json.dumps(record))
