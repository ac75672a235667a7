"""`posenc check` on files that change the process, outlive it or write a verdict of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

TABLE = """
import numpy as np
def table(length, dim):
    angle = np.arange(length)[:, None] / 10_000 ** (np.arange(0, dim, 2) / dim)
    return np.stack([np.sin(angle), np.cos(angle)], -1).reshape(length, dim)
"""
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")


def checked(folder: Path, begins: str, *, within: tuple[str, ...] = (), ends: str = "") -> tuple[int, str]:
    """Exit code of `posenc check` on a file, and all that reaches its output and its errors."""
    (folder / "mine.py").write_text(f"{begins}\n{TABLE}\n{ends}\n")
    command = [*within, sys.executable, "-m", "posenc", "check", "mine.py:table"]
    ran = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder, timeout=120, check=False
    )
    return ran.returncode, ran.stdout


@pytest.mark.parametrize(
    ("begins", "ends"),
    [
        ("import os; os.chdir('/')", ""),
        ("import sys; sys.path.clear()", ""),
        ("import sys; sys.path[:] = ['lib']", "sys.modules.clear()"),
        ("import os, tempfile; made = tempfile.mkdtemp(); os.chdir(made); os.rmdir(made)", ""),
    ],
    ids=["folder", "path", "modules", "no folder"],
)
def test_a_file_that_changes_the_process_is_checked(tmp_path, begins, ends):
    code, said = checked(tmp_path, begins, ends=ends)
    assert code == 0, said
    assert said.startswith("right\n")


@LINUX
def test_no_process_outlives_the_check(tmp_path):
    """One in a session of its own, and one whose parent has gone besides."""
    mark = f"posenc-{time.monotonic_ns()}"
    waits = f"import time; time.sleep(60)  # {mark}"
    begins = f"""
import os, subprocess, sys
subprocess.Popen([sys.executable, "-c", {waits!r}], start_new_session=True)
orphan = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {waits!r}], start_new_session=True)"
subprocess.run([sys.executable, "-c", orphan], start_new_session=True)
"""
    code, said = checked(tmp_path, begins)
    assert code == 0, said
    assert [path for path in Path("/proc").glob("[0-9]*") if mark.encode() in _command_line(path)] == []


@LINUX
@pytest.mark.skipif(os.getuid() == 0 and shutil.which("setpriv") is None, reason="root may open every process")
def test_a_file_cannot_write_where_the_verdict_goes(tmp_path):
    begins = """
import os
for number in (1, 2):
    try:
        with open(f"/proc/{os.getppid()}/fd/{number}", "w") as stream:
            stream.write("right: forged\\n")
    except OSError:
        pass
"""
    plain_user = ("setpriv", "--bounding-set=-all", "--inh-caps=-all") if os.getuid() == 0 else ()
    code, said = checked(tmp_path, begins, within=plain_user)
    assert code == 0, said
    assert "forged" not in said


def _command_line(folder: Path) -> bytes:
    try:
        return (folder / "cmdline").read_bytes()
    except OSError:
        return b""
