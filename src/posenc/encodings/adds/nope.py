"""NoPE: no positional encoding, with the interface of the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from posenc.core.arrays import Array
from posenc.core.declared_fields import Width
from posenc.core.doors import AdditiveEncoding, Params
from posenc.core.row import Row


@dataclass(frozen=True)
class NoPE(AdditiveEncoding):
    """embed(p) = 0: the control that every comparison needs.

    A decoder without encoding still learns order from its causal mask: Kazemnejad et al. 2023, arXiv:2305.19466.
    Positions (*batch, n); result (*batch, n, dim), zeros.

    Args:
        dim: Channels of the embedding.

    Raises:
        ValueError: An argument breaks its rule; the message names it.
        TypeError: An argument has the wrong type.

    Example:
        >>> NoPE(dim=2).embed([0, 7]).tolist()
        [[0.0, 0.0], [0.0, 0.0]]
    """

    dim: Width

    claims = frozenset({"relative", "streaming", "bounded", "unlimited", "fractional", "shift-linear"})

    def embed(self, positions: Array, params: Params | None = None, *, dtype: Any = None) -> Array:
        positions, _, dtype = self.checked_call(positions, params, dtype)
        zeros = positions.lib.constant([0.0] * self.dim, dtype)
        return positions.lib.astype(positions.guard(), dtype)[..., None] + zeros


ROW = Row(
    NoPE,
    (NoPE(dim=8),),
    "Kazemnejad et al. 2023, arXiv:2305.19466",
    ("NoPE",),
    "As the control of a comparison, or in layers that should not see position.",
)
