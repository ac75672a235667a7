"""Hidden states and logits of a model for some tokens, and how far two runs differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True, eq=False)
class ModelStates:
    """States of a run, in float64.

    Attributes:
        states: What enters the first layer, what each layer returns, and the logits where the model has them: tensors
            (batch, n, channels).
    """

    states: tuple[torch.Tensor, ...]

    def names(self) -> list[str]:
        """Names of `states`, in order: "embedding", "layer 0", …, "logits"."""
        layers = [f"layer {number}" for number in range(len(self.states) - 2)]
        return ["embedding", *layers, "logits"]

    def tokens(self, rows: slice, start: int, end: int | None = None) -> ModelStates:
        """Return the states of some rows and tokens."""
        return ModelStates(tuple(state[rows, start:end] for state in self.states))

    def gaps(self, other: ModelStates) -> list[torch.Tensor]:
        """Return the largest difference of each token in each state, (batch, n)."""
        return [(one - two).abs().amax(-1) for one, two in zip(self.states, other.states, strict=True)]

    def size(self) -> list[float]:
        """Return the largest magnitude in each state."""
        return [float(state.abs().max()) for state in self.states]


def states_of(model: Any, tokens: torch.Tensor, **named: Any) -> tuple[ModelStates, Any]:
    """Run a model without gradients, and return its states and its cache."""
    with torch.no_grad():
        output = model(tokens, output_hidden_states=True, **named)
    last = getattr(output, "logits", None)
    states = [*output.hidden_states, *([output.hidden_states[-1]] if last is None else [last])]
    return ModelStates(tuple(state.double() for state in states)), getattr(output, "past_key_values", None)


def side_by_side(runs: Sequence[ModelStates], axis: int) -> ModelStates:
    """Join runs along rows (0) or tokens (1)."""
    return ModelStates(tuple(torch.cat(one, axis) for one in zip(*(run.states for run in runs), strict=True)))
