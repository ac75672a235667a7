"""Entry of an engine's own process: reads a request, lets the engine answer it, and writes the answer as an .npz.

The request is a JSON file, whose path is the one argument; it may be a list of requests to one engine. Every line on
stdout is a JSON object: {"step": ...} before a step begins, so that whoever waits knows where an engine stopped, and
{"error": ...} where one failed. In a list, an error is written to the file that a request names for it, and the next
request is answered. The file imports nothing of posenc: the process needs the standard library, NumPy and the engine.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: Exit code where the engine raised an error, which is told on stdout.
FAILED = 3


def main(path: str) -> int:
    """Answer the request in a file, or every one of a list."""
    held = json.loads(Path(path).read_text(encoding="utf-8"))
    requests = held if isinstance(held, list) else [held]
    site = requests[0]["site"]
    sys.path[:0] = [*([site] if site else []), str(Path(__file__).parent)]
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # engines print to stdout as they like; lines of this protocol stay whole

    def tell(**fact: Any) -> None:
        print(json.dumps(fact), file=lines, flush=True)

    errors = [_answered(request, tell) for request in requests]
    if held is requests:
        for request, error in zip(requests, errors, strict=True):
            if error:
                Path(request["refusal"]).write_text(error, encoding="utf-8")
        return 0
    if errors[0]:
        tell(error=errors[0])
    return FAILED if errors[0] else 0


def _answered(request: dict[str, Any], tell: Callable[..., None]) -> str:
    """Run the engine on one request and write its answer; return the error as text, or "" on success."""
    try:
        tell(step="importing its runner")
        runner = _module(Path(request["runner"]))
        answer = runner.answer(request, lambda step: tell(step=step))
        tell(step="writing its answer")
        _write(Path(request["answer"]), answer)
    except Exception as error:  # whatever an engine raises is told, and never a traceback
        text = " ".join(str(error).split()).replace(f"{request['scratch']}/", "")  # the folder is gone when it is read
        return f"{type(error).__name__}: {text}"[:600]
    return ""


def _module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("posenc_engine_runner", path)
    if spec is None or spec.loader is None:
        raise ValueError(f"runner must be a Python file; got {path.name}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _write(path: Path, answer: dict[str, Any]) -> None:
    """Write the arrays atomically as an .npz file."""
    import numpy as np

    part = path.with_name(f".{path.name}.{os.getpid()}.partial")
    with part.open("wb") as file:
        np.savez(file, **answer)
    part.replace(path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
