"""What a model adds to its embeddings, in place of its own table of positions or before its first layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from posenc.torch.modules.modules import Add
from posenc.transformers.swapping.layer_positions import checked_positions


class InputPositions(torch.nn.ModuleList):  # type: ignore[misc]
    """Encodings that are added to the input of the first layer, where the model has no table of positions."""

    def __init__(self, added: Sequence[Add]) -> None:
        super().__init__(added)

    def before(self, module: Any, given: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Before the first layer: its input with every encoding added."""
        hidden = given[0] if given else named["hidden_states"]
        positions = checked_positions(named.get("position_ids"), hidden)
        for add in self:
            hidden = add(hidden, positions)
        return ((hidden, *given[1:]), named) if given else ((), named | {"hidden_states": hidden})


class TablePositions(torch.nn.ModuleList):  # type: ignore[misc]
    """Encodings in the place of a learned table of positions, whose rows also say where each token stands.

    Args:
        offset: The row that the first token reads. A model with such a table gives its layers no positions, so
            `hand_on` does, to every layer of one call.
    """

    def __init__(self, added: Sequence[Add], offset: int, last_layer: Any) -> None:
        super().__init__(added)
        self.offset, self.last_layer = offset, (last_layer,)  # not a child of ours
        self.positions: Any = None

    def before(self, module: Any, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """Before the table is read: any row will do, so that positions may lie beyond its last."""
        self.positions = given[0] - self.offset
        return (torch.full_like(given[0], self.offset), *given[1:])

    def instead(self, module: Any, given: tuple[Any, ...], rows: Any) -> Any:
        """The sum of the encodings in place of the rows that were read."""
        added = torch.zeros_like(rows)
        for add in self:
            added = add(added, self.positions)
        return added

    def hand_on(self, layer: Any, given: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Before each layer: the positions of its tokens, which a layer keeps that is computed again for gradients."""
        positions = self.positions
        if layer is self.last_layer[0]:
            self.positions = None
        return given, named | {"position_ids": positions}
