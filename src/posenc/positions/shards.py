"""Tokens that each rank of context parallelism holds: global ids, positions and documents, and the way back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.declared_fields import Declared
from posenc.positions.host_numbers import held
from posenc.positions.sequences import LONGEST, documents, packed

#: How a row of tokens is cut: each rank a consecutive part; pieces r and 2R-1-r of 2R; or consecutive parts outside
#: attention and whole rows of some heads inside it.
ShardScheme = Literal["contiguous", "zigzag", "ulysses"]
MOST_RANKS = 1 << 20


class TokenRun(NamedTuple):
    """Tokens start, start+1, …, stop-1 of a row that one rank holds, all of one document.

    Attributes:
        start: First token.
        stop: Token behind the last one.
        document_start: First token of their document.
        document_stop: Token behind the last one of their document.
    """

    start: int
    stop: int
    document_start: int
    document_stop: int


@dataclass(frozen=True)
class Sharding(Declared):
    """Division of a row of tokens among the ranks of context (sequence) parallelism.

    Take ids, labels, masks and any table with a row for each token at `indices(rank)`, the global ids; encode at
    `positions(rank)`. A rank that counts its own tokens from 0 is wrong and looks right.

    Args:
        lengths: Number of tokens of a row, or of each document packed into it, padding included.
        ranks: Number of ranks, R.
        scheme: "contiguous": rank r holds part r of R (FLA, DeepSpeed). "zigzag": parts r and 2R-1-r of 2R, which
            balances a causal mask (Megatron-core; head-tail in PyTorch). "ulysses": contiguous outside attention, and
            inside it all tokens of some heads, `heads(rank, heads)`.
        each_document: Whether each document is cut so (Megatron-core and Transformer Engine, "thd"), or the row as a
            whole (PyTorch's `context_parallel`, FLA). It must be said where there are several documents.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: A number is out of range, lengths cannot be cut into equal parts, or `each_document` is not said.

    References:
        Zigzag: NVIDIA, Megatron-core context parallelism. Ulysses: Jacobs et al. 2023, arXiv:2309.14509.

    Example:
        >>> sharding = Sharding([4, 4], ranks=2, scheme="zigzag", each_document=True)
        >>> sharding.indices(0).tolist(), sharding.positions(0).tolist(), sharding.documents(0).tolist()
        ([0, 3, 4, 7], [0, 3, 0, 3], [0, 0, 1, 1])
    """

    lengths: Sequence[int] | int
    ranks: int
    scheme: ShardScheme
    each_document: bool | None = None

    def _check_together(self) -> None:
        given = self.lengths if hasattr(self.lengths, "__len__") else [self.lengths]
        lengths = validation.integers("lengths", given, 0, LONGEST)
        validation.size("lengths", sum(lengths))
        ranks = validation.integer("ranks", self.ranks, 1, MOST_RANKS)
        if self.each_document is None and len(lengths) > 1:
            raise ValueError(
                f"each_document must be said for {len(lengths)} documents: True cuts each of them (Megatron-core), "
                "False the row as a whole (PyTorch, FLA); got None. The two give a rank other tokens."
            )
        validation.settle(self, lengths=tuple(lengths), ranks=ranks, each_document=bool(self.each_document))
        for segment in lengths if self.each_document else [sum(lengths)]:
            if segment % self._pieces:
                whose = "each document" if self.each_document else "the row"
                rule = "2·ranks" if self.scheme == "zigzag" else "ranks"
                raise ValueError(
                    f"lengths must be multiples of {rule} = {self._pieces} where {whose} is cut ({self.scheme}); got "
                    f"{segment}. Pad it to {-(-segment // self._pieces) * self._pieces}, and hide the padding."
                )

    @property
    def _pieces(self) -> int:
        """Number of equal parts into which the row, or each document, is cut."""
        return self.ranks * (2 if self.scheme == "zigzag" else 1)

    @property
    def _lengths(self) -> tuple[int, ...]:
        """Checked lengths, a tuple with one entry for each document."""
        return self.lengths  # type: ignore[return-value]

    @property
    def tokens(self) -> int:
        """Number of tokens of the whole row."""
        return sum(self._lengths)

    @property
    def tokens_of_rank(self) -> int:
        """Number of tokens of each rank."""
        return self.tokens // self.ranks

    def indices(self, rank: int) -> np.ndarray:
        """Global ids: the index in the whole row of each token of a rank.

        Args:
            rank: Number of the rank, from 0.

        Returns:
            (tokens / ranks,), int64, rising.

        Raises:
            TypeError: `rank` is no whole number.
            ValueError: There is no such rank.

        Example:
            >>> Sharding(8, ranks=2, scheme="zigzag").indices(1).tolist()
            [2, 3, 4, 5]
        """
        rank = self._checked_rank(rank)
        cut = np.array(self._lengths if self.each_document else [self.tokens], dtype=np.int64)
        size = cut // self._pieces
        parts = [rank, self._pieces - 1 - rank] if self.scheme == "zigzag" else [rank]
        begins = ((np.cumsum(cut) - cut)[:, None] + size[:, None] * np.array(parts)).reshape(-1)
        counts = np.repeat(size, len(parts))
        indices: np.ndarray = np.arange(counts.sum()) + np.repeat(begins - (np.cumsum(counts) - counts), counts)
        return indices

    def positions(self, rank: int) -> np.ndarray:
        """Position of each token of a rank in its document.

        Args:
            rank: Number of the rank, from 0.

        Returns:
            (tokens / ranks,), int64.

        Raises:
            TypeError: `rank` is no whole number.
            ValueError: There is no such rank.

        Example:
            >>> Sharding([2, 6], ranks=2, scheme="contiguous", each_document=False).positions(1).tolist()
            [2, 3, 4, 5]
        """
        positions: np.ndarray = packed(self._lengths)[self.indices(rank)]
        return positions

    def documents(self, rank: int) -> np.ndarray:
        """Document of each token of a rank, numbered from 0 in the whole row.

        Args:
            rank: Number of the rank, from 0.

        Returns:
            (tokens / ranks,), int64.

        Raises:
            TypeError: `rank` is no whole number.
            ValueError: There is no such rank.

        Example:
            >>> Sharding([2, 6], ranks=2, scheme="contiguous", each_document=False).documents(0).tolist()
            [0, 0, 1, 1]
        """
        numbers: np.ndarray = documents(self._lengths)[self.indices(rank)]
        return numbers

    def runs(self, rank: int) -> list[TokenRun]:
        """Tokens of a rank as runs of consecutive tokens of one document.

        Args:
            rank: Number of the rank, from 0.

        Returns:
            The runs, in the order of `indices`.

        Raises:
            TypeError: `rank` is no whole number.
            ValueError: There is no such rank.

        Example:
            >>> Sharding(8, ranks=2, scheme="zigzag").runs(0)[1]
            TokenRun(start=6, stop=8, document_start=0, document_stop=8)
        """
        indices, number = self.indices(rank), self.documents(rank)
        if not len(indices):
            return []
        breaks = np.flatnonzero((np.diff(indices) != 1) | (np.diff(number) != 0)) + 1
        ends = np.cumsum(self._lengths)
        runs = []
        for first, last in zip([0, *breaks.tolist()], [*breaks.tolist(), len(indices)], strict=True):
            document = int(number[first])
            stop = int(ends[document])
            start, end = int(indices[first]), int(indices[last - 1]) + 1
            runs.append(TokenRun(start, end, stop - self._lengths[document], stop))
        return runs

    def heads(self, rank: int, heads: int) -> slice:
        """Heads that a rank attends with inside attention: all of them, but for "ulysses".

        Args:
            rank: Number of the rank, from 0.
            heads: Number of heads of the model.

        Returns:
            Slice of the axis of heads.

        Raises:
            TypeError: An argument is no whole number.
            ValueError: There is no such rank, or ranks do not divide heads.

        Example:
            >>> Sharding(8, ranks=2, scheme="ulysses").heads(1, 12)
            slice(6, 12, None)
        """
        rank, heads = self._checked_rank(rank), validation.integer("heads", heads, 1, 1 << 16)
        if self.scheme != "ulysses":
            return slice(0, heads)
        if heads % self.ranks:
            raise ValueError(
                f"heads must be a multiple of ranks = {self.ranks} for 'ulysses'; got {heads}. Use fewer ranks, or "
                "'zigzag'."
            )
        return slice(rank * (heads // self.ranks), (rank + 1) * (heads // self.ranks))

    def shard(self, x: Array, rank: int, *, axis: int = 0) -> Array:
        """Take a rank's part of an array that has an entry for each token of the row.

        Args:
            x: An array of any library.
            rank: Number of the rank, from 0.
            axis: Axis of the tokens.

        Returns:
            The entries at `indices(rank)`.

        Raises:
            TypeError: An argument has the wrong type.
            ValueError: There is no such rank, or x has another number of tokens.

        Example:
            >>> Sharding(8, ranks=4, scheme="zigzag").shard(list("abcdefgh"), 1).tolist()
            ['b', 'g']
        """
        x = x if arrays.library_name(x) else held("x", x)
        axis = _checked_axis("x", x, axis, self.tokens)
        return _taken(x, self.indices(rank), axis)

    def unshard(self, parts: Sequence[Array], *, axis: int = 0) -> Array:
        """Put the parts of all ranks together in the order of the row.

        Args:
            parts: Array of each rank, in the order of the ranks, as an all-gather gives them.
            axis: Axis of the tokens.

        Returns:
            The whole, in the library of the parts; gradients flow through.

        Raises:
            TypeError: An argument has the wrong type.
            ValueError: There is not one part for each rank, or a part has another number of tokens.

        Example:
            >>> sharding = Sharding(8, ranks=2, scheme="zigzag")
            >>> sharding.unshard([sharding.indices(0), sharding.indices(1)]).tolist()
            [0, 1, 2, 3, 4, 5, 6, 7]
        """
        if not isinstance(parts, list | tuple) or len(parts) != self.ranks:
            count = len(parts) if isinstance(parts, list | tuple) else validation.shown(parts)
            raise ValueError(f"parts must be a list of one array for each of {self.ranks} ranks; got {count}.")
        parts = [part if arrays.library_name(part) else held("parts", part) for part in parts]
        for rank, part in enumerate(parts):
            place = _checked_axis(f"parts[{rank}]", part, axis, self.tokens_of_rank)
        whole = arrays.library(*parts).xp.concatenate(list(parts), axis=place)
        behind_one_another = np.concatenate([self.indices(rank) for rank in range(self.ranks)])
        return _taken(whole, np.argsort(behind_one_another), place)

    def _checked_rank(self, rank: Any) -> int:
        return validation.integer("rank", rank, 0, self.ranks - 1)


def _checked_axis(name: str, x: Array, axis: Any, count: int) -> int:
    """Axis of the tokens, counted from the front, of which there must be `count`."""
    axes = int(x.ndim)
    axis = validation.integer("axis", axis, -axes, max(0, axes - 1)) % max(1, axes)
    if axes == 0 or x.shape[axis] != count:
        raise ValueError(
            f"{name} must have {count} tokens on axis {axis}; got shape {tuple(x.shape)}. Give another axis, or the "
            "lengths of these tokens."
        )
    return int(axis)


def _taken(x: Array, indices: np.ndarray, axis: int) -> Array:
    """Entries of x at `indices` along an axis."""
    return x[(slice(None),) * axis + (arrays.library(x).constant(indices),)]
