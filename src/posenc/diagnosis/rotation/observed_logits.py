"""Logits of queries and keys that running code gave."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from posenc.diagnosis.rotation.applied_rotation import ROLES, rotate_vectors, rotated_pairs
from posenc.diagnosis.rotation.comparison import ANGLE, ROUGH, ROUNDING, SIGNIFICANT, Comparison, farness, subsample
from posenc.diagnosis.rotation.rotation_evidence import RotationEvidence, longest_with, powers_within, shown_position
from posenc.diagnosis.rotation.rotation_usage import RotationUsage


@dataclass(frozen=True, eq=False)
class ObservedLogits(RotationEvidence):
    """Logits (n, m) of queries (n, dim) and keys (m, dim) at positions, times `scale`; masked where not finite."""

    q: np.ndarray
    k: np.ndarray
    logits: np.ndarray
    query_positions: np.ndarray
    key_positions: np.ndarray
    scale: float
    dtype: str

    def kinds(self) -> tuple[str, ...]:
        return ("logits",)

    def compare(self, usage: RotationUsage, exact: bool = True) -> Comparison | None:
        if usage.axis != "tokens" or {rotated_pairs(usage, role, exact).dim for role in ROLES} != {self.q.shape[1]}:
            return None
        rows, columns = (slice(None), slice(None)) if exact else self._subsample
        query_positions, key_positions = self.query_positions[rows], self.key_positions[columns]
        logits, scale = self.logits[rows][:, columns], self.scale * usage.logit_factor
        product, size = self._product(usage, rows, columns, exact)
        fastest = float(np.abs(rotated_pairs(usage, "query", exact).frequencies[0]).max(initial=0.0))
        steps = farness(query_positions)[:, None] + farness(key_positions)
        tolerance = ROUNDING[self.dtype] * 2 + (ANGLE if exact else ROUGH) * fastest * steps
        significant = (tolerance <= SIGNIFICANT) & (logits > -1e30)
        return Comparison(np.abs(product * scale - logits), tolerance * size * abs(scale), significant)

    def _product(
        self, usage: RotationUsage, rows: slice | np.ndarray, columns: slice | np.ndarray, exact: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """q·k of rotated vectors, (n, m), and the product of their lengths."""
        q = rotate_vectors(usage, self.q[rows], self.query_positions[rows], "query", exact)
        k = rotate_vectors(usage, self.k[columns], self.key_positions[columns], "key", exact)
        return q @ k.T, np.linalg.norm(q, axis=1)[:, None] * np.linalg.norm(k, axis=1)

    def logit_factors(self, usage: RotationUsage) -> tuple[float, ...]:
        """Factor of q·k·scale that comes nearest to the logits."""
        product, _ = self._product(usage, slice(None), slice(None), True)
        visible = np.isfinite(self.logits) & (self.logits > -1e30)
        size = float((product[visible] ** 2).sum()) * self.scale
        return (float((product[visible] * self.logits[visible]).sum()) / size,) if size else ()

    def describe(self, index: tuple[int, ...]) -> str:
        row, column = index
        return (
            f"query at position {shown_position(self.query_positions[row])}, key at "
            f"{shown_position(self.key_positions[column])}"
        )

    def numbers(self) -> dict[str, np.ndarray]:
        positions = {"query_positions": self.query_positions, "key_positions": self.key_positions}
        return {"q": self.q, "k": self.k, **positions, "logits": np.where(np.isneginf(self.logits), 0.0, self.logits)}

    def width(self) -> str:
        return f"logits of {len(self.q)} queries and {len(self.k)} keys of {self.q.shape[1]} channels, {self.dtype}"

    def channels(self) -> int:
        return int(self.q.shape[1])

    def longest(self) -> int:
        return max(longest_with(self.query_positions), longest_with(self.key_positions))

    @cached_property
    def _subsample(self) -> tuple[np.ndarray, np.ndarray]:
        return subsample(self.query_positions), subsample(self.key_positions)

    def table_lengths(self) -> tuple[int, ...]:
        return powers_within(np.concatenate([self.query_positions, self.key_positions]))
