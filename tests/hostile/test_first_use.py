"""First use of every public name from many threads at once, in fresh processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("first_use.py")
HEAVY = ("torch", "caches", "jax", "plot", "transformers", "testing")


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("packages", [[], *([f"posenc.{name}"] for name in HEAVY)])
def test_every_name_is_there_for_every_thread(seed, packages):
    for package in packages:
        pytest.importorskip(package)
    ran = subprocess.run(
        [sys.executable, SCRIPT, str(seed), *packages], capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-1000:]
