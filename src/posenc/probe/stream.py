"""Channels of a probe's residual stream, and the tokens that write and read them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

#: Tokens with a meaning of their own; those after `FILLER` choose a query channel.
KEY, FILLER, FIRST_QUERY = 0, 1, 2
#: Value that a token writes into its own channel and into the constant one, a power of two.
TOKEN_VALUE = 4.0
#: Value that a layer writes for a whole weight, of `TOKEN_VALUE`: too little for later norms to notice.
LAYER_SHARE = 2.0**-12
#: Logit of a whole weight.
LOGIT = 4.0
#: Channels at the end: for norms that subtract the mean, what tokens and what layers write less than nothing, so that
#: the mean stays zero; and one that nothing is written to.
TOKEN_BALANCE, LAYER_BALANCE, NOTHING = -1, -2, -3
LAST_CHANNELS = 3
#: How far the logits of input tokens lie below zero where the head is a matrix of its own.
UNLIKELY = 12.0
#: How far a masked prediction lifts all numbers above zero, of the constant channel.
ABOVE_ZERO = 2.0
#: Factor of a tied model's final norm, so that logits of input tokens stay as small as those that are read.
TIED_NORM = 2.0**-3


@dataclass(frozen=True)
class Stream:
    """Channels of the stream; token t < `queries` + 2 has channel t, and output token t reads channel t.

    Attributes:
        queries: Tokens that choose a query channel.
        layers: Layers of the probe.
        heads: Attention heads of a layer that are read.
        bits: Channels for the number of a learned table's row, in binary.
        hidden: Width of the stream.
        balanced: Whether the mean is kept at zero, for norms that subtract it.
    """

    queries: int
    layers: int
    hidden: int
    heads: int = 1
    bits: int = 0
    balanced: bool = False

    @property
    def constant(self) -> int:
        """The channel that is the same for every token; the token of this number reads nothing."""
        return FIRST_QUERY + self.queries

    def weight(self, layer: int, head: int = 0) -> int:
        """The channel, and token, of the weight of attention on the key token."""
        return self.constant + 1 + layer * (self.heads + 1) + head

    def whole(self, layer: int) -> int:
        """The channel, and token, of the sum of a layer's weights of attention."""
        return self.weight(layer, self.heads)

    def bit(self, number: int) -> int:
        """The channel, and token, of a bit of the number of a table's row."""
        return self.weight(self.layers) + number

    @property
    def vocabulary(self) -> int:
        """The number of tokens."""
        return self.bit(self.bits)

    @property
    def unit(self) -> float:
        """Value of a token's channel after a norm with weight 1."""
        squares = 6.0 if self.balanced else 2.0
        return math.sqrt(self.hidden / squares)

    def drift(self, layer: int) -> float:
        """Bound the relative change that the outputs of earlier layers make to a token's channel after a norm."""
        return layer * (self.heads + 1) ** 2 * LAYER_SHARE**2 / 2

    def embedding(self, tied: bool) -> np.ndarray:
        """Rows of the input tokens, (vocabulary, hidden), and of the output tokens where the head is tied."""
        rows = np.zeros((self.vocabulary, self.hidden), np.float32)
        tokens = np.arange(self.constant)
        rows[tokens, tokens] = rows[tokens, self.constant] = TOKEN_VALUE
        if self.balanced:
            rows[tokens, TOKEN_BALANCE] = -2 * TOKEN_VALUE
        return rows + self.head(TIED_NORM) if tied else rows

    def table(self, rows: int) -> np.ndarray:
        """Rows of a learned table of positions, (rows, hidden), whose signs are the bits of their numbers."""
        table = np.zeros((rows, self.hidden), np.float32)
        bits = np.arange(self.bits)
        signs = 2 * (np.arange(rows)[:, None] >> bits & 1) - 1
        table[:, self.bit(0) + bits] = TOKEN_VALUE * signs
        table[:, TOKEN_BALANCE] = -table.sum(1)
        return table

    def prediction(self) -> np.ndarray:
        """Projection before the activation of a head that predicts masked tokens, (hidden, hidden).

        It makes what layers write as large as tokens, and all numbers so far above zero that GELU and ReLU keep them.
        """
        matrix = np.zeros((self.hidden, self.hidden), np.float32)
        layers, kept = np.arange(self.constant + 1, self.bit(0)), np.arange(self.bit(0), self.vocabulary)
        matrix[layers, layers], matrix[kept, kept], matrix[self.constant, self.constant] = 1 / LAYER_SHARE, 1.0, 1.0
        matrix[NOTHING, NOTHING] = 1 / LAYER_SHARE  # what the norm before makes of a zero
        matrix[:, self.constant] += ABOVE_ZERO
        return matrix

    def head(self, norm: float = 1.0, share: float = LAYER_SHARE) -> np.ndarray:
        """Rows of the output tokens, (vocabulary, hidden), behind a final norm with this weight.

        Layers write `share` of what a token holds.
        """
        rows = np.zeros((self.vocabulary, self.hidden), np.float32)
        layers = np.arange(self.constant + 1, self.bit(0))
        rows[layers, layers] = LOGIT / (share * self.unit * norm)
        # Reads what a norm makes of a zero: the rounding of a mean that is subtracted from every channel.
        rows[self.constant, NOTHING] = LOGIT / (share * self.unit * norm)
        bits = np.arange(self.bit(0), self.vocabulary)
        rows[bits, bits] = LOGIT / (self.unit * norm)
        if norm == 1.0:
            # Far below the output tokens, for engines that return the most probable ones alone.
            rows[: self.constant, self.constant] = -UNLIKELY / self.unit
        return rows


def hidden_width(features: int, multiple: int) -> int:
    """Return the least multiple of `multiple` that is at least `features`."""
    return -(-features // multiple) * multiple
