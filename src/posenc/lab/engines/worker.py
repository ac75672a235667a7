"""A worker process: reads jobs from its input, writes their reports to its output, both pickled; see `local`."""

from __future__ import annotations

import os
import pickle
import sys
from typing import BinaryIO

from posenc.lab.engines.events import Finished, failure


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
