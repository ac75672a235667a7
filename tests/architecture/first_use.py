"""A program: 16 threads import modules and load their lazy names, each in an order of its own; it prints what fails.

usage: first_use.py SEED MODULE ...
"""

from __future__ import annotations

import importlib
import importlib.util
import random
import re
import sys
import threading
from pathlib import Path

THREADS = 16


def names(module: str) -> list[str]:
    """The names that a package loads lazily, read from its stub, so that nothing is loaded."""
    path = Path(importlib.util.find_spec("posenc").origin).parent.joinpath(*module.split(".")[1:], "__init__.pyi")
    return re.findall(r" as (\w+)$", path.read_text(), re.MULTILINE) if path.exists() else []


def use(wanted: list[tuple[str, str]], start: threading.Barrier, failures: set[str]) -> None:
    start.wait()
    for module, name in wanted:
        try:
            loaded = importlib.import_module(module)
            if name:
                getattr(loaded, name)
        except ModuleNotFoundError as error:
            if str(error.name).partition(".")[0] == "posenc":
                failures.add(f"{module} {name}: {error!r}")
        except BaseException as error:
            failures.add(f"{module} {name}: {error!r}")


def main(seed: int, modules: list[str]) -> None:
    chance, start, failures = random.Random(seed), threading.Barrier(THREADS), set()
    wanted = [(module, name) for module in modules for name in (names(module) or [""])]
    sys.setswitchinterval(1e-5)  # threads meet in the middle of imports more often
    orders = [chance.sample(wanted, len(wanted)) for _ in range(THREADS)]
    threads = [threading.Thread(target=use, args=(order, start, failures)) for order in orders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("\n".join(sorted(failures)[:20]), end="")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
