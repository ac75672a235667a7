"""Logits of queries and keys that running code gave."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Self

import numpy as np

from posenc.diagnosis.nearest_heads import nearest_heads
from posenc.diagnosis.rotation.applied_rotation import ROLES, Role, RotatedPairs, rotate_vectors, rotated_pairs
from posenc.diagnosis.rotation.comparison import ROUNDING, SIGNIFICANT, Comparison, farness, subsample
from posenc.diagnosis.rotation.products_read_off import (
    Products,
    positions_of_keys,
    positions_of_products,
    rotations_by_distance,
)
from posenc.diagnosis.rotation.rotation_evidence import (
    RotationEvidence,
    first_wrong_of,
    longest_with,
    powers_within,
    shown_position,
)
from posenc.diagnosis.rotation.rotation_usage import RotationUsage
from posenc.inspect.rounding import to_tf32

#: Heads of a first look.
HEADS = 3
#: Tokens of the other side that show where one first differs, and numbers of a block that is looked at together.
WITNESSES, BLOCK = 8, 1 << 17
#: Rows and columns that show the order of heads.
FEW_TOKENS = 12
#: How far float32 may tip the rounding of a vector to TF32 over, of a product.
TF32_TIP = 2.0**-16


@dataclass(frozen=True, eq=False)
class ObservedLogits(RotationEvidence):
    """Logits of queries and keys at positions, times `scale`.

    Args:
        q: Queries, (heads, n, dim).
        k: Keys, (heads, m, dim).
        logits: Logits, (heads, n, m).
        visible: Mask of the logits that show anything, (heads, n, m).
        query_positions: (n,) or (n, axes).
        key_positions: (m,) or (m, axes).
        scale: Factor of q·k.
        dtype: The narrowest type of queries, keys and logits.
        up_to_rows: Whether every row may differ by a number of its own.
        rounding: How far rounding may move a logit besides.
        form: What the logits are, in words.
        head_numbers: Numbers of the heads, where they are some of more.
        tempered: Whether queries hold a factor of their position besides.
    """

    q: np.ndarray
    k: np.ndarray
    logits: np.ndarray
    visible: np.ndarray
    query_positions: np.ndarray
    key_positions: np.ndarray
    scale: float
    dtype: str
    up_to_rows: bool = False
    rounding: float = 0.0
    form: str = "logits"
    head_numbers: tuple[int, ...] = ()
    tempered: bool = False

    def kinds(self) -> tuple[str, ...]:
        positions = np.concatenate([self.query_positions.reshape(-1), self.key_positions.reshape(-1)])
        # One position relative to itself is 0, and of one key a softmax makes 1.
        shows = positions.min() != positions.max() and (not self.up_to_rows or self.visible.sum(-1).max() > 1)
        return ("logits", *(["logits of far queries"] if self.tempered else [])) if shows else ()

    def compare(self, usage: RotationUsage, exact: bool = True) -> Comparison | None:
        part = self if exact or usage.head_order else self._subsample
        if usage.axis != "tokens" or {rotated_pairs(usage, role, exact).dim for role in ROLES} != {self.q.shape[-1]}:
            return None
        product, size = part.product(usage, exact)
        scale = self.scale * usage.logit_factor
        angle_rounding = float(rotated_pairs(usage, "query", exact).angle_rounding[0].max(initial=0.0))
        steps = farness(part.query_positions)[:, None] + farness(part.key_positions)
        relative = ROUNDING[self.dtype] * 2 + angle_rounding * steps
        significant = np.broadcast_to(relative <= SIGNIFICANT, part.logits.shape) & part.visible
        gap = product * scale - part.logits
        tolerance = relative * size * abs(scale) + self.rounding
        if usage.tf32 in ("logits", "all"):  # a product of rounded numbers: one more ulp where the rounding tips over
            tolerance = tolerance + TF32_TIP * size * abs(scale)
        if self.up_to_rows:
            gap = less_row_mean(gap, significant)
            tolerance = tolerance + _row_mean(tolerance, significant)
        return Comparison(np.abs(gap), tolerance, significant)

    def product(self, usage: RotationUsage, exact: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """q·k of rotated vectors, (heads, n, m), and the product of their lengths."""
        q, k = self.rotated(usage, exact)
        if usage.tf32 in ("logits", "all"):
            q, k = to_tf32(q), to_tf32(k)
        size = np.linalg.norm(q, axis=-1)[..., None] * np.linalg.norm(k, axis=-1)[:, None]
        return q @ k.swapaxes(-1, -2), size

    def rotated(self, usage: RotationUsage, exact: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Queries (heads, n, dim) and keys (heads, m, dim) as a usage rotates them, in its order of heads."""
        q = rotated_heads(usage, self.q, self.query_positions, "query", exact)
        k = rotated_heads(usage, self.k, self.key_positions, "key", exact)
        if usage.head_order:
            order = list(usage.head_order)
            q = q if usage.head_order_of == "key" else q[order]
            k = k if usage.head_order_of == "query" else k[order]
        return q, k

    def logit_factors(self, usage: RotationUsage) -> tuple[float, ...]:
        """Factor of q·k·scale that comes nearest to the logits."""
        part = self._few_rows
        product, logits = part.product(usage)[0], part.logits
        if self.up_to_rows:
            product, logits = less_row_mean(product, part.visible), less_row_mean(logits, part.visible)
        size = float((product[part.visible] ** 2).sum()) * self.scale
        return (float((product[part.visible] * logits[part.visible]).sum()) / size,) if size else ()

    def describe(self, index: tuple[int, ...]) -> str:
        head, row, column = index
        of_head = f"head {self._heads[head]}, " if len(self.q) > 1 or self.head_numbers else ""
        return (
            f"{of_head}query at position {shown_position(self.query_positions[row])}, key at "
            f"{shown_position(self.key_positions[column])}"
        )

    def numbers(self) -> dict[str, np.ndarray]:
        positions = {"query_positions": self.query_positions, "key_positions": self.key_positions}
        return {"q": self.q, "k": self.k, **positions, self.form: self.logits}

    def width(self) -> str:
        heads, queries, dim = self.q.shape
        of_heads = f"{heads} heads, " if heads > 1 else ""
        return f"{self.form} of {of_heads}{queries} queries and {self.k.shape[1]} keys of {dim} channels, {self.dtype}"

    def channels(self) -> int:
        return int(self.q.shape[-1])

    def unchanged(self) -> bool:
        """Whether the logits are those of q·k without any rotation."""
        size = np.linalg.norm(self.q, axis=-1)[..., None] * np.linalg.norm(self.k, axis=-1)[:, None]
        tolerance = 2 * ROUNDING[self.dtype] * size * abs(self.scale) + self.rounding
        gap = self.q @ self.k.swapaxes(-1, -2) * self.scale - self.logits
        if self.up_to_rows:
            gap = less_row_mean(gap, self.visible)
            tolerance = tolerance + _row_mean(tolerance, self.visible)
        return bool(np.all((np.abs(gap) <= tolerance) | ~self.visible))

    def longest(self) -> int:
        return max(longest_with(self.query_positions), longest_with(self.key_positions))

    def of_heads(self, heads: np.ndarray) -> Self:
        """Restrict the evidence to these heads."""
        numbers = tuple(self._heads[head] for head in heads)
        arrays = {name: getattr(self, name)[heads] for name in ("q", "k", "logits", "visible")}
        return replace(self, head_numbers=numbers, **arrays)

    def of_tokens(self, queries: np.ndarray, keys: np.ndarray) -> Self:
        """Restrict the evidence to these queries and keys."""
        q, query_positions = self.q[:, queries], self.query_positions[queries]
        k, key_positions = self.k[:, keys], self.key_positions[keys]
        logits, visible = (part[:, queries][..., keys] for part in (self.logits, self.visible))
        changed = replace(self, q=q, k=k, logits=logits, visible=visible)
        return replace(changed, query_positions=query_positions, key_positions=key_positions)

    @property
    def _heads(self) -> tuple[int, ...]:
        return self.head_numbers or tuple(range(len(self.q)))

    @cached_property
    def _few_heads(self) -> Self:
        return self.of_heads(np.unique(np.linspace(0, len(self.q) - 1, HEADS).astype(int)))

    @cached_property
    def _subsample(self) -> Self:
        return self._few_heads.of_tokens(subsample(self.query_positions), subsample(self.key_positions))

    @cached_property
    def _few_rows(self) -> Self:
        """Some rows of some heads with all their keys, enough to read a factor off."""
        rows = np.unique(np.linspace(0, self.q.shape[1] - 1, 64).astype(int))
        return self._few_heads.of_tokens(rows, np.arange(self.k.shape[1]))

    @cached_property
    def _few_tokens(self) -> Self:
        """Some queries and keys of all heads."""
        sides = (np.unique(np.linspace(0, count - 1, FEW_TOKENS).astype(int)) for count in self.logits.shape[1:])
        return self.of_tokens(*sides)

    def first_wrong(self, usage: RotationUsage) -> tuple[int, ...]:
        """Find the first positions that differ in a few heads: of queries, against few keys and all, and of keys."""
        if self.query_positions.ndim > 1:
            return ()
        queries, keys = (np.argsort(side, kind="stable") for side in (self.query_positions, self.key_positions))
        few = self._few_heads
        found = few.of_tokens(queries, keys[:WITNESSES])._first_wrong_query(usage)
        if not found or found[0] > 1:  # else nothing begins to differ somewhere
            of_keys = few.of_tokens(queries[:1], keys)._first_wrong_key(usage)
            found = (*found, *of_keys, *few.of_tokens(queries, keys)._first_wrong_query(usage))
        return tuple(dict.fromkeys(found))

    def _first_wrong_query(self, usage: RotationUsage) -> tuple[int, ...]:
        """First position of sorted queries that differs; blocks of queries after it are not computed."""
        every, size = np.arange(self.q.shape[1]), max(BLOCK // (self.k.shape[1] * len(self.q)), 1)
        for start in range(0, len(every), size):
            part = self.of_tokens(every[start : start + size], np.arange(self.k.shape[1]))
            comparison = part.compare(usage)
            if comparison is None:
                return ()
            if found := first_wrong_of(comparison, part.query_positions, axis=1):
                return found
        return ()

    def _first_wrong_key(self, usage: RotationUsage) -> tuple[int, ...]:
        comparison = self.compare(usage)
        return () if comparison is None else first_wrong_of(comparison, self.key_positions, axis=2)

    def head_order(self, usage: RotationUsage, role: Role | None = None) -> tuple[int, ...]:
        if len(self.q) == 1 or self.head_numbers:
            return ()
        part = self._few_tokens
        visible = np.asarray(part.visible.all(0))
        q, k = part.rotated(usage)
        products = np.einsum("gnd,hmd->ghnm" if role == "query" else "hnd,gmd->ghnm", q, k)
        if role is None:
            products = np.einsum("gnd,gmd->gnm", q, k)[:, None]
        expected = less_row_mean(products * self.scale, visible)[..., visible]
        shown = less_row_mean(part.logits, visible)[:, visible]
        if role is None:
            return nearest_heads(expected[:, 0], shown)
        return tuple(int(head) for head in ((expected - shown) ** 2).sum(-1).argmin(0))

    def frequencies(self, usage: RotationUsage) -> np.ndarray | None:
        """Return the frequencies that logits at ever longer distances show, where there are enough of them."""
        pairs = rotated_pairs(usage, "query")
        if pairs.dim != self.q.shape[-1] or usage.other_layout or usage.sine_for_cosine:
            return None
        return _frequencies_shown(self, tuple(pairs.first.tolist()), tuple(pairs.second.tolist()))

    def products(self, logit_factor: float = 1.0) -> Products | None:
        """Return the logits as products q·k at whole positions of one axis; None for other positions."""
        positions = np.concatenate([self.query_positions, self.key_positions])
        if positions.ndim > 1 or np.any(positions != np.floor(positions)):
            return None
        values, sides = self.logits / (self.scale * logit_factor), (self.query_positions, self.key_positions)
        return Products(self.q, self.k, values, np.asarray(self.visible.all(0)), *sides, self.up_to_rows)

    def used_positions(self, usage: RotationUsage, role: Role) -> tuple[np.ndarray, np.ndarray] | None:
        """Return expected and used positions of queries or keys, read off logits with a few of the other side."""
        products = self.products(usage.logit_factor)
        if products is None or usage.crossed or usage.table is not None or usage.head_order:
            return None
        few = products.of_few_heads()
        few_rotated = replace(self, q=few.q, k=few.k)
        q, k = few_rotated.rotated(usage)
        pairs = rotated_pairs(usage, role)
        size = np.linalg.norm(q, axis=-1).max() * np.linalg.norm(k, axis=-1).max()
        tolerance = 2 * ROUNDING[self.dtype] * size + self.rounding / abs(self.scale * usage.logit_factor)
        if role == "query":
            used = positions_of_products(few, pairs, k, float(tolerance))
        elif few.up_to_rows:
            used = positions_of_keys(few, pairs, q, float(tolerance))
        else:
            used = positions_of_products(few.transposed(), pairs, q, float(tolerance))
        return None if used is None else (few.query_positions if role == "query" else few.key_positions, used)

    def table_lengths(self) -> tuple[int, ...]:
        return powers_within(np.concatenate([self.query_positions, self.key_positions]))


@lru_cache(maxsize=8)
def _frequencies_shown(logits: ObservedLogits, first: tuple[int, ...], second: tuple[int, ...]) -> np.ndarray | None:
    """Frequencies (pairs,) that logits show if these channels rotate in pairs; None where they show too little."""
    products, count = logits.products(), len(first)
    if products is None:
        return None
    sides = np.array(first), np.array(second), np.zeros(count, int), np.ones((1, count))
    rotations = rotations_by_distance(products, RotatedPairs(*sides, 1.0, logits.q.shape[-1], np.zeros((1, count))))
    shown = None if rotations is None else rotations.frequencies()
    return None if shown is None else np.abs(shown)


def rotated_heads(
    usage: RotationUsage, x: np.ndarray, positions: np.ndarray, role: Role, exact: bool = True
) -> np.ndarray:
    """Vectors (heads, n, dim) as a usage rotates them; `positions` are those of the n tokens."""
    every = np.tile(positions, (len(x), *(1,) * (positions.ndim - 1)))
    return rotate_vectors(usage, x.reshape(-1, x.shape[-1]), every, role, exact).reshape(x.shape)


def less_row_mean(values: np.ndarray, visible: np.ndarray) -> np.ndarray:
    """Subtract from each row of values (..., n, m) the mean of its visible ones."""
    return np.asarray(values - _row_mean(values, visible))


def _row_mean(values: np.ndarray, visible: np.ndarray) -> np.ndarray:
    count = np.maximum(visible.sum(-1, keepdims=True), 1)
    return np.asarray(np.where(visible, values, 0.0).sum(-1, keepdims=True) / count)
