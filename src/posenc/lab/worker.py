"""A worker process: reads jobs from its input, writes what happens to its output, both pickled; see `pool`."""

from __future__ import annotations

import os
import pickle
import sys
from typing import BinaryIO

from posenc.lab.trial import reproducible, trial


def main() -> int:
    """Work until there are no more jobs, or nobody to tell."""
    # Whatever a library prints must not get between the events: those keep the real output, the rest goes to errors.
    events = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    reproducible()
    try:
        serve(sys.stdin.buffer, events)
    except BrokenPipeError:
        os._exit(1)  # the reader is gone, and with it everything that is still to be flushed
    return 0


def serve(jobs: BinaryIO, events: BinaryIO) -> None:
    """Run job after job until the input ends."""
    while True:
        try:
            job = pickle.load(jobs)
        except EOFError:
            return
        for event in trial(*job):
            pickle.dump(event, events)
            events.flush()


if __name__ == "__main__":
    sys.exit(main())
