"""Broadcasting within posenc, whatever `jax_numpy_rank_promotion` asks of the user's own code."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from posenc.core.arrays.array_library import host

Method = TypeVar("Method", bound=Callable[..., Any])


def broadcasting(method: Method) -> Method:
    """The same method, within which JAX adds missing axes in front, as NumPy and PyTorch do."""

    @wraps(method)
    def within(*arguments: Any, **named: Any) -> Any:
        if "jax" not in sys.modules or not _ranks_are_strict():
            return method(*arguments, **named)
        with sys.modules["jax"].numpy_rank_promotion("allow"):
            return method(*arguments, **named)

    return cast(Method, within)


@host
def _ranks_are_strict() -> bool:
    """Whether JAX is loaded and would warn or raise."""
    jax = sys.modules.get("jax")
    return jax is not None and jax.config.jax_numpy_rank_promotion != "allow"
