"""A user's own file: imported because its user named it, with every error in it reported in one line."""

from __future__ import annotations

import contextlib
import difflib
import importlib.util
import inspect
import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from posenc.core import plain_file

#: Code that a person wrote stays far below it.
LARGEST_SOURCE = 1 << 24


def load_target(target: str) -> Any:
    """Load the function, class or object that `mine.py:MyEncoding` names, or the only one that `mine.py` defines.

    The file runs, as `python mine.py` would run it; what it prints goes to stderr.

    Raises:
        ValueError: In one line: the file does not run, or does not have the name.
    """
    path, name = file_and_name(target)
    module = _imported(path)
    names = _names(module)
    if not name and len(names) == 1:
        name = names[0]
    if not name:
        example = names[0] if names else "NAME"
        raise ValueError(
            f"target must name something in {path.name}; got the file alone, which has "
            f"{', '.join(names) or 'no functions or classes'}. Write {path.name}:{example}."
        )
    if not hasattr(module, name):
        near = difflib.get_close_matches(name, names, n=1)
        advice = f"Did you mean {near[0]}?" if near else f"It has {', '.join(names) or 'no functions or classes'}."
        raise ValueError(f"target must name something in {path.name}; got {name!r}. {advice}")
    return getattr(module, name)


def file_and_name(target: str) -> tuple[Path, str]:
    """Path of a Python file that exists, and the name in it, "" where the file stands alone.

    Raises:
        ValueError: The text is no FILE.py:NAME, or the file does not exist or is not plain.
    """
    path, name = Path(named_file(target)), "" if target.endswith(".py") else target.rpartition(":")[2]
    if path.suffix != ".py":
        raise ValueError(f"target must be FILE.py:NAME; got {target!r}. Write mine.py:MyEncoding, for example.")
    if not path.exists():
        raise ValueError(f"target must name a file that exists; got {str(path)!r}. Check the path.")
    with plain_file.opened(path, LARGEST_SOURCE, name="target", advice="Name a Python file."):
        pass
    return path, name


def named_file(target: str) -> str:
    """FILE.py of FILE.py:NAME, or of the file alone, as it is written.

    Example:
        >>> named_file("my files (2)/mine.py:Mine"), named_file("mine.py")
        ('my files (2)/mine.py', 'mine.py')
    """
    return target if target.endswith(".py") else target.rpartition(":")[0] or target


def source_file(target: Any) -> str:
    """The file that a function, a class or an object's class was written in; "" where that is not known."""
    kind = target if isinstance(target, type) or inspect.isroutine(target) else type(target)
    functions = [kind, *vars(kind).values()] if isinstance(kind, type) else [kind]
    codes = (getattr(inspect.unwrap(function), "__code__", None) for function in functions)
    return next((code.co_filename for code in codes if code is not None), "")


def error_line(error: BaseException, file: str) -> str:
    """An error that came out of a user's file in one line: its line there, its kind and its message."""
    name = Path(file).name or "your code"
    if isinstance(error, SyntaxError) and error.filename == file:
        return f"{name}, line {error.lineno}: SyntaxError: {error.msg}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    location = f"{name}, line {lines[-1]}" if lines else name
    return f"{location}: {type(error).__name__}: {' '.join(str(error).split()) or 'no message'}"[:400]


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """While a user's code runs: its printing goes to stderr, its warnings nowhere, and no cache file is left."""
    written = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    try:
        with contextlib.redirect_stdout(sys.stderr), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        sys.dont_write_bytecode = written


def _imported(path: Path) -> ModuleType:
    # A picture that the file shows opens no window and stops nothing.
    os.environ.setdefault("MPLBACKEND", "Agg")
    file = str(path.resolve())
    spec = importlib.util.spec_from_file_location(path.stem, file)
    if spec is None or spec.loader is None:
        raise ValueError(f"target must be a Python file; got {str(path)!r}. Name another one.")
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(path.stem)
    try:
        with _process_kept(str(path.resolve().parent)), quiet():
            sys.modules[path.stem] = module
            spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise ValueError(f"{error_line(error, file)}. Fix the file first: it must run by itself.") from None
    finally:
        if before is not None:
            sys.modules[path.stem] = before
    return module


@contextlib.contextmanager
def _process_kept(folder: str) -> Iterator[None]:
    """Let a file import from its folder, and undo what it does to the working directory, the path and the modules."""
    searched, modules, working = list(sys.path), dict(sys.modules), Path.cwd()
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        added = [place for place in sys.path if place not in (folder, *searched)]
        sys.path[:] = [*added, *searched]
        sys.modules.update({name: module for name, module in modules.items() if name not in sys.modules})
        with contextlib.suppress(OSError):
            os.chdir(working)


def _names(module: ModuleType) -> list[str]:
    """The functions and classes that the file itself defines, and its torch modules."""
    return [
        name
        for name, value in vars(module).items()
        if callable(value)
        and (getattr(value, "__module__", None) == module.__name__ or _is_torch_module(value))
        and not name.startswith("_")
    ]


def _is_torch_module(value: Any) -> bool:
    return hasattr(value, "named_modules") and not isinstance(value, type)
