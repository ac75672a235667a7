"""Views of values by distance as values by (query, key) pair, and back: a distance is a diagonal of pairs."""

from __future__ import annotations

from typing import Any

import torch


def askew(by_step: Any, columns: int) -> Any:
    """View values by distance as values by pair: out[..., i, j] = by_step[..., i, j - i + rows - 1], j < columns.

    Example:
        >>> import torch
        >>> askew(torch.arange(6).reshape(2, 3), 2).tolist()
        [[1, 2], [3, 4]]
    """
    rows, count = by_step.shape[-2:]
    if rows == 1:
        return by_step
    flat = by_step.flatten(-2)[..., rows - 1 : rows - 1 + rows * (count - 1)]
    return flat.unflatten(-1, (rows, count - 1))[..., :columns]


def upright(x: Any) -> Any:
    """Undo `askew`: copy values by pair, (..., rows, columns), into values by distance, 0 where no pair has one.

    Example:
        >>> import torch
        >>> upright(torch.tensor([[1, 2], [3, 4]])).tolist()
        [[0, 1, 2], [3, 4, 0]]
    """
    rows, columns = x.shape[-2:]
    flat = torch.nn.functional.pad(x, (0, rows - 2)).flatten(-2) if rows > 1 else x.flatten(-2)
    return torch.nn.functional.pad(flat, (rows - 1, 1)).unflatten(-1, (rows, rows + columns - 1)) if rows > 1 else x
