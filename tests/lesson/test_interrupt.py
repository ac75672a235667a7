"""Ctrl-C while models train: a whole page, one line, nothing left running."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from posenc.lab.tokens import default_text

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="reads the process table of Linux"),
]


#: What a shell starts in the background ignores Ctrl-C, and hands that on to all that it starts.
HEEDING = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("posenc", run_name="__main__")
"""


def children(pid):
    return [
        int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()
    ]


def until(what, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.05)
    raise TimeoutError(f"nothing after {seconds} seconds")


def test_ctrl_c_while_training(tmp_path):
    text, output = tmp_path / "text.txt", tmp_path / "tour.html"
    text.write_text(default_text()[:20_000], encoding="utf-8")
    command = [
        sys.executable,
        "-c",
        HEEDING,
        "tour",
        "--text",
        str(text),
        "--output",
        str(output),
        "--steps",
        "1000000",
    ]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    ) as process:
        try:
            workers = until(lambda: children(process.pid), 120)
            time.sleep(1)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode == 130
    assert said.splitlines()[-1] == f"Stopped. {output} holds a partial page, with 0 of 6 models trained."
    assert "Traceback" not in said
    page = output.read_text(encoding="utf-8")
    assert page.rstrip().endswith("</html>")
    assert "This page is partial." in page
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text.txt", "tour.html"]
    assert not [pid for pid in workers if Path(f"/proc/{pid}").exists()]
