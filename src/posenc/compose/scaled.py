"""Scaled and LearnedScale: an additive encoding times a stated or a learned factor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from posenc.core import arrays
from posenc.core.arrays import Array
from posenc.core.declared_fields import Instance, Real
from posenc.core.doors import AdditiveEncoding, Claim, Params, first_array
from posenc.core.row import Row
from posenc.encodings import _wrapped
from posenc.encodings._wrapped import AddsOne
from posenc.encodings.adds.learned import Learned
from posenc.encodings.adds.sinusoidal import Sinusoidal


@dataclass(frozen=True)
class Scaled(AddsOne):
    """embed(p) = factor · the encoding's vector, as MLX scales its sinusoidal one by √(2/d).

    Positions are as the encoding takes them; the result is formed in float32 at least and rounded once.

    Args:
        encoding: An additive encoding.
        factor: Factor of its vector.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: `factor` is out of range.

    Example:
        >>> from posenc import Sinusoidal
        >>> Scaled(Sinusoidal(dim=2), 0.5).embed([0]).tolist()
        [[0.0, 0.5]]
    """

    encoding: Annotated[AdditiveEncoding, Instance("an encoding that adds")]
    factor: Annotated[float, Real(-1e6, 1e6)]

    def embed(self, positions: Array, params: Params | None = None, *, dtype: Any = None) -> Array:
        return _times(self.encoding, positions, params, self.factor, dtype)


@dataclass(frozen=True)
class LearnedScale(AddsOne):
    """embed(p) = s · the encoding's vector, with s learned: the scaled positional encoding (α in the paper).

    Over Sinusoidal(dim, layout="concatenated") with initial=dim**-0.5 it is ScaledSinusoidalEmbedding of
    x-transformers. params["scale"] has shape (); the encoding's own parameters are named "inner.name". Positions are
    as the encoding takes them; the result is formed in float32 at least and rounded once.

    Args:
        encoding: An additive encoding.
        initial: Value that s starts from.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: `initial` is out of range.

    References:
        Li et al. 2019, arXiv:1809.08895.

    Example:
        >>> from posenc import Sinusoidal
        >>> LearnedScale(Sinusoidal(dim=2), initial=0.5).init(np.random.default_rng(0))
        {'scale': array(0.5)}
    """

    encoding: Annotated[AdditiveEncoding, Instance("an encoding that adds")]
    initial: Annotated[float, Real(-1e6, 1e6)] = 1.0

    @property
    def claims(self) -> frozenset[Claim]:  # type: ignore[override]
        return self.encoding.claims | {"learned"}

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"scale": (), **_wrapped.inner_shapes(self.encoding)}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        return {"scale": np.asarray(self.initial), **_wrapped.inner_init(self.encoding, rng)}

    def embed(self, positions: Array, params: Params | None = None, *, dtype: Any = None) -> Array:
        params = self.checked(params)
        positions = arrays.as_array("positions", positions, like=params["scale"])
        scale = arrays.library(params["scale"]).wide(params["scale"])
        return _times(self.encoding, positions, _wrapped.inner_params(params), scale, dtype)


def _times(encoding: AdditiveEncoding, positions: Array, params: Params | None, factor: Any, dtype: Any) -> Array:
    """Multiply embed(positions) by a factor, in float32 at least, rounded once."""
    positions = arrays.as_array("positions", positions, like=first_array(params))
    lib = arrays.library(positions)
    dtype = lib.result_dtype(dtype)
    rows = encoding.embed(positions, params, dtype=lib.wide_dtype(dtype))
    return lib.astype(rows * factor, dtype)


ROWS = (
    Row(
        Scaled,
        (Scaled(Sinusoidal(dim=6), 0.5), Scaled(Learned(dim=4, length=9), -3.0)),
        "no paper: released code; what is scaled is of Vaswani et al. 2017, arXiv:1706.03762",
        ("scale (SinusoidalPositionalEncoding of MLX)",),
        "To balance positions against token embeddings of another magnitude.",
    ),
    Row(
        LearnedScale,
        (LearnedScale(Sinusoidal(dim=6), initial=0.25), LearnedScale(Learned(dim=4, length=9, std=1.0), initial=0.5)),
        "Li et al. 2019, arXiv:1809.08895",
        ("ScaledSinusoidalEmbedding (x-transformers)", "ScaledPositionalEncoding (ESPnet)"),
        "To let training balance positions against token embeddings, with one parameter.",
    ),
)
