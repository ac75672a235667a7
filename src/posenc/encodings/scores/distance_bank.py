"""A bank of learned profiles over the distance, mixed by weights from the query token's input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.checked_content import inputs
from posenc.core.checked_positions import Positions
from posenc.core.declared_fields import Heads, Whole, Width
from posenc.core.doors import Params
from posenc.core.row import Row
from posenc.encodings.scores._by_distance import ByDistance, DistanceTerms
from posenc.positions.whole_positions import guarded, whole_distances


@dataclass(frozen=True)
class DistanceBank(ByDistance):
    """score(h, m, n) = (x_m · weights[h]) · bank[:, m - n] for 0 ≤ m - n < extent, else 0.

    The relative logits of the Inkling models, known from released code; query-dependent as Shaw et al. 2018,
    arXiv:1803.02155, but read from x, the input of the layer, given as `hidden` with one vector a query. Inkling scales
    its content logits by 1/d, and multiplies queries and this score by a temperature that grows with ln m; neither is
    done here.

    q: (*batch, heads, n, d), k: (*batch, heads, m, d), hidden: (*batch, n, model_dim); positions (*batch, n) and
    (*batch, m), whole numbers; params["weights"] (heads, model_dim, basis) and params["bank"] (basis, extent). Result
    in float32 at least.

    Args:
        heads: Heads of the layer.
        model_dim: Channels of the layer's input.
        basis: How many profiles are mixed (`d_rel`).
        extent: Distances that a profile covers, in steps (`rel_extent`).

    Raises:
        ValueError: An argument breaks its rule; the message names it. A fraction that cannot be seen gives NaN.
        TypeError: An argument has the wrong type.

    Example:
        >>> encoding = DistanceBank(heads=1, model_dim=1, basis=1, extent=2)
        >>> params = {"weights": np.ones((1, 1, 1)), "bank": np.array([[2.0, 3.0]])}
        >>> q = np.zeros((1, 1, 1, 4))
        >>> encoding.score(q, q.repeat(4, 2), [2], [0, 1, 2, 3], params, hidden=np.full((1, 1, 1), 10.0)).tolist()
        [[[[0.0, 30.0, 20.0, 0.0]]]]
    """

    heads: Heads
    model_dim: Width
    basis: Width = 16
    extent: Annotated[int, Whole(1, 1 << 20)] = 1024

    claims = frozenset({"relative", "streaming", "bounded", "unlimited", "learned"})
    reads: ClassVar = "query"

    def _check_together(self) -> None:
        validation.size("model_dim", self.heads * self.model_dim * self.basis)
        validation.size("extent", self.basis * self.extent)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"weights": (self.heads, self.model_dim, self.basis), "bank": (self.basis, self.extent)}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """N(0, 0.02²), the spread from which the released code draws."""
        return {name: rng.standard_normal(shape) * 0.02 for name, shape in self.shapes.items()}

    @property
    def changes_within(self) -> tuple[int, int]:
        return -self.extent, 1

    def _terms(self, q: Array, k: Array, x: Array, steps: Positions, learned: Params) -> DistanceTerms:
        lib, xp, distance = steps.lib, steps.lib.xp, -steps.array
        inside = lib.astype((distance >= 0) & (distance < self.extent), q.dtype)
        profiles = learned["bank"][:, xp.clip(distance, 0, self.extent - 1)] * inside
        return DistanceTerms(x[..., None, :, :] @ learned["weights"], profiles.swapaxes(0, 1)[None])

    def _score(self, q: Array, k: Array, query: Positions, key: Positions, learned: Params, hidden: Array) -> Array:
        lib, xp = query.lib, query.lib.xp
        profiles = (inputs(hidden, q, self.model_dim)[..., None, :, :] @ learned["weights"]) @ learned["bank"]
        distance, guard = whole_distances(query, key)
        steps = -distance
        row = xp.broadcast_to(xp.clip(steps, 0, self.extent - 1), (*q.shape[:-1], k.shape[-2]))
        inside = lib.astype((steps >= 0) & (steps < self.extent), q.dtype)
        return guarded(lib.take_along(profiles, row) * inside, guard)


ROW = Row(
    DistanceBank,
    (
        DistanceBank(heads=3, model_dim=5, basis=2, extent=4),
        DistanceBank(heads=2, model_dim=3, basis=1, extent=7),
    ),
    "no paper: released code of Inkling; query-dependent as Shaw et al. 2018, arXiv:1803.02155",
    ("InklingRelativeLogits", "RelativeProjPositionalBias (x-transformers)"),
    "For decoders without a rotation whose tokens should choose how far they look.",
)
