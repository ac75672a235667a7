"""The input layer of the 2017 transformer."""

from __future__ import annotations

import math
from typing import Any, final

import numpy as np
import torch

from posenc.compose import Concatenated
from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.doors import AdditiveEncoding
from posenc.torch.modules.encoding_module import fill, seeded_generator
from posenc.torch.modules.modules import Add
from posenc.torch.modules.token_embedding import check_ids, check_in_vocabulary, embedded
from posenc.torch.modules.vector_table import table
from posenc.torch.tensor_arguments import on_same_device


@final
class InputLayer(torch.nn.Module):  # type: ignore[misc]
    """Input layer: dropout(embedding[ids]·√d + encoding(positions)), in front of `nn.TransformerEncoder`.

    `embedding` is the (vocabulary, d) weight, free to tie.

    Args:
        vocabulary: Number of token ids.
        encoding: An encoding that adds; it gives d, except that `Concatenated` widens the embedding and needs `width`.
        dropout: Share of the sum that is dropped in training.
        batch_first: Whether ids are (batch, n) or (n, batch); say the same to `nn.TransformerEncoderLayer`.
        width: Channels of the embedding, for `Concatenated` alone.
        seed: Seed of the embedding, normal with variance 1/d (so that its rows have length about √d after the factor),
            and of learned positions; None for PyTorch's default generator.

    Raises:
        TypeError: `encoding` does not add, or another argument is of another kind than stated.
        ValueError: `width` is missing or is not that of the encoding, or a number is out of range.

    References:
        Vaswani et al. 2017, arXiv:1706.03762, §3.4 (the factor √d), §3.5 (the sum) and §5.4 (dropout of the sum, 0.1).

    Example:
        >>> import torch
        >>> from posenc import Sinusoidal
        >>> InputLayer(100, Sinusoidal(dim=16), batch_first=True)(torch.tensor([[5, 7, 5]])).shape
        torch.Size([1, 3, 16])
    """

    def __init__(
        self,
        vocabulary: int,
        encoding: AdditiveEncoding,
        *,
        dropout: float = 0.1,
        batch_first: bool,
        width: int | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__()
        self.encoding = Add(
            validation.instance("encoding", encoding, AdditiveEncoding, "an encoding that adds"), seed=seed
        )
        self.vocabulary = validation.integer("vocabulary", vocabulary, 1, 1 << 31)
        self.batch_first = validation.truth("batch_first", batch_first)
        self.width = _embedding_width(encoding, width)
        validation.size("vocabulary", self.vocabulary * self.width, 4)
        self.seed = self.encoding.seed
        self.embedding = torch.nn.Parameter(torch.empty((self.vocabulary, self.width), dtype=torch.float32))
        self.dropout = torch.nn.Dropout(validation.real("dropout", dropout, 0.0, 1.0))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the embedding and what the encoding learns: with a seed the same values every time."""
        # A stream of its own: the encoding's begins at the seed alone.
        rng = seeded_generator(None) if self.seed is None else np.random.default_rng((self.seed, 1))
        fill(self.embedding, rng.standard_normal((self.vocabulary, self.width), np.float32) / math.sqrt(self.width))
        self.encoding.reset_parameters()

    def forward(self, ids: Array, positions: Array | None = None) -> Array:
        """Embed tokens and add their positions.

        Args:
            ids: Integer token ids, (batch, n) or (n, batch).
            positions: (n,), or in the shape of ids; 0 to n - 1 for None.

        Returns:
            The input of the first layer: the axes of ids and then d, in the dtype of the embedding.

        Raises:
            TypeError: `ids` are no int64 or int32 tensor.
            ValueError: An id is outside the vocabulary, or the encoding does not have a position.
        """
        check_ids(ids, "(batch, n)" if self.batch_first else "(n, batch)")
        check_in_vocabulary(ids, self.vocabulary)
        rows = ids if self.batch_first else ids.transpose(0, 1)
        summed = self._summed(rows, self._row_positions(ids, positions), math.sqrt(self.width))
        return self.dropout(summed if self.batch_first else summed.transpose(0, 1))

    def _summed(self, rows: Array, positions: Array, scale: float) -> Array:
        """Return embedding · scale + encoding; in one pass unless the encoding has an `attach` of its own."""
        encoding, weight = self.encoding.encoding, self.embedding
        if type(encoding).attach is AdditiveEncoding.attach:
            positions = on_same_device("positions", positions, weight)
            wide = arrays.library(weight).wide_dtype(weight.dtype)
            return embedded(rows, weight, table(encoding, positions, self.encoding.params, dtype=wide), scale)
        x = torch.nn.functional.embedding(rows, weight)
        return self.encoding(arrays.library(x).wide(x) * scale, positions).to(x.dtype)

    def extra_repr(self) -> str:
        """Show the sizes and the order of the axes."""
        return f"vocabulary={self.vocabulary}, width={self.width}, batch_first={self.batch_first}"

    def _row_positions(self, ids: Any, positions: Array | None) -> Array:
        """Positions, one row a sequence whatever the axes of ids: (n,) or (batch, n)."""
        length = ids.shape[1 if self.batch_first else 0]
        if positions is None:
            return torch.arange(length, device=ids.device)
        positions = on_same_device("positions", positions, ids)
        if positions.ndim == 1 and positions.shape[0] == length:
            return positions
        if positions.shape != ids.shape:
            raise ValueError(
                f"positions must have shape ({length},) or that of ids, {tuple(ids.shape)}; got "
                f"{tuple(positions.shape)}. Give one for each token."
            )
        return positions if self.batch_first else positions.transpose(0, 1)


def _embedding_width(encoding: AdditiveEncoding, width: int | None) -> int:
    if isinstance(encoding, Concatenated):
        if width is None:
            raise ValueError(
                "width must be given with Concatenated, which widens the embedding; got None. "
                "Say how many channels the embedding has."
            )
        return validation.integer("width", width, 1)
    if width is not None and validation.integer("width", width, 1) != encoding.width:
        raise ValueError(
            f"width must be that of the encoding, {encoding.width}; got {validation.shown(width)}. Leave it out."
        )
    return encoding.width
