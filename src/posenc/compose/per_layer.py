"""Which encoding each layer uses."""

from __future__ import annotations

from dataclasses import dataclass

from posenc.core import validation
from posenc.core.declared_fields import Declared
from posenc.core.doors import Encoding


@dataclass(frozen=True)
class PerLayer(Declared):
    """Which encoding each layer of a model uses; None for a layer without one. A schedule, not an encoding.

    Example:
        >>> from posenc import RoPE
        >>> PerLayer((RoPE(dim=8), None)).at(1) is None
        True
    """

    layers: tuple[Encoding | None, ...]

    def _check_together(self) -> None:
        if not isinstance(self.layers, tuple | list) or not self.layers:
            raise TypeError(
                f"layers must be a tuple of encodings, at least one; got {validation.shown(self.layers)}. Give one for each "
                "layer."
            )
        for layer in self.layers:
            if layer is not None:
                validation.instance("layers", layer, Encoding, "a tuple of encodings or None")
        validation.settle(self, layers=tuple(self.layers))

    def at(self, layer: int) -> Encoding | None:
        """The encoding of a layer, counted from 0."""
        return self.layers[validation.integer("layer", layer, 0, len(self.layers) - 1)]
