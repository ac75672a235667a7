"""The scripts of docs/onnx.md, where ONNX Runtime and the exporter's package are installed; its doctests run anyway."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "onnx.md"
SCRIPTS = [block for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL) if ">>>" not in block]
ABSENT = [name for name in ("onnxruntime", "onnxscript") if find_spec(name) is None]


@pytest.mark.nightly
@pytest.mark.skipif(bool(ABSENT), reason=f"{' and '.join(ABSENT)}, needed by the page alone, is not installed")
@pytest.mark.parametrize("script", SCRIPTS, ids=["export", "node"])
def test_the_scripts_of_the_page_run_in_onnx_runtime(script: str, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-c", script]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
