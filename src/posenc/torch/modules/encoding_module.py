"""The module of an encoding: a frozen encoding, a seed, and the parameters that the encoding names."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np
import torch

from posenc.core import arrays, validation
from posenc.core.doors import Encoding, Params


class EncodingModule(torch.nn.Module):  # type: ignore[misc]
    """Module of an encoding: its parameters are float32 `Parameter`s under the encoding's own names; no buffers.

    Args:
        encoding: A frozen encoding.
        seed: Seed of the parameters, the same numbers at every `reset_parameters()`; None for PyTorch's default
            generator, as `torch.nn.Linear` draws.
    """

    encoding: Encoding

    def __init__(self, encoding: Encoding, seed: int | None) -> None:
        super().__init__()
        self.encoding = encoding
        self.seed = None if seed is None else validation.integer("seed", seed, 0, 2**63 - 1)
        for name, shape in encoding.shapes.items():
            _register_parameter(self, name, torch.nn.Parameter(torch.empty(shape, dtype=torch.float32)))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters, also after `to_empty`: with a seed the same values every time."""
        if self.encoding.shapes:
            for name, value in self.encoding.init(seeded_generator(self.seed)).items():
                fill(self.get_parameter(name), value)

    @property
    def params(self) -> Params | None:
        """Parameters by the encoding's names; None if nothing is learned."""
        # Not get_parameter, which refuses the plain tensors that functional_call puts in their place.
        shapes = self.encoding.shapes
        return {name: attrgetter(name)(self) for name in shapes} if shapes else None

    def extra_repr(self) -> str:
        """Show the encoding."""
        return repr(self.encoding)


def encoding_and_params(encoding: Any, params: Params | None) -> tuple[Any, Params | None]:
    """Return (encoding, params) as given, or those that a module holds."""
    if not isinstance(encoding, EncodingModule):
        return encoding, params
    if params is not None:
        raise ValueError(
            f"params must be left out for a module, which holds its own; got {validation.shown(params)}. Give "
            "module.encoding for others."
        )
    return encoding.encoding, encoding.params


def seeded_generator(seed: int | None) -> np.random.Generator:
    """NumPy generator with this seed, or one drawn from PyTorch's default generator for None."""
    if seed is None:
        drawn = torch.randint(2**63 - 1, (), device="cpu")
        seed = (
            int(drawn) if arrays.library(drawn).concrete(drawn) else 0
        )  # a fake tensor has no number, nor have the parameters
    return np.random.default_rng(seed)


def fill(parameter: Any, value: np.ndarray) -> None:
    """Write drawn numbers into a parameter, wherever it lives and whatever its dtype.

    Of a parameter that `fully_shard` has divided, each process gets its own shard of the numbers of the first process.
    """
    drawn = torch.tensor(np.asarray(value), device="cpu")
    if hasattr(parameter, "device_mesh"):
        drawn = _distributed(drawn, parameter)
    with torch.no_grad():
        parameter.copy_(drawn)


def _distributed(value: Any, like: Any) -> Any:
    """Distribute a tensor over the device mesh of `like`, with the same placements."""
    from torch.distributed.tensor import distribute_tensor  # heavy, and loaded where something is divided

    return distribute_tensor(value.to(like.device), like.device_mesh, like.placements)


def _register_parameter(module: Any, name: str, parameter: Any) -> None:
    """Register a parameter under a dotted name, as `state_dict` writes it."""
    *path, last = name.split(".")
    for part in path:
        if part not in dict(module.named_children()):
            module.add_module(part, torch.nn.Module())
        module = module.get_submodule(part)
    module.register_parameter(last, parameter)
