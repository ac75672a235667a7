"""What importing costs behind PyTorch, each time in a new process."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from typing import Any

#: What is imported before, and what is measured.
IMPORTS = {
    "posenc kernels, after posenc": ("torch, posenc, posenc.core.rotation, importlib.util", "posenc.kernels.native"),
    "posenc.torch, all of it": ("torch", "posenc.torch"),
}
PROGRAM = "import {before}, time; start = time.process_time(); import {measured}; print(time.process_time() - start)"


def run() -> list[dict[str, Any]]:
    """Milliseconds of CPU time: median of five processes, after one that leaves bytecode behind, as installing does."""
    for said in IMPORTS.values():
        once(*said)
    values = {name: 1e3 * statistics.median(once(*said) for _ in range(5)) for name, said in IMPORTS.items()}
    return [{"case": "milliseconds of an import", "values": values, "left out": {}}]


def once(before: str, measured: str) -> float:
    program = PROGRAM.format(before=before, measured=measured)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    return float(done.stdout)
