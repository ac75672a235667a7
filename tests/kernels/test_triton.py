"""The Triton kernel in Triton's interpreter, a process a case: the interpreter is chosen before Triton is imported."""

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

CASES = Path(__file__).with_name("triton_cases.py")
needs_triton = pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed (Linux alone has it)")


@needs_triton
@pytest.mark.parametrize("case", ["every_record", "heads_of_their_own", "gradients", "refusals"])
def test_interpreted(case: str) -> None:
    ran = subprocess.run(
        [sys.executable, str(CASES), case],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]


@needs_triton
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU on this machine")
def test_on_a_gpu() -> None:
    turn = RoPE(dim=128, pairing="halves").turn(torch.arange(67, device="cuda") + 100_000)
    q, k = torch.randn(2, 12, 67, 128, device="cuda"), torch.randn(2, 4, 67, 128, device="cuda")
    for found, wanted in zip(
        rotate(q, k, turn, layout="bhtd", impl="triton"),
        rotate(q, k, turn, layout="bhtd", impl="reference"),
        strict=True,
    ):
        # A product may be fused with the sum: one rounding of a number below 2·|x|.
        assert (found - wanted).abs().max() <= 2**-23 * 2 * q.abs().max()


def test_a_cpu_is_not_for_triton() -> None:
    turn = RoPE(dim=8).turn(torch.arange(3))
    with pytest.raises(ValueError, match=r"^impl must be one that can turn these tensors; got 'triton', but"):
        rotate(torch.zeros(1, 2, 3, 8), torch.zeros(1, 2, 3, 8), turn, layout="bhtd", impl="triton")
