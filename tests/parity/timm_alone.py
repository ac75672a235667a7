"""The layers of timm in a process of its own: timm itself asks for torchvision, whose wrong build breaks torch here.

Run as a script it reads dictionaries of expressions, of `layers` (timm.layers) and `torch`, and writes their values.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import pickle
import subprocess
import sys
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

import torch


def stub(name: str, **members: Any) -> ModuleType:
    """An empty package of that name, with these members."""
    module = ModuleType(name)
    module.__spec__ = ModuleSpec(name, None, is_package=True)
    module.__path__ = []
    vars(module).update(members)
    sys.modules[name] = module
    return module


def layers() -> Any:
    """timm.layers, under an empty timm and next to an empty torchvision."""
    stub("torchvision")
    stub("torchvision.ops")
    stub("torchvision.ops.misc", FrozenBatchNorm2d=torch.nn.Identity)
    found = PathFinder.find_spec("timm")
    if found is None or not found.submodule_search_locations:
        raise ImportError("timm is needed by these tests: pip install --no-deps timm==1.0.31")
    stub("timm").__path__ = list(found.submodule_search_locations)
    from timm import layers

    return layers


def ask(**expressions: str) -> dict[str, Any]:
    """Values of expressions of `layers` (timm.layers) and `torch`, by name."""
    process = started()
    pickle.dump(expressions, process.stdin)
    process.stdin.flush()
    return torch.load(io.BytesIO(pickle.load(process.stdout)))


@cache
def started() -> subprocess.Popen[bytes]:
    """The process, begun with the first question and ended with this one: to import timm takes seconds."""
    command = [sys.executable, "-W", "ignore", __file__]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    atexit.register(process.communicate)
    return process


def main() -> None:
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # whatever else is printed is no answer
    names = {"layers": layers(), "torch": torch}
    with contextlib.suppress(EOFError):
        while True:
            answer = io.BytesIO()
            torch.save({name: eval(text, names) for name, text in pickle.load(questions).items()}, answer)
            pickle.dump(answer.getvalue(), answers)
            answers.flush()


if __name__ == "__main__":
    main()
