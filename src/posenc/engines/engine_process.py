"""Run another program to its end: with a time limit, stopped at once when asked, and nothing left running."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from posenc.engines.engine_failure import EngineFailure

#: Seconds between two looks at a process.
PAUSE = 0.05
#: Characters of what a program printed that are looked at.
TAIL = 4000


class Stopped(Exception):  # noqa: N818 (nothing went wrong: the user stopped it)
    """The user stopped the run."""


def run_program(
    command: Sequence[str],
    *,
    step: str,
    seconds: float,
    stop: threading.Event,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    watch: Callable[[], None] | None = None,
) -> None:
    """Run a program that prints lines of JSON, which name its steps.

    Args:
        command: The program and its arguments.
        step: What it does until it says another.
        seconds: How long it may take.
        stop: Set to end it.
        environment: Variables besides those of this process.
        folder: Its working directory.
        watch: Called while it runs.

    Raises:
        EngineFailure: It ended otherwise than well, or not in time.
        Stopped: `stop` was set.
    """
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, cwd=folder,
                env={**os.environ, **(environment or {})}, start_new_session=os.name == "posix",
            )  # fmt: skip
        except OSError as error:
            raise EngineFailure(step, f"{Path(command[0]).name} could not start: {error.strerror}") from None
        said = _Said(step)
        listener = threading.Thread(target=_listen, args=(process.stdout, said), daemon=True)
        listener.start()
        try:
            _wait(process, said, seconds, stop, watch)
        finally:
            _end(process)
            listener.join()
        if process.returncode or said.error:
            raise EngineFailure(said.step, said.error or _why(process.returncode, errors))


class _Said:
    """Latest step and error that a program has reported on its stdout."""

    def __init__(self, step: str) -> None:
        self.step, self.error = step, ""


def _listen(lines: IO[bytes] | None, said: _Said) -> None:
    if lines is None:
        return
    with lines:
        for line in lines:
            try:
                fact = json.loads(line)
            except ValueError:
                continue
            if isinstance(fact, dict):
                said.step = str(fact.get("step", said.step))
                said.error = str(fact.get("error", said.error))


def _wait(
    process: subprocess.Popen[bytes],
    said: _Said,
    seconds: float,
    stop: threading.Event,
    watch: Callable[[], None] | None,
) -> None:
    end = time.monotonic() + seconds
    while process.poll() is None:
        if stop.wait(PAUSE):
            raise Stopped
        if watch is not None:
            watch()
        if time.monotonic() > end:
            raise EngineFailure(said.step, f"no answer within {seconds:.0f} s; it was ended")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and all that it started."""
    try:
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except (ProcessLookupError, PermissionError):
        pass
    process.wait()


def _why(code: int, errors: IO[bytes]) -> str:
    """Reason for a nonzero exit code: the signal, or the code with the last error line of stderr."""
    if code < 0:
        return f"it crashed ({signal.Signals(-code).name})"
    return f"it ended with code {code}: {last_line(errors) or 'it printed nothing'}"


def last_line(errors: IO[bytes]) -> str:
    """Return the last line that looks like an error in the last 4,000 bytes of a file, else the last line."""
    size = errors.seek(0, os.SEEK_END)
    errors.seek(max(size - TAIL, 0))
    lines = [line.strip() for line in errors.read().decode(errors="replace").splitlines() if line.strip()]
    starts, parts = ("ERROR", "npm error notarget No "), ("Error:", "No space left")
    telling = [line for line in lines if line.startswith(starts) or any(part in line for part in parts)]
    return (telling or lines or [""])[-1]


def plain_json(value: Any) -> bytes:
    """Bytes of a JSON file."""
    return json.dumps(value, indent=1).encode()
