"""PerLayer: the encoding of each layer of a model."""

from __future__ import annotations

from dataclasses import dataclass

from posenc.core import validation
from posenc.core.declared_fields import Declared
from posenc.core.doors import Encoding


@dataclass(frozen=True)
class PerLayer(Declared):
    """Encodings of the layers of a model; None for a layer without one. A schedule, not an encoding.

    Args:
        layers: An encoding or None for each layer, at least one.

    Raises:
        TypeError: `layers` is no tuple of encodings.

    Example:
        >>> from posenc import RoPE
        >>> PerLayer((RoPE(dim=8), None)).at(1) is None
        True
    """

    layers: tuple[Encoding | None, ...]

    def _check_together(self) -> None:
        if not isinstance(self.layers, tuple | list) or not self.layers:
            raise TypeError(
                f"layers must be a tuple of encodings, at least one; got {validation.shown(self.layers)}. Give one for "
                "each layer."
            )
        for layer in self.layers:
            if layer is not None:
                validation.instance("layers", layer, Encoding, "a tuple of encodings or None")
        validation.settle(self, layers=tuple(self.layers))

    def at(self, layer: int) -> Encoding | None:
        """Encoding of a layer.

        Args:
            layer: Number of the layer, from 0.

        Returns:
            Its encoding; None where it has none.

        Raises:
            TypeError: `layer` is no whole number.
            ValueError: There is no such layer.
        """
        return self.layers[validation.integer("layer", layer, 0, len(self.layers) - 1)]
