"""A decoder, an encoder, or both, that take any encodings, at whichever doors they come."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from posenc.compose import PerLayer
from posenc.core.doors import Encoding
from posenc.lab.encodings import layer_encodings
from posenc.lab.models.block import normal_parameter
from posenc.lab.models.cache import DecoderCache
from posenc.lab.models.placed import Mask
from posenc.lab.models.stack import Stack
from posenc.lab.run_config import Shape


class Transformer(nn.Module):  # type: ignore[misc]
    """Embeddings scaled by √width and shared with the output (Vaswani et al. 2017, §3.4), then blocks with GELU.

    Args:
        encodings: Encodings and schedules of them, each of any door. Decoder or encoder by `shape.causal`; with
            `shape.reads_source` an encoder for the source and a decoder that reads its output, each with encodings of
            its own. Every other weight is drawn from `seed` in a fixed order, so that models that differ in encoding
            begin alike.
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
        """Logits (batch, n, vocabulary) for tokens (batch, n).

        Args:
            positions: (n,) or (batch, n), of any numbers that the encodings take, with a last axis of coordinates for
                those that have several; 0, 1, … behind the cache by default.
            memory: What `read` gave.
            visible: True for tokens and False for padding, (batch, m), of the memory, or of the tokens of an encoder.
            last: Of so many places at the end alone.
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
        """The encoder's output (batch, m, width) for a source (batch, m)."""
        if self.source is None:
            raise ValueError("source must be left out for a model without an encoder; got one. Use an encoder-decoder.")
        x: Tensor = self.source(self._embedded(source), positions, visible=visible)
        return x

    def encoding_parameters(self) -> list[nn.Parameter]:
        """What the encodings learn."""
        return [parameter for name, parameter in self.named_parameters() if "encodings" in name.split(".")]

    def _embedded(self, tokens: Tensor) -> Tensor:
        return nn.functional.embedding(tokens, self.embedding) * math.sqrt(self.shape.width)
