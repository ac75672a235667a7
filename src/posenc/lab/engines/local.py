"""Engine of this machine: several jobs at once, each in a worker process of one thread. Imports no torch.

A worker process reads jobs from its input and writes their reports to its output, both pickled.
"""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Sequence
from typing import IO, Any, BinaryIO

from posenc.lab.engines.events import Event, Failure, Finished, Job, failure


class Ended:
    """Report that a worker process has ended."""


def cores() -> int:
    """Number of processes that can run at once here."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(jobs: Sequence[Job], workers: int | None = None, gpus: Sequence[str] = ()) -> Generator[Event, None, None]:
    """Run jobs in worker processes and yield their reports as they come, a `Failure` for each job that failed.

    The numbers do not depend on `workers`, since every job has a thread to itself. Closing the iterator, or an
    exception in whoever reads it (Ctrl-C), ends the worker processes at once. A process that is killed fails its job,
    and another takes its place.

    Args:
        jobs: To run.
        workers: Jobs at a time; one for each GPU or core where None.
        gpus: Each worker sees one of them alone, in turn.

    Yields:
        The reports.
    """
    waiting = list(range(len(jobs)))[::-1]
    inbox: queue.Queue[tuple[Worker, Any]] = queue.Queue()
    crew: set[Worker] = set()
    try:
        for number in range(min(len(jobs), workers or len(gpus) or cores())):
            crew.add(_started(Worker(inbox, gpus[number % len(gpus)] if gpus else ""), jobs, waiting.pop()))
        while crew:
            worker, report = _next(inbox)
            if worker not in crew:
                continue
            if not isinstance(report, Finished):
                yield Event(worker.job, Failure(worker.last_words()) if isinstance(report, Ended) else report)
            if isinstance(report, Ended):
                crew.remove(worker)
                worker.end()
                if waiting:
                    crew.add(_started(Worker(inbox, worker.gpu), jobs, waiting.pop()))
            elif isinstance(report, Finished | Failure):
                if waiting:
                    worker.give(jobs, waiting.pop())
                else:
                    crew.remove(worker)
                    worker.end()
    finally:
        for worker in crew:
            worker.end()


def _started(worker: Worker, jobs: Sequence[Job], index: int) -> Worker:
    worker.give(jobs, index)
    return worker


def _next(inbox: queue.Queue[Any]) -> Any:
    """Wait for the next report in short stretches: on Windows an endless wait does not hear Ctrl-C."""
    while True:
        try:
            return inbox.get(timeout=0.5)
        except queue.Empty:
            continue


class Worker:
    """A process that does jobs, and a thread that reads what it writes.

    Args:
        inbox: Gets the reports.
        gpu: The one that it sees, or "" for all.
    """

    def __init__(self, inbox: queue.Queue[tuple[Worker, Any]], gpu: str = "") -> None:
        self.job, self.gpu = 0, gpu
        self._inbox = inbox
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `end`)
        alone = {"CUDA_VISIBLE_DEVICES": gpu} if gpu else {}
        # In a session of its own: Ctrl-C in a terminal reaches the parent alone, which ends its workers without noise.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "posenc.lab.engines.local"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", **alone},
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def give(self, jobs: Sequence[Job], index: int) -> None:
        """Start a job."""
        self.job = index
        try:
            pickle.dump(jobs[index], self._input)
            self._input.flush()
        except BrokenPipeError:
            pass  # it has ended; its reader reports that

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
        """Reason why a process ended: its exit code, and the last line of its stderr if it wrote any."""
        code = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f"the worker process ended with exit code {code}{': ' if last else ''}{last}"

    @property
    def _input(self) -> IO[bytes]:
        if self._process.stdin is None:
            raise RuntimeError("worker has no input; it was started without one. Start another.")
        return self._process.stdin

    def _read(self) -> None:
        """Pass on every report, and at the end of the output, whatever the reason, that the process has ended."""
        output = self._process.stdout
        while output is not None:
            try:
                report = pickle.load(output)
            except (EOFError, pickle.UnpicklingError, OSError, ValueError):
                break
            self._inbox.put((self, report))
        self._inbox.put((self, Ended()))


def main() -> int:
    """Work until there are no more jobs, or until the reader of the reports has ended."""
    # Whatever a library prints must not get between the reports: those keep the real output, the rest goes to errors.
    reports = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        do_jobs(sys.stdin.buffer, reports)
    except BrokenPipeError:
        os._exit(1)  # the reader is gone, and with it everything that is still to be flushed
    return 0


def do_jobs(jobs: BinaryIO, reports: BinaryIO) -> None:
    """Run job after job until the input ends. A job ends with `Finished`, or `Failure` where it raised."""
    while True:
        try:
            job = pickle.load(jobs)
        except EOFError:
            return
        try:
            for report in job.reports():
                _write(reports, report)
            _write(reports, Finished())
        except BrokenPipeError:
            raise
        except Exception as error:
            _write(reports, failure(error))


def _write(reports: BinaryIO, report: object) -> None:
    pickle.dump(report, reports)
    reports.flush()


if __name__ == "__main__":
    sys.exit(main())
