"""`Library` for PyTorch, on the device of a call; PyTorch itself is imported by the caller, never here."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

import numpy as np

from posenc.core.arrays.array_library import Array, Library, each_once


@lru_cache(maxsize=1)
def _rows_with_gradient(torch: Any) -> Any:
    """Autograd function that picks rows of a table and then casts them; it sums gradients before it casts them back."""

    class Rows(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, table: Any, index: Any, dtype: Any) -> Any:
            ctx.save_for_backward(index)
            ctx.save_for_forward(index)
            ctx.shape, ctx.table_dtype, ctx.dtype = table.shape, table.dtype, dtype
            return table[index].to(dtype)

        @staticmethod
        def backward(ctx: Any, *incoming: Any) -> Any:
            total = incoming[0].new_zeros(ctx.shape)
            return total.index_put(ctx.saved_tensors, incoming[0], accumulate=True).to(ctx.table_dtype), None, None

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            return tangents[0].to(ctx.dtype)[ctx.saved_tensors[0]]

    return Rows


class Torch(Library):
    """PyTorch's functions and dtypes, and the device on which the tensors of a call live."""

    name = "torch"

    def __init__(self, device: Any) -> None:
        torch = sys.modules["torch"]
        self.xp: Any = torch
        self.device = device
        self.float64 = device.type != "mps"
        self.integer = torch.int64
        self.real = torch.float64 if self.float64 else torch.float32
        self.default = torch.float32

    def constant(self, values: Any, dtype: Any = None) -> Array:
        tensor = self.xp.as_tensor(np.asarray(values), dtype=dtype, device=self.device)
        if self.xp.compiler.is_compiling() and not self.xp.compiler.is_exporting():
            # A tracer takes an array of the host for an input, and its size for the length of another that is equal.
            self.xp._dynamo.mark_static(tensor)
        return tensor

    def arange(self, count: int) -> Array:
        return self.xp.arange(count, device=self.device)

    def astype(self, array: Array, dtype: Any) -> Array:
        return array.to(dtype)

    def scaled(self, integers: Array, factor: float) -> Array:
        return integers.to(self.real) * factor

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Array:
        return self.xp.empty(shape, dtype=dtype, device=self.device)

    def pieces(self, array: Array, size: int) -> Sequence[Array]:
        # Not slices, each of which fills a gradient as large as the whole.
        return [array] if self.compiling() else array.split(size, -1)

    def concrete(self, array: Array) -> bool:
        torch = self.xp
        if torch.compiler.is_compiling() or array.device.type != "cpu":
            return False
        plain = type(array) in (torch.Tensor, torch.nn.Parameter)
        return plain and not torch._C._functorch.is_functorch_wrapped_tensor(array)

    def extremes(self, array: Array) -> tuple[Any, Any] | None:
        if array.numel() == 1 and self.concrete(array):  # as in each step of decoding
            number = array.item()
            return number, number
        repeats = 0 in array.stride() and self.concrete(array)
        return super().extremes(each_once(array, array.stride()) if repeats else array)

    def rows(self, table: Array, index: Array, dtype: Any) -> Array:
        torch = self.xp
        if not (torch.is_grad_enabled() and table.requires_grad) or table.dtype == dtype:
            return table[index].to(dtype)
        if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active() or torch.jit.is_tracing():
            return table.to(dtype)[index]  # tracers see through PyTorch's own operators alone
        return _rows_with_gradient(torch).apply(table, index, dtype)

    def rows_of_heads(self, table: Array, index: Array) -> Array:
        return table.index_select(1, index)  # whole rows at a time: a tenth of the time

    def detach(self, array: Array) -> Array:
        return array.detach()

    def compiling(self) -> bool:
        return bool(self.xp.compiler.is_compiling())

    def full_precision(self) -> AbstractContextManager[Any]:
        torch, where = self.xp, self.device.type
        # A program that is traced without autocast may run with it.
        on = torch.amp.is_autocast_available(where) and (self.compiling() or torch.is_autocast_enabled(where))
        return torch.autocast(where, enabled=False) if on else nullcontext()

    def rectified(self, x: Array, leak: float) -> Array:
        return self.xp.nn.functional.leaky_relu_(x, leak) if leak else self.xp.relu_(x)

    def take_along(self, array: Array, index: Array, axis: int = -1) -> Array:
        return self.xp.gather(
            array, axis, index
        )  # take_along_dim fixes lengths while exporting; gather leaves them free

    def entries(self, table: Array, row: Array, head: Array) -> Array:
        of_heads = head.ndim == row.ndim > 1 and row.shape[0] == 1 and head.numel() == head.shape[0]
        if not of_heads or not self.concrete(table):
            return table[row, head]
        # The same rows for each head, whole rows at a time: a seventh of the time, and a quarter with the gradient.
        of_head = table.index_select(1, head.flatten()).T
        return of_head.index_select(1, row.flatten()).reshape(head.numel(), *row.shape[1:])

    def sum_along(self, array: Array, index: Array, count: int) -> Array:
        zeros = self.xp.zeros((*array.shape[:-1], count), dtype=array.dtype, device=array.device)
        return zeros.scatter_add(-1, index, array)

    def order(self, array: Array) -> Array:
        return self.xp.argsort(array, dim=-1, stable=True)

    def sigmoid(self, x: Array) -> Array:
        return self.xp.sigmoid(x)

    def log_sigmoid(self, x: Array) -> Array:
        return self.xp.nn.functional.logsigmoid(x)

    def times_power_of_two(self, array: Array, power: Array) -> Array:
        return array * self.xp.exp2(power)
