"""A child process in which a user's file runs, with limits of time and memory; the other end of `child_server`."""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from posenc.diagnosis.code.child_messages import BrokenMessageError, receive, send

#: Characters of a user's own output that are passed on.
MOST_OUTPUT = 10_000
#: What marks the environment of a child and of the processes that it starts.
MARK = "POSENC_CHECKED_BY"
#: How often processes that the marked ones may have started meanwhile are looked for.
MOST_SWEEPS = 50
#: Seconds for the child to load posenc, before the user's file runs.
STARTUP_SECONDS = 120.0


class StoppedError(Exception):
    """A child that ended, or was ended, before it answered; the message says which."""


class ChildProcess:
    """Ask a child process, one question at a time.

    Args:
        server: The module whose main() answers.
        seconds: How long all answers together may take, on the clock.
        memory: GiB of address space that it may use, where the system can limit it.
        folder: Its working directory; this process's own if None.
    """

    def __init__(self, server: str, *, seconds: float, memory: float, folder: Path | None = None) -> None:
        self.seconds, self.memory, self.left = seconds, memory, STARTUP_SECONDS
        self.timed_out = False
        self.printed = bytearray()
        code = f"from {server} import main; main()"
        self.mark = f"{MARK}={secrets.token_hex(16)}"
        path = os.pathsep.join(path for path in sys.path if path)
        environment = {**os.environ, "PYTHONPATH": path, MARK: self.mark.partition("=")[2]}
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=folder,
            start_new_session=True,
        )
        self.listener = threading.Thread(target=_keep, args=(self.process.stderr, self.printed), daemon=True)
        self.listener.start()

    def __enter__(self) -> ChildProcess:
        try:
            self.ask("limit", bytes=int(self.memory * 2**30))
        except BaseException:
            self.close()
            raise
        self.left = self.seconds
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def ask(self, question: str, **words: Any) -> Any:
        """Ask one question, and return the answer.

        Raises:
            StoppedError: The child ends, or is too slow.
        """
        if self.process.stdin is None or self.process.stdout is None:
            raise StoppedError("it has no pipes")
        began = time.monotonic()
        with self._deadline():
            try:
                send(self.process.stdin, {"question": question, **words})  # type: ignore[arg-type]
                answer = receive(self.process.stdout)  # type: ignore[arg-type]
            except (EOFError, OSError):
                raise StoppedError(self._end()) from None
            except BrokenMessageError as error:
                raise StoppedError(f"it answered with {error}, which is no answer") from None
        self.left -= time.monotonic() - began
        return answer

    def output(self) -> list[str]:
        """The lines that the user's code has printed, the first of them."""
        self.listener.join(timeout=1.0)
        return bytes(self.printed).decode("utf-8", "replace").splitlines()

    def close(self) -> None:
        """End the child and its process group; on Linux also processes outside it that inherited its environment."""
        self._kill()
        self.process.wait()
        _end_marked(self.mark.encode())
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()

    @contextlib.contextmanager
    def _deadline(self) -> Iterator[None]:
        timer = threading.Timer(max(self.left, 0.0), self._kill_late)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _kill_late(self) -> None:
        self.timed_out = True
        self._kill()

    def _kill(self) -> None:
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()

    def _end(self) -> str:
        if self.timed_out:
            return f"it did not answer within {self.seconds:g} s"
        try:
            code = self.process.wait(timeout=5.0)
        except subprocess.TimeoutExpired:
            return "it closed its answers"
        if code < 0:
            return f"it was ended by signal {-code}"
        return f"it ended with exit code {code} before it answered"


def hide_streams() -> None:
    """Keep the user's other processes from opening this one's files through /proc; Linux only, not against root."""
    if sys.platform == "linux":
        set_dumpable = 4
        ctypes.CDLL(None).prctl(set_dumpable, 0, 0, 0, 0)


def _end_marked(mark: bytes) -> None:
    """Kill all processes that started with this mark in their environment, until none is left; Linux only."""
    for _ in range(MOST_SWEEPS):
        found = [int(folder.name) for folder in Path("/proc").glob("[0-9]*") if _is_marked(folder, mark)]
        if not found:
            return
        for number in found:
            with contextlib.suppress(OSError):
                os.kill(number, signal.SIGKILL)
        time.sleep(0.01)


def _is_marked(folder: Path, mark: bytes) -> bool:
    """Whether the process of a /proc folder still runs, and started with this mark in its environment."""
    try:
        return mark in (folder / "environ").read_bytes().split(b"\0")
    except OSError:  # it has ended, or belongs to someone else
        return False


def _keep(stream: IO[bytes] | None, kept: bytearray) -> None:
    """Read all that is printed, so that the child never waits, and keep the beginning."""
    while stream is not None:
        part = stream.read1(1 << 16)  # type: ignore[attr-defined]
        if not part:
            stream.close()
            return
        kept += part[: MOST_OUTPUT - len(kept)]
