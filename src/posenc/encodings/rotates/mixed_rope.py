"""Rotary position embedding over several axes whose frequencies are learned, all axes mixed in every pair."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from posenc.core.arrays import Array
from posenc.core.checked_positions import split_coordinates
from posenc.core.declared_fields import Base, Whole
from posenc.core.doors import Params, Role, RotaryEncoding
from posenc.core.rotation import Pairing, PairLayout, Rotation
from posenc.core.row import Row
from posenc.phase import cos_sin_of_learned


@dataclass(frozen=True)
class MixedRoPE(RotaryEncoding):
    """Rotate pair i by Σ_a position[a]·frequencies[a, i], with learned frequencies of any direction and length.

    RoPE-Mixed (Heo et al. 2024, arXiv:2403.13298, §3.2). They begin at right angles: of each two pairs k and k + dim/4
    one has the length base^(-4k/dim) along a direction drawn once a head, the other the same length across it, as
    released (`init_random_2d_freqs`). One encoding is one head: heads that learn apart have an encoding, or parameters,
    each.

    Positions (*batch, n, 2), integers or float32/float64; params["frequencies"] (2, dim/2), radians a step; the
    Rotation holds cos and sin of shape (*batch, n, dim/2), exact for the frequencies as they are held. Frequencies of
    2^27 or more give NaN.

    Args:
        dim: Channels of a head, a multiple of 4.
        base: Base of the initial lengths, in radians per step.
        pairing: "adjacent" pairs channels (2i, 2i+1), "halves" (i, i + dim/2).

    Raises:
        ValueError: A field or argument breaks its rule; the message names it.
        TypeError: A field or argument has the wrong type.

    Example:
        >>> rotation = MixedRoPE(dim=4).rotation([[1, 0], [1, 1]], {"frequencies": np.array([[1.0, 2.0], [-1.0, 0.5]])})
        >>> rotation.cos.round(4).tolist()  # of 1 and 2, then of 1 - 1 and 2 + 1/2
        [[0.5403, -0.4161], [1.0, -0.8011]]
    """

    dim: Annotated[int, Whole(4, even=True)]
    base: Base = 10.0
    pairing: PairLayout = "adjacent"

    claims = frozenset({"relative", "isometry", "streaming", "bounded", "unlimited", "fractional", "learned"})

    def _check_together(self) -> None:
        if self.dim % 4:
            raise ValueError(
                f"dim must be a multiple of 4, since pairs have perpendicular partners; got {self.dim}. Widen the head."
            )

    @property
    def axes(self) -> int:
        return 2

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"frequencies": (2, self.dim // 2)}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw a direction of the plane: lengths base^(-4k/dim) along it for half of the pairs, then across it."""
        length = self.base ** (-4.0 * np.arange(self.dim // 4) / self.dim)
        angle = rng.random() * 2 * np.pi + np.array([[0.0], [np.pi / 2]])
        return {"frequencies": np.stack([(length * function(angle)).reshape(-1) for function in (np.cos, np.sin)])}

    @cached_property
    def channels(self) -> Pairing:
        """Pairing of the channels."""
        return Pairing(self.pairing, self.dim, self.dim)

    def rotation(
        self, positions: Array, params: Params | None = None, *, role: Role = "both", dtype: Any = None
    ) -> Rotation:
        positions, learned, dtype = self.checked_call(positions, params, role, dtype)
        cos_sin = cos_sin_of_learned(split_coordinates(positions, 2), tuple(learned["frequencies"]), dtype)
        return Rotation(*cos_sin, self.channels)


ROW = Row(
    MixedRoPE,
    (MixedRoPE(dim=8), MixedRoPE(dim=4, base=100.0, pairing="halves")),
    "Heo et al. 2024, arXiv:2403.13298",
    ("RoPE-Mixed (rope-vit)", "RotaryEmbeddingMixed (timm)"),
    "For vision transformers trained long enough to find their own directions and wavelengths.",
)
