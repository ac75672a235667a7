"""Encodings made of encodings: records that wrap records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc import _array, _check
from posenc._array import Array
from posenc.doors import Adds, Claim, Encoding, Params, Role, Rotates
from posenc.turn import Pairing, Turn


@dataclass(frozen=True)
class Sum(Adds):
    """embed(p) = the sum of the parts' vectors: fixed and learned together, say.

    parts: two or more records that add, of one width. The parameters of part i are named "i.name".
    Positions and result as for each part; errors name the argument.

    >>> from posenc.encodings.sinusoidal import Sinusoidal
    >>> Sum((Sinusoidal(dim=2), Sinusoidal(dim=2))).embed([0]).tolist()
    [[0.0, 2.0]]
    """

    parts: tuple[Adds, ...]

    def __post_init__(self) -> None:
        parts = _adding("parts", self.parts)
        if len({part.width for part in parts}) != 1:
            raise ValueError(f"parts must have one width; got {[part.width for part in parts]}. Make them equal.")
        _check.settle(self, parts=parts)

    @property
    def claims(self) -> frozenset[Claim]:  # type: ignore[override]
        shared = frozenset.intersection(*(part.claims for part in self.parts))
        return shared | {"learned"} if any("learned" in part.claims for part in self.parts) else shared

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
        positions = _array.as_array("positions", positions, like=next(iter(params.values()), None))
        dtype = _array.result_dtype(dtype, positions)
        wide = _array.wide_dtype(dtype, positions)
        rows = [part.embed(positions, _own(params, str(i)), dtype=wide) for i, part in enumerate(self.parts)]
        return _array.astype(sum(rows[1:], rows[0]), dtype)


@dataclass(frozen=True)
class Scaled(Adds):
    """embed(p) = factor · the encoding's vector.

    >>> from posenc.encodings.sinusoidal import Sinusoidal
    >>> Scaled(Sinusoidal(dim=2), 0.5).embed([0]).tolist()
    [[0.0, 0.5]]
    """

    encoding: Adds
    factor: float

    def __post_init__(self) -> None:
        _check.settle(
            self,
            encoding=_check.instance("encoding", self.encoding, Adds, "a record that adds"),
            factor=_check.real("factor", self.factor, -1e6, 1e6),
        )

    @property
    def claims(self) -> frozenset[Claim]:  # type: ignore[override]
        return self.encoding.claims

    @property
    def width(self) -> int:
        return self.encoding.width

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return self.encoding.shapes

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        return self.encoding.init(rng)

    def embed(self, positions: Array, params: Params | None = None, *, dtype: Any = None) -> Array:
        return _times(self.encoding, positions, params, self.factor, dtype)


@dataclass(frozen=True)
class LearnedScale(Adds):
    """embed(p) = s · the encoding's vector, with s learned: how loud position is, left to training.

    initial: the value s starts from. Its parameter is "scale", shape (); those of the encoding are "encoding.name".
    Over Sinusoidal(dim, layout="concatenated") with initial=dim**-0.5 it is ScaledSinusoidalEmbedding of x-transformers.

    >>> from posenc.encodings.sinusoidal import Sinusoidal
    >>> LearnedScale(Sinusoidal(dim=2), initial=0.5).init(np.random.default_rng(0))
    {'scale': array(0.5)}
    """

    encoding: Adds
    initial: float = 1.0

    def __post_init__(self) -> None:
        _check.settle(
            self,
            encoding=_check.instance("encoding", self.encoding, Adds, "a record that adds"),
            initial=_check.real("initial", self.initial, -1e6, 1e6),
        )

    @property
    def claims(self) -> frozenset[Claim]:  # type: ignore[override]
        return self.encoding.claims | {"learned"}

    @property
    def width(self) -> int:
        return self.encoding.width

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"scale": ()} | {f"encoding.{name}": shape for name, shape in self.encoding.shapes.items()}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        own = {f"encoding.{name}": value for name, value in self.encoding.init(rng).items()}
        return {"scale": np.asarray(self.initial), **own}

    def embed(self, positions: Array, params: Params | None = None, *, dtype: Any = None) -> Array:
        params = self.checked(params)
        positions = _array.as_array("positions", positions, like=params["scale"])
        return _times(self.encoding, positions, _own(params, "encoding"), _array.wide(params["scale"]), dtype)


@dataclass(frozen=True)
class Concatenated(Adds):
    """The encoding's vector behind the embedding instead of added to it: `attach` widens x by `width` channels.

    >>> from posenc.encodings.sinusoidal import Sinusoidal
    >>> Concatenated(Sinusoidal(dim=2)).attach(np.zeros((1, 3)), [0]).tolist()
    [[0.0, 0.0, 0.0, 0.0, 1.0]]
    """

    encoding: Adds

    def __post_init__(self) -> None:
        _check.instance("encoding", self.encoding, Adds, "a record that adds")

    @property
    def claims(self) -> frozenset[Claim]:  # type: ignore[override]
        return self.encoding.claims

    @property
    def width(self) -> int:
        return self.encoding.width

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return self.encoding.shapes

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        return self.encoding.init(rng)

    def embed(self, positions: Array, params: Params | None = None, *, dtype: Any = None) -> Array:
        return self.encoding.embed(positions, params, dtype=dtype)

    def attach(self, x: Array, positions: Array, params: Params | None = None) -> Array:
        """x: (*batch, n, d) → (*batch, n, d + width)."""
        positions = _array.as_array("positions", positions, like=_array.floats("x", x))
        rows = _array.astype(self.embed(positions, params, dtype=_array.wide(x).dtype), x.dtype)
        if x.ndim < 2 or x.shape[-2] != rows.shape[-2]:
            raise ValueError(
                f"x must have one place for each of {rows.shape[-2]} positions; got shape {tuple(x.shape)}. Give a position for each."
            )
        xp = _array.namespace(x)
        return xp.concatenate([x, xp.broadcast_to(rows, (*x.shape[:-1], rows.shape[-1]))], -1)


@dataclass(frozen=True)
class Partial(Rotates):
    """A rotation of some channels of a wider head; the others pass unchanged.

    The frequencies are those of the rotated width, as in GPT-NeoX (Black et al. 2022, arXiv:2204.06745, §2.1).
    encoding: the rotation; dim: channels of the whole head; start: the first channel that turns.

    >>> from posenc.encodings.rope import RoPE
    >>> Partial(RoPE(dim=2), dim=4).turn([1])(np.ones((1, 4))).round(3)
    array([[-0.301,  1.382,  1.   ,  1.   ]])
    """

    encoding: Rotates
    dim: int
    start: int = 0

    def __post_init__(self) -> None:
        encoding = _check.instance("encoding", self.encoding, Rotates, "a record that rotates")
        _check.settle(
            self, dim=_check.integer("dim", self.dim, encoding.head_dim), start=_check.integer("start", self.start, 0)
        )
        if self.start + encoding.head_dim > self.dim:
            raise ValueError(
                f"start must leave room for the {encoding.head_dim} channels that turn in dim={self.dim}; got {self.start}. Start earlier."
            )

    @property
    def claims(self) -> frozenset[Claim]:  # type: ignore[override]
        return self.encoding.claims

    @property
    def head_dim(self) -> int:
        return self.dim

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return self.encoding.shapes

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        return self.encoding.init(rng)

    def turn(self, positions: Array, params: Params | None = None, *, role: Role = "both", dtype: Any = None) -> Turn:
        inner = self.encoding.turn(positions, params, role=role, dtype=dtype)
        own = inner.pairing
        pairing = Pairing(own.layout, self.dim, own.width, self.start + own.start, own.blocks)
        return Turn(inner.cos, inner.sin, pairing, inner.factor)


@dataclass(frozen=True)
class PerLayer:
    """Which encoding each layer of a model uses; None for a layer without one. A schedule, not an encoding.

    >>> from posenc.encodings.rope import RoPE
    >>> PerLayer((RoPE(dim=8), None)).at(1) is None
    True
    """

    layers: tuple[Encoding | None, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.layers, tuple | list) or not self.layers:
            raise TypeError(
                f"layers must be a tuple of records, at least one; got {_check.shown(self.layers)}. Give one for each layer."
            )
        for layer in self.layers:
            if layer is not None:
                _check.instance("layers", layer, Encoding, "a tuple of records or None")
        _check.settle(self, layers=tuple(self.layers))

    def at(self, layer: int) -> Encoding | None:
        """The encoding of a layer, counted from 0."""
        return self.layers[_check.integer("layer", layer, 0, len(self.layers) - 1)]


def _adding(name: str, parts: Any) -> tuple[Adds, ...]:
    if not isinstance(parts, tuple | list) or len(parts) < 2:
        raise TypeError(
            f"{name} must be a tuple of two or more records that add; got {_check.shown(parts)}. Give the parts."
        )
    for part in parts:
        _check.instance(name, part, Adds, "a tuple of records that add")
    return tuple(parts)


def _own(params: Params, prefix: str) -> Mapping[str, Array]:
    """The parameters of one part, under their own names."""
    return {name.removeprefix(f"{prefix}."): value for name, value in params.items() if name.startswith(f"{prefix}.")}


def _times(encoding: Adds, positions: Array, params: Params | None, factor: Any, dtype: Any) -> Array:
    """factor · embed(positions), formed in float32 at least and rounded once."""
    positions = _array.as_array(
        "positions", positions, like=next(iter(params.values()), None) if isinstance(params, Mapping) else None
    )
    dtype = _array.result_dtype(dtype, positions)
    rows = encoding.embed(positions, params, dtype=_array.wide_dtype(dtype, positions))
    return _array.astype(rows * factor, dtype)
