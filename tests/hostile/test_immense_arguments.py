"""Arguments of more numbers than any memory holds: answered within 50 ms and 16 MiB by every public entry."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from generator.reference import PACKAGES
from hostile.figures import keep_figures

TESTS = Path(__file__).parents[1]
#: In a process of its own, which can ask for 512 MiB more than it has when the first call begins, and no more.
SCRIPT = """
import json, random, resource, sys, warnings
sys.path[:0] = sys.argv[1:3]
warnings.simplefilter("ignore")
from hostile.call_corpus import cost, immense_calls_of
from hostile.good_calls import entries, good_calls
packages, count, seed = json.loads(sys.argv[3])
drawn = random.Random(seed)
asked = entries(tuple(packages))
asked = dict(drawn.sample(list(asked.items()), min(count, len(asked))))
calls = [call for good in good_calls(asked) for call in immense_calls_of(good)]
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (1 << 29), -1))
faults = [f"{call}: {fault}" for call in calls if (fault := cost(call)) is not None]
print("\\n" + json.dumps([len(calls), faults]))
"""


def asked(packages: list[str], count: int, folder: Path) -> tuple[int, list[str]]:
    """Calls made, and a line for each that is not answered well."""
    arguments = (str(TESTS), str(TESTS.parent / "docs" / "scripts"), json.dumps([packages, count, 7]))
    command = [sys.executable, "-c", SCRIPT, *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=3000, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    calls, faults = json.loads(ran.stdout.splitlines()[-1])
    return calls, faults


needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="the limit of memory is Linux's")


@needs_linux
def test_positions_of_a_terabyte_are_answered_at_once(tmp_path):
    calls, faults = asked(["posenc.positions"], 12, tmp_path)
    assert calls >= 100
    assert faults == []


@needs_linux
@pytest.mark.nightly
def test_every_entry_answers_immense_arguments_at_once(tmp_path):
    calls, faults = asked(list(PACKAGES), 10_000, tmp_path)
    keep_figures({"immense": [calls, calls - len(faults)]})
    assert calls >= 10_000
    assert faults == []


@needs_linux
def test_a_call_that_takes_memory_is_told():
    """Planted: an entry that copies its argument, and one that reads each number."""
    code = """
from hostile.call_corpus import cost, HostileCall
from hostile.good_calls import GoodCall
import numpy as np
def copies(x): return np.array(x)
def allocates(x): return bytearray(1 << 25)
print([cost(HostileCall(GoodCall("here.it", each, {}), "x", "range")) for each in (copies, allocates)])
"""
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_AS, (3 << 30, -1))\n{code}"
    ran = subprocess.run([sys.executable, "-c", limited], capture_output=True, text=True, cwd=TESTS, env=_environment())
    assert "MemoryError" in ran.stdout, ran.stderr[-500:]
    assert "bytes" in ran.stdout


def _environment() -> dict[str, str]:
    scripts = TESTS.parent / "docs" / "scripts"
    return {**os.environ, "PYTHONPATH": f"{TESTS}:{scripts}:{os.environ.get('PYTHONPATH', '')}"}
