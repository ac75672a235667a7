"""Arguments that must be tensors as kernels take them."""

from __future__ import annotations

from typing import Any

import torch

from posenc import _array, _check


def plain_tensor(name: str, value: Any) -> Any:
    """A PyTorch tensor whose numbers are all there, on one device; nested, sparse and distributed ones are refused."""
    return _array.whole_array(name, _check.instance(name, value, torch.Tensor, "a PyTorch tensor"))
