"""Transformers, as decoder, encoder or both, that take any encodings, at whichever doors they come."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, scaled_dot_product_attention

from posenc.compose import PerLayer
from posenc.core.doors import Encoding
from posenc.lab.encodings import LayerEncodings, layer_encodings
from posenc.lab.experiment import Shape
from posenc.lab.models.placed import Mask, Placed, at_positions
from posenc.torch import module


@dataclass
class DecoderCache:
    """Keys and values of each layer before any rotation, and the positions of the keys.

    Where an encoding reads the inputs of a layer, these are kept, too. Tokens are along the last axis but one.
    """

    positions: Tensor | None = None
    layers: dict[int, tuple[Tensor, ...]] = field(default_factory=dict)

    @property
    def tokens(self) -> int:
        """Number of tokens that are kept."""
        return next((kept[0].shape[-2] for kept in self.layers.values()), 0)

    def extended(self, layer: int, *new: Tensor) -> tuple[Tensor, ...]:
        """Append new keys and values (and inputs) of a layer to those kept, and return all of them."""
        old = self.layers.get(layer)
        self.layers[layer] = new if old is None else tuple(torch.cat(pair, -2) for pair in zip(old, new, strict=True))
        return self.layers[layer]


class TransformerBlock(nn.Module):  # type: ignore[misc]
    """Layer of a transformer: x + attention(norm(x)), then x + mlp(norm(x)).

    With `reads_memory`, attention over an encoder's output is added between the two. It has no encoding (Raffel et al.
    2020, arXiv:1910.10683, §2.1).
    """

    def __init__(self, shape: Shape, layer: int, rng: torch.Generator, *, reads_memory: bool = False) -> None:
        super().__init__()
        self.layer, self.heads = layer, shape.heads
        wide, narrow = shape.width**-0.5, (4 * shape.width) ** -0.5
        # What is added to the residual stream starts smaller, by the number of additions (GPT-2).
        calm = (2 * shape.layers) ** -0.5
        self.norms = nn.ModuleList(nn.LayerNorm(shape.width) for _ in range(2))
        self.project = normal_parameter((shape.width, 3 * shape.width), wide, rng)
        self.mix = normal_parameter((shape.width, shape.width), wide * calm, rng)
        self.up = normal_parameter((shape.width, 4 * shape.width), wide, rng)
        self.down = normal_parameter((4 * shape.width, shape.width), narrow * calm, rng)
        self.dropped = dropout(shape)
        self.cross = Cross(shape, rng, wide, calm) if reads_memory else None

    def forward(
        self,
        x: Tensor,
        placed: Placed,
        cache: DecoderCache | None,
        memory: Tensor | None = None,
        mask: Mask | None = None,
    ) -> Tensor:
        normed = self.norms[0](x)
        q, k, v = split_heads(normed @ self.project, 3, self.heads)
        hidden = key_hidden = normed if placed.reads_hidden else None
        if cache is not None:
            kept = cache.extended(self.layer, k, v, *(() if hidden is None else (hidden,)))
            k, v, key_hidden = (*kept, None)[:3]
        x = x + self.dropped(join_heads(placed(q, k, v, hidden, key_hidden)) @ self.mix)
        if self.cross is not None and memory is not None:
            x = x + self.dropped(self.cross(x, memory, mask))
        return x + self.dropped(gelu(self.norms[1](x) @ self.up) @ self.down)


class Cross(nn.Module):  # type: ignore[misc]
    """Attention of a decoder over the output of an encoder."""

    def __init__(self, shape: Shape, rng: torch.Generator, wide: float, calm: float) -> None:
        super().__init__()
        self.heads, self.norm = shape.heads, nn.LayerNorm(shape.width)
        self.query = normal_parameter((shape.width, shape.width), wide, rng)
        self.key_value = normal_parameter((shape.width, 2 * shape.width), wide, rng)
        self.mix = normal_parameter((shape.width, shape.width), wide * calm, rng)

    def forward(self, x: Tensor, memory: Tensor, mask: Mask | None) -> Tensor:
        (q,) = split_heads(self.norm(x) @ self.query, 1, self.heads)
        k, v = split_heads(memory @ self.key_value, 2, self.heads)
        visible = None if mask is None or mask.visible is None else mask.visible[:, None, None]
        return join_heads(scaled_dot_product_attention(q, k, v, attn_mask=visible)) @ self.mix


def dropout(shape: Shape) -> nn.Module:
    """Dropout, or nothing where its share is 0: PyTorch's would still draw."""
    return nn.Dropout(shape.dropout) if shape.dropout else nn.Identity()


def split_heads(x: Tensor, count: int, heads: int) -> tuple[Tensor, ...]:
    """Split (batch, tokens, count·width) into `count` tensors (batch, heads, tokens, width / heads)."""
    q, *rest = x.unflatten(-1, (count, heads, -1)).permute(2, 0, 3, 1, 4)
    return q, *rest


def join_heads(x: Tensor) -> Tensor:
    """Join (batch, heads, tokens, width) to (batch, tokens, heads·width)."""
    return x.transpose(1, 2).flatten(2)


def normal_parameter(shape: tuple[int, ...], deviation: float, rng: torch.Generator) -> nn.Parameter:
    """Parameter drawn from a normal distribution with mean 0 and this standard deviation.

    Each matrix is drawn in a fixed order, so that it is the same for every encoding.
    """
    return nn.Parameter(torch.randn(shape, generator=rng) * deviation)


class Stack(nn.Module):  # type: ignore[misc]
    """Pre-norm blocks (as GPT-2) and a last norm.

    Layers that have equal encodings share one module of it, and so what it learns; rotations and biases are made once
    for all of them.
    """

    def __init__(
        self,
        shape: Shape,
        encodings: LayerEncodings,
        rng: torch.Generator,
        *,
        seed: int,
        causal: bool,
        reads_memory: bool = False,
    ) -> None:
        super().__init__()
        _check_heads(encodings, shape.heads)
        self.causal, self.layers = causal, encodings.inside
        self.axes = next((encoding.axes for encoding in encodings.encodings), 1)
        self.blocks = nn.ModuleList(
            TransformerBlock(shape, layer, rng, reads_memory=reads_memory) for layer in range(shape.layers)
        )
        self.norm, self.dropped = nn.LayerNorm(shape.width), dropout(shape)
        self.encodings = nn.ModuleList(module(encoding, seed=seed) for encoding in encodings.encodings)
        module_of = dict(zip(encodings.encodings, self.encodings, strict=True))
        self.added = [module_of[each] for each in encodings.added]
        self.inside = [tuple(module_of[each] for each in layer) for layer in self.layers]

    def forward(
        self,
        x: Tensor,
        positions: Tensor | None = None,
        cache: DecoderCache | None = None,
        *,
        visible: Tensor | None = None,
        memory: Tensor | None = None,
        memory_mask: Mask | None = None,
        last: int | None = None,
    ) -> Tensor:
        """Vectors (batch, n, width) after all layers, of the last tokens alone if `last` says how many."""
        query_positions = self._positions(x, positions, cache)
        key_positions = query_positions
        if cache is not None:
            key_positions = (
                query_positions
                if cache.positions is None
                else joined_positions(cache.positions, query_positions, self.axes)
            )
            cache.positions = key_positions
        for each in self.added:
            x = _added(each, x, query_positions)
        x = self.dropped(x)
        mask = Mask(self.causal, visible)
        placed: dict[tuple[Any, ...], Placed] = {}
        for block, modules in zip(self.blocks, self.inside, strict=True):
            if modules not in placed:
                placed[modules] = at_positions(modules, query_positions, key_positions, mask, x)
            x = block(x, placed[modules], cache, memory, memory_mask)
        return self.norm(x if last is None else x[:, -last:])

    def _positions(self, x: Tensor, positions: Tensor | None, cache: DecoderCache | None) -> Tensor:
        if positions is not None:
            return positions
        start = 0 if cache is None else cache.tokens
        return torch.arange(start, start + x.shape[1], device=x.device)


def _added(each: Any, x: Tensor, positions: Tensor) -> Tensor:
    """Embeddings with an encoding added, as wide as before."""
    result: Tensor = each(x, positions)
    if result.shape != x.shape:
        raise ValueError(
            f"encodings must keep the width of the model, {x.shape[-1]}; got {each.encoding!r}, which makes it "
            f"{result.shape[-1]}. Use one that adds."
        )
    return result


def _check_heads(encodings: LayerEncodings, heads: int) -> None:
    """Raise a ValueError for an encoding with another number of heads, which broadcasting could hide."""
    for encoding in encodings.encodings:
        if getattr(encoding, "heads", heads) != heads:
            raise ValueError(
                f"encodings must have the heads of the model, {heads}; got {encoding!r}. Build one for {heads}."
            )


def joined_positions(old: Tensor, new: Tensor, axes: int) -> Tensor:
    """Positions of kept tokens, then those of new ones."""
    return torch.cat([old, new], -1 if axes == 1 else -2)


class Transformer(nn.Module):  # type: ignore[misc]
    """Decoder, encoder or both.

    Embeddings are scaled by √width and shared with the output (Vaswani et al. 2017, §3.4); blocks have GELU. Every
    weight that is no encoding's is drawn from `seed` in a fixed order, so that models that differ in encoding begin
    alike.

    Args:
        shape: Decoder or encoder by `shape.causal`; with `shape.reads_source` an encoder for the source and a decoder
            that reads its output, each with encodings of its own.
        encodings: Encodings and schedules of them, each of any door.
        seed: Of the weights.

    Raises:
        ValueError: An encoding does not fit the heads, the width or the layers.
    """

    def __init__(self, shape: Shape, encodings: Sequence[Encoding | PerLayer], *, seed: int = 0) -> None:
        super().__init__()
        self.shape, self.vocabulary = shape, shape.vocabulary
        rng = torch.Generator().manual_seed(seed)
        # One more piece than the vocabulary: the blank of the masked language model.
        self.embedding = normal_parameter((shape.vocabulary + 1, shape.width), shape.width**-0.5, rng)
        placed, reads = layer_encodings(encodings, shape.layers), shape.reads_source
        self.stack = Stack(shape, placed, rng, seed=seed, causal=shape.causal, reads_memory=reads)
        self.source = Stack(shape, placed, rng, seed=seed, causal=False) if reads else None

    def forward(
        self,
        tokens: Tensor,
        positions: Tensor | None = None,
        cache: DecoderCache | None = None,
        *,
        memory: Tensor | None = None,
        visible: Tensor | None = None,
        last: int | None = None,
    ) -> Tensor:
        """Logits (batch, n, vocabulary).

        Args:
            tokens: (batch, n).
            positions: (n,) or (batch, n), of any numbers that the encodings take, with a last axis of coordinates for
                those that have several; 0, 1, … behind the cache where None.
            cache: Keeps keys and values of the tokens.
            memory: The output of `read`.
            visible: True for tokens and False for padding, (batch, m), of the memory, or of the tokens of an encoder.
            last: Logits of so many tokens at the end alone.
        """
        own = visible if memory is None else None
        x = self.stack(
            self._embedded(tokens),
            positions,
            cache,
            visible=own,
            memory=memory,
            memory_mask=Mask(False, visible),
            last=last,
        )
        return x @ self.embedding[: self.shape.vocabulary].T

    def read(self, source: Tensor, positions: Tensor | None = None, visible: Tensor | None = None) -> Tensor:
        """Encoder's output (batch, m, width) for a source (batch, m).

        Raises:
            ValueError: The model has no encoder.
        """
        if self.source is None:
            raise ValueError("source must be left out for a model without an encoder; got one. Use an encoder-decoder.")
        x: Tensor = self.source(self._embedded(source), positions, visible=visible)
        return x

    def encoding_parameters(self) -> list[nn.Parameter]:
        """Parameters that the encodings learn."""
        return [parameter for name, parameter in self.named_parameters() if "encodings" in name.split(".")]

    def _embedded(self, tokens: Tensor) -> Tensor:
        return nn.functional.embedding(tokens, self.embedding) * math.sqrt(self.shape.width)
