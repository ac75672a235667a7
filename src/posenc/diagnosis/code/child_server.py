"""Server in the child process: it loads a user's file, calls it, and sends numbers back; it judges nothing."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any, BinaryIO

from posenc.core.doors import Encoding
from posenc.diagnosis.code.child_messages import receive, send
from posenc.diagnosis.code.user_code import CodeFailedError, LocalCode, Tensor, UnsupportedFormError
from posenc.diagnosis.code.user_file import load_target

#: Tensors whose names are sent, and the most numbers of them together.
MOST_TENSORS = 200
MOST_NUMBERS = 1 << 24
#: A question's name and what answers it; the words of the question are keyword arguments.
Answers = Mapping[str, Callable[..., Any]]


class UserFile:
    """Answers about the function, class or object that FILE.py:NAME stands for."""

    def __init__(self) -> None:
        self.target: Any = None
        self.code = LocalCode(None)

    def load(self, target: str) -> dict[str, Any]:
        self.target = load_target(target)
        self.code = LocalCode(self.target)
        kind = self.target if isinstance(self.target, type) else type(self.target)
        return {"is_encoding": issubclass(kind, Encoding)}

    def prepare(self, dim: int, base: float, heads: int) -> dict[str, Any]:
        return asdict(self.code.prepare(dim, base, heads))

    def call(self, library: str, positional: list[Any], named: dict[str, Any]) -> list[list[Any]]:
        return [[result.values, result.dtype] for result in self.code.call(library, positional, named)]

    def tensors(self) -> list[list[Any]]:
        return list(_sendable(self.code.tensors()))

    def renew(self) -> bool:
        self.code.renew()
        return True

    def moving_error(self) -> str:
        return self.code.moving_error()

    def answers(self) -> dict[str, Callable[..., Any]]:
        answers = (self.load, self.prepare, self.call, self.tensors, self.renew, self.moving_error)
        return {"limit": limit, **{answer.__name__: answer for answer in answers}}


def main() -> None:
    """Answer until the other side has gone."""
    answer_requests(UserFile().answers())


def answer_requests(answers: Answers) -> None:
    """Answer questions from standard input on standard output, which the user's code no longer has.

    What it prints goes to standard error, and it has nothing to read.
    """
    with _private_pipes() as (asked, answered):
        while True:
            try:
                question = receive(asked)
            except EOFError:
                return
            send(answered, _answer(answers[question.pop("question")], question))


def limit(bytes: int) -> bool:  # noqa: A002
    """Limit the process's address space to so many bytes; return whether the system can."""
    if importlib.util.find_spec("resource") is None:
        return False
    import resource

    try:
        resource.setrlimit(resource.RLIMIT_AS, (bytes, bytes))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ValueError, OSError):
        return False
    return True


def _answer(handler: Callable[..., Any], words: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"answer": handler(**words)}
    except UnsupportedFormError as error:
        return {"error": "form", "message": str(error)}
    except CodeFailedError as error:
        return {"error": "code", "message": str(error), "kind": error.kind}
    except (ValueError, TypeError) as error:
        return {"error": "value", "message": str(error)}
    except BaseException as error:
        return {"error": "value", "message": f"target must answer; it raised {type(error).__name__}: {error}"}


def _sendable(tensors: list[Tensor]) -> Iterator[list[Any]]:
    """Name, kind, shape and values of the first tensors; values are None beyond what a message holds."""
    left = MOST_NUMBERS
    for each in tensors[:MOST_TENSORS]:
        size = 0 if each.values is None else each.values.size
        fits = size <= left
        left -= size if fits else 0
        yield [each.name[:200], each.kind, list(each.shape), each.values if fits else None]


@contextlib.contextmanager
def _private_pipes() -> Iterator[tuple[BinaryIO, BinaryIO]]:
    asked, answered = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    with asked, answered:
        yield asked, answered
