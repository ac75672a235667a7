"""The Triton kernels in Triton's interpreter, and compiled for a GPU; on one, where there is one."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from posenc import RoPE
from posenc.torch import rotate

HERE = Path(__file__).parent
needs_triton = pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed (Linux alone has it)")


def process(script: str, *arguments: str, **environment: str) -> None:
    """A process of its own: its interpreter is chosen before Triton is imported, and its compiler warns of defaults."""
    ran = subprocess.run(
        [sys.executable, str(HERE / script), *arguments],
        env={**os.environ, "PYTHONOPTIMIZE": "", **environment},  # whose assertions are to be made
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]


def test_no_case_is_none_that_passes():
    with pytest.raises(AssertionError, match="name a case at least"):
        process("triton_cases.py", TRITON_INTERPRET="1")


TABLES = (
    *("every_encoding", "tables_that_lie_differently", "heads_of_their_own", "queries_alone"),
    *("gradients", "refusals", "caches", "norms"),
)
ANGLES = ("tracers", "exact_waves", "exact_rotations", "angles_without_a_table", "benchmarked_shapes")


@needs_triton
@pytest.mark.parametrize(
    "cases",
    [pytest.param(TABLES, id="tables"), pytest.param(ANGLES, id="without tables", marks=pytest.mark.nightly)],
)
def test_interpreted(cases: tuple[str, ...]) -> None:
    process("triton_cases.py", *cases, TRITON_INTERPRET="1")


@needs_triton
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU on this machine")
@pytest.mark.parametrize("cases", [TABLES, (*ANGLES, "captured")], ids=["tables", "without tables"])
def test_on_a_gpu(cases: tuple[str, ...]) -> None:
    process("triton_cases.py", *cases, TRITON_INTERPRET="0")


@needs_triton
@pytest.mark.nightly
def test_compiled_for_a_gpu_that_is_not_there(tmp_path: Path) -> None:
    process("triton_compiled.py", TRITON_CACHE_DIR=str(tmp_path))


@needs_triton
def test_how_the_work_is_cut() -> None:
    from posenc.kernels.triton.launch import PAIRS_A_PROGRAM, tile, warps

    for heads in range(1, 130):
        for block in (1, 32, 64, 128, 2048):
            size = tile(heads, block)
            assert size * block <= max(PAIRS_A_PROGRAM, block)
            assert -(-heads // size) * size * 3 <= heads * 4
            assert warps((size,), block) in (1, 2, 4, 8)
    assert (tile(32, 64), tile(8, 64), tile(40, 64), tile(12, 64)) == (32, 8, 16, 16)


def test_a_cpu_is_not_for_triton() -> None:
    rotation = RoPE(dim=8).rotation(torch.arange(3))
    with pytest.raises(ValueError, match=r"^impl must be one that can rotate these tensors; got 'triton', but"):
        rotate(torch.zeros(1, 2, 3, 8), torch.zeros(1, 2, 3, 8), rotation, layout="bhtd", impl="triton")
