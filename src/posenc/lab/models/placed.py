"""Attention with encodings at given positions. Rotations and biases are made once for all layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from posenc.core.rotation import Operator, Rotation
from posenc.torch import Bias, Rotate, RotateValues, Score, attention, rotate
from posenc.torch.modules.one_call import one_rotation_serves, rotation_at
from posenc.torch.rotary_paths.apply_rotation import rotate_one


@dataclass(frozen=True, eq=False)
class Mask:
    """Keys that queries must not see.

    Args:
        causal: No query sees a key behind its own index, counted from the ends.
        visible: True for keys that are tokens and not padding, (batch, m); None where all are.
    """

    causal: bool
    visible: Tensor | None = None

    def hidden(self, queries: int, keys: int, device: Any) -> Tensor | None:
        """Mask of the logits, broadcastable to (batch, heads, queries, keys).

        Returns:
            True where a query must not see a key; None where it sees all of them.
        """
        hidden = None if self.visible is None else ~self.visible[:, None, None]
        if not self.causal or queries == 1:
            return hidden
        future = torch.ones((1, 1, queries, keys), dtype=torch.bool, device=device).triu(keys - queries + 1)
        return future if hidden is None else hidden | future

    def suits_sdpa(self, queries: int, keys: int) -> bool:
        """Whether PyTorch's SDPA hides the same keys without a mask tensor."""
        return self.visible is None and (not self.causal or queries in (1, keys))


@dataclass(frozen=True, eq=False)
class Placed:
    """Attention with some encodings at some positions. Tensors of heads are (batch, heads, tokens, width).

    Args:
        encodings: Modules of the encodings.
        query_positions: (n,) or (batch, n), with a last axis of coordinates where there are several.
        key_positions: As those of the queries.
        mask: Keys that are hidden.
        rotations: Of queries and of keys for each rotary encoding; one object for both where they share it.
        value_rotations: Of values and of the output for each encoding that rotates values.
        added: Added to the logits, -inf where hidden; None where nothing is and SDPA masks by itself.
        scores: Whether an encoding reads content, so that nothing but the masks can be worked out beforehand.
    """

    encodings: tuple[Any, ...]
    query_positions: Tensor
    key_positions: Tensor
    mask: Mask
    rotations: tuple[tuple[Operator, Operator], ...]
    value_rotations: tuple[tuple[Operator, Operator], ...]
    added: Tensor | None
    scores: bool

    @property
    def reads_hidden(self) -> bool:
        """Whether an encoding reads the inputs of the layer."""
        return any(isinstance(each, Score) and each.encoding.reads for each in self.encodings)

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, hidden: Tensor | None, key_hidden: Tensor | None) -> Tensor:
        """Attention: softmax(rotated q · rotated k / √d + biases and scores) · v.

        Args:
            q: Queries.
            k: Keys.
            v: Values.
            hidden: Inputs of the layer at the queries, where an encoding reads them.
            key_hidden: Inputs of the layer at the keys, where an encoding reads them.

        Returns:
            The output, shaped as q.
        """
        if self.scores:
            return self._by_content(q, k, v, hidden, key_hidden)
        for of_query, of_key in self.rotations:
            q, k = _rotated(q, k, of_query, of_key)
        for of_key, _ in self.value_rotations:
            v = rotate_one(v, of_key, layout="bhtd")
        causal = self.added is None and self.mask.causal and q.shape[2] > 1
        output = scaled_dot_product_attention(q, k, v, attn_mask=self.added, is_causal=causal)
        for _, back in self.value_rotations[::-1]:
            output = rotate_one(output, back, layout="bhtd")
        return output

    def _by_content(self, q: Tensor, k: Tensor, v: Tensor, hidden: Any, key_hidden: Any) -> Tensor:
        reads = next((each.encoding.reads for each in self.encodings if isinstance(each, Score)), None)
        read = {"query": [hidden], "key": [key_hidden], "both": [hidden, key_hidden], None: []}[reads]
        visible = self.mask.visible
        output: Tensor = attention(
            q,
            k,
            v,
            query_positions=self.query_positions,
            key_positions=self.key_positions,
            layout="bhtd",
            encodings=self.encodings,
            causal=self.mask.causal,
            mask=None if visible is None else visible[:, None, None],
            hidden=torch.cat(read, 1) if read else None,
        )
        return output


def at_positions(
    encodings: Sequence[Any], query_positions: Tensor, key_positions: Tensor, mask: Mask, like: Tensor
) -> Placed:
    """Place modules of encodings at the positions of queries and keys.

    Args:
        encodings: Modules of `posenc.torch`.
        query_positions: (n,) or (batch, n), with a last axis of coordinates where there are several.
        key_positions: As those of the queries.
        mask: Keys that are hidden.
        like: The vectors that are rotated, for dtype and device.

    Returns:
        Attention that each layer calls.
    """
    scores = any(isinstance(each, Score) for each in encodings)
    rotations, value_rotations, biases = [], [], []
    for each in () if scores else encodings:
        if isinstance(each, Rotate):
            rotations.append(_rotations(each, query_positions, key_positions, like))
        elif isinstance(each, RotateValues):
            of_key = rotation_at(each.encoding, each.params, like, key_positions, "value")
            value_rotations.append((of_key, rotation_at(each.encoding, each.params, like, query_positions, "output")))
        elif isinstance(each, Bias):
            biases.append(each(query_positions, key_positions))
    axes = encodings[0].encoding.axes if encodings else 1
    added = None if scores else _added(biases, _count(query_positions, axes), _count(key_positions, axes), mask, like)
    return Placed(
        tuple(encodings), query_positions, key_positions, mask, tuple(rotations), tuple(value_rotations), added, scores
    )


def _rotations(
    rotation: Rotate, query_positions: Tensor, key_positions: Tensor, like: Tensor
) -> tuple[Operator, Operator]:
    encoding, params = rotation.encoding, rotation.params
    if query_positions is key_positions and one_rotation_serves(encoding):
        both = rotation_at(encoding, params, like, query_positions, "both")
        return both, both
    return rotation_at(encoding, params, like, query_positions, "query"), rotation_at(
        encoding, params, like, key_positions, "key"
    )


def _rotated(q: Tensor, k: Tensor, of_query: Operator, of_key: Operator) -> tuple[Tensor, Tensor]:
    if of_query is of_key and type(of_query) is Rotation:
        return rotate(q, k, of_query, layout="bhtd")
    return rotate_one(q, of_query, layout="bhtd"), rotate_one(k, of_key, layout="bhtd")


def _added(biases: list[Tensor], queries: int, keys: int, mask: Mask, like: Tensor) -> Tensor | None:
    """Sum of biases, -inf where a key is hidden, or None where SDPA needs nothing."""
    if not biases and mask.suits_sdpa(queries, keys):
        return None
    hidden = mask.hidden(queries, keys, like.device)
    total = torch.zeros((1, 1, 1, 1), dtype=like.dtype, device=like.device)
    for bias in biases:
        total = total + (bias if bias.ndim == 4 else bias[None])
    return (total if hidden is None else torch.where(hidden, -torch.inf, total)).to(like.dtype)


def _count(positions: Tensor, axes: int) -> int:
    return int(positions.shape[-1 if axes == 1 else -2])
