"""Layers of a trained model that rotate, their frequencies, and the share of each pair in |q||k|."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import torch

from posenc.core.doors import RotaryEncoding
from posenc.core.rotation import of_pairs
from posenc.lab.frequency_roles.roles import Cost, PairChange, RotaryLayer
from posenc.models.pair_rotation import pair_rotation


class RotatedLayer(NamedTuple):
    """Layer of a model with its own rotation.

    Attributes:
        number: In the model.
        encoding: That it rotates by.
        heads: Heads of queries.
    """

    number: int
    encoding: RotaryEncoding
    heads: int

    @property
    def pairs(self) -> int:
        """Number of pairs that rotate."""
        return of_pairs("encoding", self.encoding.rotation([0])).pairing.width // 2

    def radians(self) -> tuple[float, ...]:
        """Frequency of each pair.

        Raises:
            ValueError: The pairs have no fixed frequencies of one coordinate.
        """
        found = None if self.encoding.axes > 1 or self.encoding.shapes else pair_rotation(self.encoding)
        if found is None:
            raise ValueError(
                f"model must rotate pairs of channels by fixed frequencies; got {self.encoding!r:.100} in layer "
                f"{self.number}. Use a model with RoPE."
            )
        return tuple(found.radians().tolist())


class RolesSubject(Protocol):
    """A trained model whose rotary pairs can be changed."""

    @property
    def layers(self) -> tuple[RotatedLayer, ...]:
        """Layers that rotate."""

    def cost(self, change: PairChange | None) -> Cost:
        """Scores with a change; of the model as it is where None."""

    def norms(self) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        """Mean norms of the pairs of queries and of keys, (heads, pairs) each, by the number of the layer."""


def rotary_layers(subject: RolesSubject) -> tuple[RotaryLayer, ...]:
    """The layers of a model that rotate, with the share of each pair in |q||k|.

    The mean of |q||k| over all queries and keys is the product of the two means. It bounds what a pair adds to a score.
    """
    norms, found = subject.norms(), []
    for layer in subject.layers:
        queries, keys = norms[layer.number]
        products = queries * keys
        shares = products / np.maximum(products.sum(-1, keepdims=True), np.finfo(float).tiny)
        found.append(RotaryLayer(layer.number, layer.radians(), tuple(map(tuple, shares.tolist()))))
    return tuple(found)


def altered_encoding(change: PairChange, layer: RotatedLayer) -> RotaryEncoding:
    """Encoding of a layer after a change; its own where the change is not about it."""
    if change.layer not in (None, layer.number):
        return layer.encoding
    pairs = tuple(pair for pair in change.pairs if pair < layer.pairs)
    return change._replace(pairs=pairs).altered(layer.encoding, layer.heads) if pairs else layer.encoding


def pair_norms(vectors: torch.Tensor, layer: RotatedLayer) -> np.ndarray:
    """Mean norm of each pair over batch and tokens.

    Args:
        vectors: Queries or keys, (batch, heads, n, dim); keys that heads share are counted for each of them.
        layer: Of the vectors.

    Returns:
        Shape (heads, pairs) of the layer.
    """
    first, second = of_pairs("encoding", layer.encoding.rotation([0])).pairing.split(vectors.float())
    means = torch.hypot(first, second).mean((0, 2)).double().cpu().numpy()
    return np.repeat(means, layer.heads // len(means), 0)


def weighted_norms(parts: Sequence[tuple[np.ndarray, np.ndarray, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Means of the norms of queries and keys over batches of different size."""
    queries, keys, rows = zip(*parts, strict=True)
    return np.average(queries, 0, rows), np.average(keys, 0, rows)
