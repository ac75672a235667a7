"""The instruction that rounds to bfloat16 takes subnormal numbers for zero. How the kernel keeps them, by the
instruction where the processor has it, and by a model of it in C++ anywhere."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from posenc.kernels import native

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "native" / "source"
COMPILER = os.environ.get("CXX", "g++")
AVX512 = ["-mavx2", "-mf16c", "-mfma", *(f"-mavx512{name}" for name in ("f", "bw", "vl", "dq", "bf16"))]
SETS = native.instruction_sets() if native.MISSING is None else ()


@pytest.mark.skipif(shutil.which(COMPILER) is None, reason="no compiler was found")
@pytest.mark.parametrize(
    "flags",
    [
        pytest.param([f'-DBFLOAT16_MODEL="{HERE / "bfloat16_model.h"}"'], id="model"),
        pytest.param(
            AVX512,
            marks=pytest.mark.skipif("avx512bf16" not in SETS, reason="the processor has no such instruction"),
            id="instruction",
        ),
    ],
)
def test_every_upper_half(flags: list[str], tmp_path: Path) -> None:
    """All 2^16 upper halves with lower halves at and around the middle: the bits of rounding in integers, though the
    instruction alone flushes subnormal numbers, as its model says."""
    program = tmp_path / "rounding"
    options = ["-std=c++20", "-O1", "-ffp-contract=off", "-w", f"-I{SOURCE}", f"-I{HERE}"]
    source = str(HERE / "bfloat16_rounding.cpp")
    subprocess.run([COMPILER, *options, *flags, source, "-o", str(program)], check=True)
    ran = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
