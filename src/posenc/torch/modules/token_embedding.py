"""The input of the first layer: embeddings of tokens, scaled, plus vectors of their positions."""

from __future__ import annotations

from typing import Any, Literal

import torch

from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.kernels import native_embedding as kernel
from posenc.torch.tensor_arguments import plain_tensor

IMPLS = ("auto", "reference", "native")


def embed(
    ids: Array,
    weight: Array,
    table: Array,
    *,
    scale: float,
    impl: Literal["auto", "reference", "native"] = "auto",
) -> Array:
    """Return weight[ids]·scale + table, in one pass, rounded once to the dtype of the weight.

    Product and sum are formed in the dtype of the table. Gradients reach weight (no sparse one) and table.

    Args:
        ids: Token ids, int64 or int32, (batch, n).
        weight: (vocabulary, d), any float dtype.
        table: (n, d), or (batch, n, d) for positions of their own, as an encoding's `embed` gives it: float32, and
            float64 for a weight of float64.
        scale: A plain number.
        impl: "reference" is four operations of PyTorch; "native" the kernel of posenc-kernels for the CPU, to the same
            bits; "auto" is that where it can, else the reference.

    Returns:
        The sum, (batch, n, d).

    Raises:
        TypeError: An argument is no dense tensor of the dtype stated.
        ValueError: Shapes or devices do not belong together, an id is outside the vocabulary, or the `impl` that is
            named cannot take these tensors.

    References:
        Vaswani et al. 2017, arXiv:1706.03762, §3.4 (the factor, √d there) and §3.5 (the sum).

    Example:
        >>> import torch, posenc
        >>> weight, ids = torch.ones(10, 4), torch.tensor([[3, 7]])
        >>> embed(ids, weight, posenc.Sinusoidal(dim=4).embed(torch.arange(2)), scale=2.0)
        tensor([[[2.0000, 3.0000, 2.0000, 3.0000],
                 [2.8415, 2.5403, 2.0100, 2.9999]]])
    """
    validation.choice("impl", impl, IMPLS)
    _check_tensors(ids, weight, table)
    scale = validation.real("scale", scale, -1e30, 1e30)
    try:
        return embedded(ids, weight, table, scale, impl)
    except (RuntimeError, IndexError):  # whoever gathers rows looks at every id first
        check_in_vocabulary(ids, weight.shape[0])
        raise


def embedded(ids: Array, weight: Array, table: Array, scale: float, impl: str = "auto") -> Array:
    """Compute `embed` for arguments that have been checked."""
    if impl != "reference":
        reason = kernel.unsupported_reason(ids, weight, table)
        if reason is None:
            return kernel.scaled_embedding(
                ids.to(torch.int64), weight, table if table.ndim == 3 else table[None], scale
            )
        if impl == "native":
            raise ValueError(f"impl must be one that can take these tensors; got 'native', but {reason}. Use 'auto'.")
    return (torch.nn.functional.embedding(ids, weight).to(table.dtype) * scale + table).to(weight.dtype)


def check_ids(ids: Any, order: str = "(batch, n)") -> None:
    """Refuse what is no tensor of token ids with two axes in this order."""
    if not isinstance(ids, torch.Tensor) or ids.dtype not in (torch.int32, torch.int64):
        raise TypeError(
            f"ids must be an int64 or int32 tensor; got {validation.shown(getattr(ids, 'dtype', ids))}. Give token ids."
        )
    if ids.ndim != 2:
        raise ValueError(f"ids must have shape {order}; got {tuple(ids.shape)}. Add the batch axis.")


def check_in_vocabulary(ids: Array, vocabulary: int) -> None:
    """Refuse ids without a row, where they can be seen."""
    ends = arrays.library(ids).extremes(ids)
    if ends is not None and not (ends[0] >= 0 and ends[1] < vocabulary):
        raise ValueError(
            f"ids must be from 0 to {vocabulary - 1}; got values from {ends[0]} to {ends[1]}. Check the vocabulary."
        )


def _check_tensors(ids: Any, weight: Any, table: Any) -> None:
    for name, x in (("ids", ids), ("weight", weight), ("table", table)):
        plain_tensor(name, x)
        if x.device != ids.device:
            raise ValueError(f"{name} must be on the device of ids, {ids.device}; got {x.device}. Move it there.")
    check_ids(ids)
    if not weight.is_floating_point():
        raise TypeError(f"weight must hold floats; got {weight.dtype}. Give the embedding of the tokens.")
    if weight.ndim != 2:
        raise ValueError(f"weight must have shape (vocabulary, d); got {tuple(weight.shape)}. Give one row a token.")
    wide = torch.float64 if weight.dtype == torch.float64 else torch.float32
    if table.dtype != wide:
        raise TypeError(
            f"table must be {wide} for a weight of {weight.dtype}; got {table.dtype}. Make it with dtype={wide}."
        )
    if tuple(table.shape) not in ((ids.shape[1], weight.shape[1]), (*ids.shape, weight.shape[1])):
        raise ValueError(
            f"table must have shape {(ids.shape[1], weight.shape[1])} or {(*ids.shape, weight.shape[1])}; got "
            f"{tuple(table.shape)}. Give a vector for each token."
        )
