"""Arguments that must be tensors as kernels take them."""

from __future__ import annotations

from typing import Any

import torch

from posenc.core import arrays, validation


def plain_tensor(name: str, value: Any) -> Any:
    """A PyTorch tensor whose numbers are all there, on one device; nested, sparse and distributed ones are refused."""
    return arrays.whole_array(name, validation.instance(name, value, torch.Tensor, "a PyTorch tensor"))
