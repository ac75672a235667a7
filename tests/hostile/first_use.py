"""First use of every public name from 16 threads at once, in an order of its own for each; needs NumPy alone.

Give the names of packages, or none for those that need NumPy alone; a process asks once, so run it anew for each try.
"""

from __future__ import annotations

import importlib
import random
import sys
import threading
from typing import Any

THREADS = 16
PACKAGES = ("posenc", "posenc.positions", "posenc.cameras", "posenc.frequencies", "posenc.inspect", "posenc.learn",
            "posenc.models", "posenc.diagnosis", "posenc.probe", "posenc.engines", "posenc.phase",
            "posenc.compose")  # fmt: skip
#: Subpackages that need more than NumPy.
OTHERS = ("plot", "torch", "jax", "testing", "transformers")


def first_uses(packages: list[str], seed: int) -> list[str]:
    """A line for each name that a thread did not get, or got as another object than the first did."""
    modules = {package: importlib.import_module(package) for package in packages}
    names = [
        (package, name)
        for package, module in modules.items()
        for name in module.__all__
        if name not in OTHERS or f"posenc.{name}" in packages
    ]
    got: list[dict[tuple[str, str], Any]] = [{} for _ in range(THREADS)]
    faults: list[str] = []
    together = threading.Barrier(THREADS)

    def use(thread: int) -> None:
        order = random.Random(seed * THREADS + thread).sample(names, len(names))
        together.wait()
        for package, name in order:
            try:
                got[thread][package, name] = getattr(modules[package], name)
            except Exception as error:
                faults.append(f"{package}.{name} in thread {thread}: {type(error).__name__}: {error}")

    threads = [threading.Thread(target=use, args=(thread,)) for thread in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for place in names:
        if any(mine.get(place) is not got[0].get(place) for mine in got):
            faults.append(f"{'.'.join(place)}: threads got different objects")
    return faults


if __name__ == "__main__":
    seed, *asked = sys.argv[1:] or ["0"]
    found = first_uses(asked or list(PACKAGES), int(seed))
    print(f"{THREADS} threads, {len(found)} faults", *found, sep="\n")
    sys.exit(bool(found))
