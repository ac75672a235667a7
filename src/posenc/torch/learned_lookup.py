"""A sum with rows of a learned table in two operations, for inference: checks take longer than the sum of a token."""

from __future__ import annotations

from typing import Any

import torch

#: What adds two numbers in float32 at least and rounds once, as the definition does.
DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64)


def looked_up(table: Any, x: Any, positions: Any) -> Any:
    """x + table[positions], to the bits of the definition; None where the definition must decide.

    It decides where autograd records, a program is traced, arguments are of several kinds or do not fit, or a
    position has no row, which PyTorch refuses before it reads.
    """
    if torch.compiler.is_compiling() or type(x) is not torch.Tensor or type(positions) is not torch.Tensor:
        return None
    if torch.is_grad_enabled() and (x.requires_grad or table.requires_grad):
        return None
    if not _fits(table, x, positions) or torch._C._are_functorch_transforms_active() or torch._C._get_tracing_state():
        return None
    try:
        return x + torch.embedding(table, positions)
    except IndexError:  # the definition says which position it is
        return None


def _fits(table: Any, x: Any, positions: Any) -> bool:
    """Whether all lie in memory of the CPU in one dtype, a position for each vector."""
    dtype, shape = x.dtype, x.shape
    return bool(
        (table.is_cpu and x.is_cpu and positions.is_cpu)
        and (table.dtype is dtype and dtype in DTYPES and positions.dtype is torch.int64)
        and (type(table) is torch.nn.Parameter or type(table) is torch.Tensor)
        and (x.layout is torch.strided and not x.is_nested)
        and (positions.ndim == 1 and len(shape) > 1)
        and (shape[-1] == table.shape[-1] and shape[-2] == positions.shape[0])
    )
