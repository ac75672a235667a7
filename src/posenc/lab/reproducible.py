"""Equal numbers for equal encodings on one machine."""

from __future__ import annotations

import os

import torch


def reproducible(device: str = "cpu") -> None:
    """One thread and no kernel whose sums depend on timing, for this whole process.

    On an accelerator, which lacks some such kernels, PyTorch warns and takes the others.
    """
    torch.set_num_threads(1)
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it cuBLAS refuses, or sums in any order
    torch.use_deterministic_algorithms(True, warn_only=device != "cpu")
    # Filling memory that is about to be written is a help in finding bugs, at 6% of the time.
    torch.utils.deterministic.fill_uninitialized_memory = False
