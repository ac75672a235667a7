"""`Library` for JAX, with or without 64-bit numbers; JAX itself is imported by the caller, never here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from posenc.core.arrays.array_library import Array, Library, host


class Jax(Library):
    """JAX's functions and dtypes, as wide as its configuration allows."""

    name = "jax"

    def __init__(self) -> None:
        self.jax: Any = sys.modules["jax"]
        self.xp = self.jax.numpy
        self.float64 = bool(self.jax.config.jax_enable_x64)
        self.integer = self.xp.int64 if self.float64 else self.xp.int32
        self.real = self.xp.float64 if self.float64 else self.xp.float32
        self.default = self.xp.float32

    def concrete(self, array: Array) -> bool:
        return not isinstance(array, self.jax.core.Tracer)

    def check_size(self, name: str, count: int, dtype: Any, *arrays: Array) -> None:
        if all(map(self.concrete, arrays)):
            devices = max((len(array.sharding.device_set) for array in arrays), default=1)
            super().check_size(name, -(-count // devices), dtype)  # of which each device holds its share

    def detach(self, array: Array) -> Array:
        return self.jax.lax.stop_gradient(array)

    def clamped(self, array: Array, least: float | None, most: float | None = None) -> Array:
        where = self.xp.where  # the derivative of jax.numpy.clip is a half at a bound
        array = array if least is None else where(array < least, least, array)
        return array if most is None else where(array > most, most, array)

    def rows(self, table: Array, index: Array, dtype: Any) -> Array:
        if table.dtype == dtype:
            return table[index]

        def cast(table: Array, index: Array) -> Array:
            return table[index].astype(dtype)

        def tangent(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
            return cast(*primals), tangents[0].astype(dtype)[primals[1]]  # transposed, it adds before it rounds

        rows = self.jax.custom_jvp(cast)
        rows.defjvp(tangent)
        return rows(table, index)

    def paired(self, first: Array, second: Array) -> Array:
        # Written where they belong: XLA would make both anew for each of the numbers that it joins.
        pairs = self.xp.zeros((*first.shape, 2), first.dtype)
        return pairs.at[..., 0].set(first).at[..., 1].set(second)

    def sigmoid(self, x: Array) -> Array:
        return self.jax.nn.sigmoid(x)

    def product(self, left: Array, right: Array) -> Array:
        return self.xp.matmul(left, right, precision="highest")  # accelerators else round the factors

    def contracted(self, left: Array, right: Array) -> Array:
        return self.xp.einsum("...w,...w->...", left, right, precision="highest")

    def _added(self, total: Array, cells: tuple[Array, Array], numbers: Array) -> Array:
        return total.at[cells].add(numbers)


Method = TypeVar("Method", bound=Callable[..., Any])


def broadcasting(method: Method) -> Method:
    """Wrap a method so that JAX adds missing axes in front within it, as NumPy and PyTorch do.

    So `jax_numpy_rank_promotion` governs the user's own code alone.
    """

    @wraps(method)
    def within(*arguments: Any, **named: Any) -> Any:
        if "jax" not in sys.modules or not _ranks_are_strict():
            return method(*arguments, **named)
        with sys.modules["jax"].numpy_rank_promotion("allow"):
            return method(*arguments, **named)

    return cast(Method, within)


@host
def _ranks_are_strict() -> bool:
    """Whether JAX is loaded and would warn or raise where arrays of different ranks broadcast."""
    jax = sys.modules.get("jax")
    return jax is not None and jax.config.jax_numpy_rank_promotion != "allow"
