"""`FILE.py:NAME` checked in a process of its own: its code runs in a child, and is compared here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from posenc.core import validation
from posenc.diagnosis.code.child_process import ChildProcess, StoppedError
from posenc.diagnosis.code.parameter_roles import Parameter
from posenc.diagnosis.code.user_code import CodeFailedError, PreparedCode, Tensor, UnsupportedFormError
from posenc.diagnosis.named_arrays import NamedArray

SERVER = "posenc.diagnosis.code.child_server"
SECONDS = 60.0
GIGABYTES = 4.0
NO_ANSWER = "what it answered is no answer"


class RemoteCode:
    """A user's code in a child process; see `UserCode`. What the child answers is not trusted."""

    def __init__(self, child: ChildProcess, target: str) -> None:
        self.child = child
        self.is_encoding = self.ask("load", target=target) == {"is_encoding": True}

    def prepare(self, dim: int, base: float, heads: int) -> PreparedCode:
        answer = self.ask("prepare", dim=dim, base=base, heads=heads)
        with _well_formed():
            parameters = tuple(
                Parameter(str(each["name"]), bool(each["required"]), bool(each["positional_only"]))
                for each in answer["parameters"]
            )
            libraries = tuple(map(str, answer["libraries"]))
            return PreparedCode(str(answer["name"])[:200], parameters, libraries, int(answer["heads"]))

    def call(self, library: str, positional: Sequence[Any], named: Mapping[str, Any]) -> list[NamedArray]:
        results = self.ask("call", library=library, positional=list(positional), named=dict(named))
        with _well_formed():
            return [NamedArray(_array(values), str(dtype)) for values, dtype in results]

    def tensors(self) -> list[Tensor]:
        answer = self.ask("tensors")
        with _well_formed():
            return [
                Tensor(str(name), kind, tuple(map(int, shape)), None if values is None else _array(values))
                for name, kind, shape, values in answer
            ]

    def renew(self) -> None:
        self.ask("renew")

    def moving_error(self) -> str:
        return str(self.ask("moving_error"))[:200]

    def ask(self, question: str, **words: Any) -> Any:
        """Ask the child; return its answer, or raise the error that it reports."""
        reply = self.child.ask(question, **words)
        if not isinstance(reply, dict) or not {"answer", "error"} & set(reply):
            raise StoppedError(NO_ANSWER)
        if "answer" in reply:
            return reply["answer"]
        message = str(reply.get("message"))
        if reply["error"] == "form":
            raise UnsupportedFormError(message)
        raise CodeFailedError(message, str(reply.get("kind"))) if reply["error"] == "code" else ValueError(message)


@contextmanager
def _well_formed() -> Iterator[None]:
    try:
        yield
    except (TypeError, ValueError, KeyError, AttributeError):
        raise StoppedError(NO_ANSWER) from None


def _array(values: Any) -> np.ndarray:
    if not isinstance(values, np.ndarray):
        raise TypeError("values must be an array. Send one.")
    return values.astype(np.float64)


def check_limits(seconds: float, memory: float) -> None:
    """Check the limits of a child process."""
    validation.real("seconds", seconds, 0.0, 86_400.0, above=True)
    validation.real("memory", memory, 0.25, 1024.0)


@contextmanager
def in_child(
    target: str,
    *,
    seconds: float,
    memory: float,
    server: str = SERVER,
    show: Callable[[str], None] | None = None,
    folder: Path | None = None,
) -> Iterator[RemoteCode]:
    """Load FILE.py:NAME in a child process, which ends with the context.

    Args:
        target: FILE.py:NAME.
        seconds: How long all answers together may take.
        memory: GiB of address space that the child may use.
        server: The module whose main() answers.
        show: Takes each line that the code has printed, as it is.
        folder: Working directory of the child; this process's own if None.

    Yields:
        The code, to be called from here.

    Raises:
        ValueError: In one line, where the file does not run, or runs out of time or memory.
    """
    check_limits(seconds, memory)
    try:
        with ChildProcess(server, seconds=seconds, memory=memory, folder=folder) as child:
            try:
                yield RemoteCode(child, target)
            finally:
                child.close()
                for line in child.output() if show else ():
                    show(line)  # type: ignore[misc]
    except StoppedError as error:
        file = target if target.endswith(".py") else target.rpartition(":")[0]
        raise ValueError(
            f"target must answer while it is checked; got {file}: {error}. "
            "It must return by itself; --seconds gives it longer, --memory more."
        ) from None
