"""Rotations as the caches of an ONNX model's RotaryEmbedding nodes hold them: tables of cos and sin, read as RoPE."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from posenc.core import validation
from posenc.encodings.rotates.rope import RoPE
from posenc.frequencies import Scaling

if TYPE_CHECKING:
    from onnx import GraphProto, TensorProto

MOST_PAIRS = validation.LARGEST_WIDTH // 2
#: Of float32, float16, float64 and bfloat16, by their number in the format: bytes of a number, the field of numbers
#: that are not raw bytes, and how far a number may be rounded, of itself; angles of float64 are float32 at best.
FLOATS = {
    1: (4, "float_data", 2.0**-23), 10: (2, "int32_data", 2.0**-11), 11: (8, "double_data", 2.0**-23),
    16: (2, "int32_data", 2.0**-8),
}  # fmt: skip
#: Code makes caches in float32: a power, a quotient and a product with the position, each rounded by 2^-24 of itself,
#: make an angle; sixteen such steps are allowed for, and what the steps of a scaling may put a frequency off.
ANGLE = 2.0**-20
#: The least number of float16 besides 0, by which a small sine may be off.
SMALLEST = 2.0**-24
#: Rows that are compared, and pairs that a base is looked for in.
ROWS, COLUMNS = 64, 512
#: A base is refined by ever faster angles, those that fall by at most so many radians where it grows e-fold.
FALLS = (1e2, 1e4, 1e6)


def rotations_of_caches(graph: GraphProto, stated: Mapping[str, Any]) -> Callable[[str, str], RoPE]:
    """Make a memoised function that returns the RoPE of two caches by their names, checked against their numbers."""
    initializers = {tensor.name: tensor for tensor in graph.initializer}
    scaling = stated.get("scaling")
    if scaling is not None:
        validation.instance("stated['scaling']", scaling, Scaling, "a scaling")

    @cache
    def rotation(cosine_name: str, sine_name: str) -> RoPE:
        (cosine, rounded), (sine, other) = (_cache(initializers, name) for name in (cosine_name, sine_name))
        if cosine.shape != sine.shape:
            raise ValueError(
                f"caches must have one shape; got {cosine.shape} of cos and {sine.shape} of sin. The model is damaged."
            )
        rounded = max(rounded, other)
        base = (
            validation.real("base", stated["base"], 0.0, 1e30, above=True)
            if "base" in stated
            else _base(cosine, sine, rounded)
        )
        rope = RoPE(dim=2 * cosine.shape[1], base=base, scaling=scaling)
        _require_same_caches(rope, cosine, sine, rounded)
        return rope

    return rotation


def _cache(initializers: Mapping[str, TensorProto], name: str) -> tuple[np.ndarray, float]:
    """Read a cos or sin cache, (positions, pairs), from the initializers, and how far its numbers are rounded."""
    from onnx import numpy_helper

    tensor = initializers.get(name)
    if tensor is None or tensor.external_data or tensor.data_location == tensor.EXTERNAL:
        raise ValueError(
            f"{name!r:.80} must be an initializer inside the graph, for its frequencies to be read; it is not. "
            "Fold constants first."
        )
    shape = tuple(tensor.dims)
    if tensor.data_type not in FLOATS or len(shape) != 2 or shape[0] < 2 or not 1 <= shape[1] <= MOST_PAIRS:
        raise ValueError(
            f"{name!r:.80} must hold floats, with a row for each position and a column for each pair; got type "
            f"{tensor.data_type} in shape {shape[:8]}. This is not a cache of cos or sin."
        )
    itemsize, numbers, rounded = FLOATS[tensor.data_type]
    count = len(tensor.raw_data) / itemsize if tensor.HasField("raw_data") else len(getattr(tensor, numbers))
    if math.prod(shape) != count:
        raise ValueError(
            f"{name!r:.80} must hold the numbers of shape {shape}; it holds {count:g}. The model is damaged."
        )
    table: np.ndarray = numpy_helper.to_array(tensor)
    if not np.isfinite(table).all():
        raise ValueError(f"{name!r:.80} must be finite; it is not. This is not a cache of cos or sin.")
    return table, rounded


def _base(cosine: np.ndarray, sine: np.ndarray, rounded: float) -> float:
    """Recover the base of a plain rotation: the one of fewest digits whose cosines and sines are these."""
    pairs = cosine.shape[1]
    if pairs == 1:
        return 10_000.0  # one pair rotates by 1 whatever the base is
    # The farthest row within half a rotation of the slowest pair gives most digits.
    angles = np.arctan2(sine[:, -1].astype(float), cosine[:, -1].astype(float))
    step = float(angles[1])
    row = max(1, min(int(np.argmax(angles)), int(math.pi / step / 2))) if 1e-30 < step <= 1 else 0
    if not row or angles[row] < 1e-30:
        raise ValueError(
            "caches must be of a plain rotation for its base to be recovered; these are not. State base and scaling."
        )
    rows, columns = _sampled(len(cosine), ROWS), _sampled(pairs, COLUMNS)
    known_cosine, known_sine = (table[np.ix_(rows, columns)].astype(float) for table in (cosine, sine))
    share, known = columns / pairs, np.arctan2(known_sine, known_cosine)
    base = _refined(min(float((angles[row] / row) ** (-pairs / (pairs - 1))), 1e30), rows, share, known)
    rounds = [float(f"{base:.{digits}g}") for digits in range(1, 17)]

    def fits(short: float) -> bool:
        plain = rows[:, None] * short**-share
        tables = ((np.cos(plain), known_cosine), (np.sin(plain), known_sine))
        return _times_allowed(tables, ANGLE * plain, rounded) <= 1.0

    return next(filter(fits, rounds), rounds[4])


def _refined(base: float, rows: np.ndarray, share: np.ndarray, known: np.ndarray) -> float:
    """Refine a base by least squares of the known angles (rows, pairs), slow ones first, then ever faster ones."""
    for most in FALLS:
        angles = rows[:, None] * base**-share
        falls = angles * share
        falls[falls > most] = 0.0
        off = np.angle(np.exp(1j * (angles - known)))
        step = float((falls * off).sum() / max((falls * falls).sum(), 1e-300))
        base *= math.exp(min(max(step, -1.0), 1.0))
    return base


def _require_same_caches(encoding: RoPE, cosine: np.ndarray, sine: np.ndarray, rounded: float) -> None:
    rows = _sampled(len(cosine), ROWS)
    rotation = encoding.rotation(rows)
    tables = ((rotation.cos, cosine[rows].astype(float)), (rotation.sin, sine[rows].astype(float)))
    frequencies = encoding.frequencies
    off = rows[:, None] * (ANGLE * frequencies.radians() + frequencies.rounding())
    if _times_allowed(tables, off, rounded) > 1.0:
        difference = max(np.abs(exact - table).max() for exact, table in tables)
        raise ValueError(
            f"caches must be those of {encoding!r:.120}; they differ by {difference:.2g}. "
            "State base and scaling: stated={'base': …, 'scaling': …}."
        )


def _sampled(count: int, most: int) -> np.ndarray:
    """At most so many of the indices below `count`, evenly, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, min(most, count)).astype(int))


def _times_allowed(tables: tuple[tuple[np.ndarray, np.ndarray], ...], off: np.ndarray, rounded: float) -> float:
    """Largest error of the stored cos and sin, pairs of exact and stored tables, as a multiple of what is allowed.

    `off` says how far each angle may be off, in radians.
    """
    size = np.hypot(tables[0][0], tables[1][0])
    allowed = off * size + SMALLEST
    return max(float((np.abs(exact - table) / (allowed + rounded * np.abs(exact))).max()) for exact, table in tables)
