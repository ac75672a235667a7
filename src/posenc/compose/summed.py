"""Sum of several encodings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from posenc.core import arrays
from posenc.core.arrays import Array
from posenc.core.declared_fields import InstanceOf, TupleOf
from posenc.core.doors import AdditiveEncoding, Claim, Params, first_array
from posenc.core.row import Row
from posenc.encodings import _wrapped
from posenc.encodings.adds.learned import Learned
from posenc.encodings.adds.sinusoidal import Sinusoidal

PARTS = TupleOf(
    InstanceOf(AdditiveEncoding, "a tuple of encodings that add"),
    "a tuple of two or more encodings that add",
    "Give the parts.",
    2,
)


@dataclass(frozen=True)
class Sum(AdditiveEncoding):
    """embed(p) = the sum of the parts' vectors, for example of a fixed and a learned encoding.

    A usual hybrid; no paper is its source. Positions are as every part takes them; the result is formed in float32 at
    least and rounded once. The parameters of part i are named "i.name".

    Args:
        parts: Two or more additive encodings of one width.

    Raises:
        TypeError: `parts` is no tuple of additive encodings.
        ValueError: Widths or axes of the parts differ.

    Example:
        >>> from posenc import Sinusoidal
        >>> Sum((Sinusoidal(dim=2), Sinusoidal(dim=2))).embed([0]).tolist()
        [[0.0, 2.0]]
    """

    parts: Annotated[tuple[AdditiveEncoding, ...], PARTS]

    def _check_together(self) -> None:
        widths, axes = [part.width for part in self.parts], [part.axes for part in self.parts]
        if len(set(widths)) != 1:
            raise ValueError(f"parts must have one width; got {widths}. Make them equal.")
        if len(set(axes)) != 1:
            raise ValueError(f"parts must share their axes; got {axes}. Make them equal.")

    @property
    def claims(self) -> frozenset[Claim]:  # type: ignore[override]
        shared = frozenset.intersection(*(part.claims for part in self.parts))
        if len(set(self.parts)) > 1:  # waves of two frequencies in one channel: no matrix shifts both
            shared -= {"shift-linear"}
        return shared | {"learned"} if any("learned" in part.claims for part in self.parts) else shared

    @property
    def axes(self) -> int:
        return self.parts[0].axes

    @property
    def width(self) -> int:
        return self.parts[0].width

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {f"{i}.{name}": shape for i, part in enumerate(self.parts) for name, shape in part.shapes.items()}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        return {f"{i}.{name}": value for i, part in enumerate(self.parts) for name, value in part.init(rng).items()}

    def embed(self, positions: Array, params: Params | None = None, *, dtype: Any = None) -> Array:
        params = self.checked(params)
        positions = arrays.as_array("positions", positions, like=first_array(params))
        lib = arrays.library(positions)
        dtype = lib.result_dtype(dtype)
        wide = lib.wide_dtype(dtype)
        learned = [_wrapped.inner_params(params, str(index)) for index in range(len(self.parts))]
        rows = [part.embed(positions, own, dtype=wide) for part, own in zip(self.parts, learned, strict=True)]
        return lib.astype(sum(rows[1:], rows[0]), dtype)


ROW = Row(
    Sum,
    (
        Sum((Sinusoidal(dim=8), Learned(dim=8, length=16))),
        Sum((Sinusoidal(dim=6), Sinusoidal(dim=6, base=100.0), Sinusoidal(dim=6, base=7.0, layout="concatenated"))),
    ),
    "no paper: a usual hybrid; its parts are of Vaswani et al. 2017, arXiv:1706.03762",
    ("fixed and learned together", "hybrid embedding"),
    "To add a learned correction to a fixed table, or to combine encodings of several kinds of positions.",
)
