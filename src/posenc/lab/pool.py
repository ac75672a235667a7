"""Several runs at once, each in a process of one thread, with their progress in one stream. Loads no torch."""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Sequence
from typing import IO, Any, NamedTuple

from posenc.lab.data import Corpus
from posenc.lab.result import Progress
from posenc.lab.run_config import Contestant, Outcome, Recipe


class Event(NamedTuple):
    """What a run reports; `runner` is the contestant's place in the list."""

    runner: int
    report: Progress | Outcome


def cores() -> int:
    """How many processes can run at once here."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(
    contestants: Sequence[Contestant], corpus: Corpus, recipe: Recipe, workers: int | None = None
) -> Generator[Event, None, None]:
    """The trials of all contestants, at most `workers` at a time; their events as they come.

    The numbers do not depend on `workers`, since every run has one thread to itself. Closing the iterator, or an
    exception in whoever reads it (Ctrl-C), ends the workers at once. RuntimeError says what a broken worker said last.
    """
    waiting = list(range(len(contestants)))
    count = min(len(contestants), workers or cores())
    inbox: queue.Queue[tuple[Worker, Event | None]] = queue.Queue()
    crew: list[Worker] = []
    try:
        for _ in range(count):
            crew.append(Worker(inbox))
            crew[-1].give(waiting.pop(0), contestants, corpus, recipe)
        running = count
        while running:
            worker, event = _next(inbox)
            if event is None:
                raise RuntimeError(
                    f"a worker process ended while training {contestants[worker.runner].name}: {worker.last_words()}"
                )
            yield event
            if isinstance(event.report, Outcome):
                if waiting:
                    worker.give(waiting.pop(0), contestants, corpus, recipe)
                else:
                    running -= 1
    finally:
        for worker in crew:
            worker.end()


def _next(inbox: queue.Queue[Any]) -> Any:
    """Wait in short stretches: on Windows an endless wait does not hear Ctrl-C."""
    while True:
        try:
            return inbox.get(timeout=0.5)
        except queue.Empty:
            continue


class Worker:
    """A process that runs trials, and a thread that reads what it writes."""

    def __init__(self, inbox: queue.Queue[tuple[Worker, Event | None]]) -> None:
        self.runner = 0
        self._inbox = inbox
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `end`)
        # In a session of its own: Ctrl-C in a terminal reaches the parent alone, which ends its workers without noise.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "posenc.lab.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def give(self, index: int, contestants: Sequence[Contestant], corpus: Corpus, recipe: Recipe) -> None:
        """Start the trial of a contestant."""
        self.runner = index
        try:
            pickle.dump((contestants[index], corpus, recipe), self._input)
            self._input.flush()
        except BrokenPipeError:
            pass  # it has ended; its reader says so

    def end(self) -> None:
        """End the process, whatever it does, and wait until it is gone."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            try:
                if stream is not None:
                    stream.close()
            except BrokenPipeError:
                pass  # what was still to be written has no reader any more

    def last_words(self) -> str:
        """The last line that the process wrote about its errors."""
        self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), f"exit code {self._process.returncode}")

    @property
    def _input(self) -> IO[bytes]:
        if self._process.stdin is None:
            raise RuntimeError("worker has no input; it was started without one. Start another.")
        return self._process.stdin

    def _read(self) -> None:
        """Hand on every event; at the end of the output, whatever the reason, say that there are no more."""
        output = self._process.stdout
        while output is not None:
            try:
                report = pickle.load(output)
            except (EOFError, pickle.UnpicklingError, OSError, ValueError):
                break
            self._inbox.put((self, Event(self.runner, report)))
        self._inbox.put((self, None))
