"""The tensors that a torch module holds, registered or not, and whether it can be moved."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from posenc.diagnosis.named_arrays import on_host

#: The most numbers of a tensor whose values are compared.
MOST = 1 << 22


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor by its path in the module.

    Args:
        name: Path in the module.
        kind: "parameter", "buffer", or "plain" for an attribute that the module does not know of.
        shape: Its sizes.
        values: Its numbers as float64; None where there are too many.
    """

    name: str
    kind: Literal["parameter", "buffer", "plain"]
    shape: tuple[int, ...]
    values: np.ndarray | None = None


def tensors_of(module: Any) -> list[Tensor]:
    """Tensors that a torch module holds; none for other objects."""
    if not hasattr(module, "named_modules"):
        return []
    registered = [("parameter", *named) for named in module.named_parameters()]
    registered += [("buffer", *named) for named in module.named_buffers()]
    named_tensors = [*registered, *(("plain", *named) for named in _plain(module))]
    return [Tensor(name, kind, tuple(value.shape), _values(value)) for kind, name, value in named_tensors]


def moving_error(module: Any, positional: tuple[Any, ...], named: Mapping[str, Any]) -> str:
    """Error of a module with plain tensors that is moved to another device and called there; "" where it works.

    The device is "meta", which every build of torch has and which mixes with no other.
    """
    if not hasattr(module, "named_modules") or not any(True for _ in _plain(module)):
        return ""
    try:
        moved = copy.deepcopy(module).to("meta")
        moved(*map(_moved, positional), **{name: _moved(value) for name, value in named.items()})
    except Exception as error:
        return " ".join(str(error).split())[:200] or type(error).__name__
    return ""


def _plain(module: Any) -> Iterator[tuple[str, Any]]:
    for path, owner in module.named_modules():
        for name, value in vars(owner).items():
            if hasattr(value, "detach") and hasattr(value, "device"):
                yield (f"{path}.{name}" if path else name), value


def _moved(value: Any) -> Any:
    return value.to("meta") if hasattr(value, "detach") else value


def _values(value: Any) -> np.ndarray | None:
    if value.numel() > MOST or value.is_complex():
        return None
    return on_host(value).values.astype(np.float64)
