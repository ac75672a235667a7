"""Paged key-value cache: sequences share one memory, and each has a list of its pages."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from posenc.caches.key_cache import KeyCache, check_rotated_by
from posenc.core import validation


class PagedCache:
    """Memory for keys and values in pages, as serving engines hold it, with the fingerprint of each sequence.

    A sequence takes a page where its last one is full, and gives all back by `release`. `read` returns a `KeyCache`, so
    that paged decoding is the decoding of every other cache.

    Args:
        pages: Number of pages.
        page: Tokens of a page.
        like: A cache whose heads, widths, dtype and device the pages have.

    Raises:
        TypeError: An argument is of another kind than stated.
        ValueError: A number is out of range, or the memory would be too large.

    Example:
        >>> import torch
        >>> from posenc import RoPE
        >>> from posenc.caches import key_cache
        >>> k = torch.randn(1, 2, 5, 8)
        >>> new = key_cache(k, k, key_positions=torch.arange(5), encodings=[RoPE(dim=8)], layout="bhtd", rotated=True)
        >>> memory = PagedCache(pages=4, page=4, like=new)
        >>> memory.append("a", new)
        >>> torch.equal(memory.read("a").k, new.k), memory.free_pages
        (True, 2)
    """

    def __init__(self, pages: int, page: int, like: KeyCache) -> None:
        validation.instance("like", like, KeyCache, "a KeyCache")
        self.page = validation.integer("page", page, 1, 1 << 20)
        pages = validation.integer("pages", pages, 1, 1 << 30)
        shapes = [(pages, x.shape[1], self.page, x.shape[3]) for x in (like.k, like.v)]
        for shape in shapes:
            validation.size("pages", shape[0] * shape[1] * shape[2] * shape[3], like.k.element_size())
        self.k, self.v = (like.k.new_zeros(shape) for shape in shapes)
        self._free = list(range(pages))[::-1]
        self._tables: dict[str | int, list[int]] = {}
        self._kept: dict[str | int, KeyCache] = {}

    @property
    def free_pages(self) -> int:
        """Number of pages that no sequence has."""
        return len(self._free)

    def slots(self, sequence: str | int) -> Tensor:
        """Slot of each token of a sequence, as `rotate_into_cache_` takes it: page times page size plus place in it.

        Args:
            sequence: Name of the sequence, a word or a number.

        Returns:
            (tokens,), int64.

        Raises:
            TypeError: `sequence` is neither a word nor a number.
            ValueError: There is no such sequence.
        """
        kept, table = self._of(sequence), self._tables[sequence]
        return self._slots_of(table, kept.tokens)

    def append(self, sequence: str | int, new: KeyCache) -> None:
        """Write new tokens of a sequence behind its others; a name not seen before begins one.

        Args:
            sequence: Name of the sequence, a word or a number.
            new: Cache of its new tokens, with a batch of one.

        Raises:
            TypeError: `new` is no KeyCache, or `sequence` neither a word nor a number.
            ValueError: `new` was rotated by something else than the sequence, does not fit the pages, or there are too
                few of them; nothing is written then.
        """
        validation.instance("new", new, KeyCache, "a KeyCache")
        _check_fits(self, new)
        _check_name(sequence)
        old = self._kept.get(sequence)
        if old is not None:
            check_rotated_by("new", new.rotated_by, old.rotated_by)
        # What is kept beside the pages: positions and fingerprint, and inputs of the layer; keys and values are empty.
        bare = KeyCache(new.k[..., :0], new.v[..., :0], new.key_positions, new.rotated_by, new.hidden, new.axes)
        kept = bare if old is None else old.extended(bare)
        needed = -(-kept.tokens // self.page) - len(self._tables.get(sequence, ()))
        if needed > len(self._free):
            raise ValueError(
                f"new must fit into the free pages; got {new.tokens} tokens, which take {needed} more, and "
                f"{len(self._free)} free. Release a sequence, or allocate more."
            )
        left = len(self._free) - needed
        table = [*self._tables.get(sequence, ()), *self._free[left:][::-1]]
        slots = self._slots_of(table, kept.tokens)[kept.tokens - new.tokens :]
        for memory, x in ((self.k, new.k), (self.v, new.v)):
            memory.transpose(1, 2)[slots // self.page, slots % self.page] = x[0].transpose(0, 1)
        # Last, so that a sequence has no tokens that could not be written.
        self._tables[sequence], self._kept[sequence] = table, kept
        del self._free[left:]

    def read(self, sequence: str | int) -> KeyCache:
        """Gather the keys and values of a sequence from its pages.

        Args:
            sequence: Name of the sequence, a word or a number.

        Returns:
            A cache with a batch of one.

        Raises:
            TypeError: `sequence` is neither a word nor a number.
            ValueError: There is no such sequence.
        """
        kept, slots = self._of(sequence), self.slots(sequence)
        at = slots // self.page, slots % self.page
        k, v = (x.transpose(1, 2)[at].transpose(0, 1)[None] for x in (self.k, self.v))
        return KeyCache(k, v, kept.key_positions, kept.rotated_by, kept.hidden, kept.axes)

    def release(self, sequence: str | int) -> None:
        """Give the pages of a sequence back.

        Args:
            sequence: Name of the sequence, a word or a number.

        Raises:
            TypeError: `sequence` is neither a word nor a number.
            ValueError: There is no such sequence.
        """
        self._of(sequence)
        self._free.extend(self._tables.pop(sequence)[::-1])
        del self._kept[sequence]

    def _slots_of(self, table: list[int], tokens: int) -> Tensor:
        """Slots (tokens,) of a sequence in the pages of its table."""
        starts = torch.tensor(table, dtype=torch.int64, device=self.k.device) * self.page
        return (starts[:, None] + torch.arange(self.page, device=self.k.device)).flatten()[:tokens]

    def _of(self, sequence: str | int) -> KeyCache:
        _check_name(sequence)
        if sequence not in self._kept:
            raise ValueError(
                f"sequence must be one of {sorted(map(repr, self._kept))}; got {sequence!r}. Append to it."
            )
        return self._kept[sequence]


def _check_name(sequence: Any) -> None:
    """Refuse a name of a sequence that is neither a word nor a whole number ≥ 0."""
    if not isinstance(sequence, str):
        validation.integer("sequence, where it is no word,", sequence, 0, 2**63 - 1)


def _check_fits(pages: PagedCache, new: KeyCache) -> None:
    """Refuse tokens of several rows, or of other heads, widths or dtype than the pages."""
    for name, memory, x in (("k", pages.k, new.k), ("v", pages.v, new.v)):
        fits = x.shape[0] == 1 and x.shape[1] == memory.shape[1] and x.shape[3] == memory.shape[3]
        if not fits or x.dtype != memory.dtype or x.device != memory.device:
            raise ValueError(
                f"new must have {name} of shape {(1, memory.shape[1], 'm', memory.shape[3])}, {memory.dtype} on "
                f"{memory.device}; got {tuple(x.shape)}, {x.dtype} on {x.device}. Append a sequence at a time."
            )
