"""Named arrays as evidence of what a rotation does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from posenc.core.rotation import PairLayout
from posenc.diagnosis.logit_forms import LOGIT_NAMES, shown_logits
from posenc.diagnosis.named_arrays import Arrays, named_arrays, scalar
from posenc.diagnosis.rotation.applied_rotation import ROLES, Role
from posenc.diagnosis.rotation.comparison import ROUNDING, Comparison
from posenc.diagnosis.rotation.head_axes import for_each_head, of_logits, with_all_axes
from posenc.diagnosis.rotation.observed_logits import ObservedLogits
from posenc.diagnosis.rotation.observed_rotations import ObservedRotations
from posenc.diagnosis.rotation.observed_table import ObservedFrequencies, ObservedTable
from posenc.diagnosis.rotation.observed_vectors import ObservedVectors
from posenc.diagnosis.rotation.rotation_evidence import RotationEvidence
from posenc.diagnosis.rotation.rotation_usage import RotationUsage
from posenc.encodings.rotates.temperature import QueryTemperature


@dataclass(frozen=True, eq=False)
class CombinedEvidence(RotationEvidence):
    """Several pieces of evidence that one usage must explain together."""

    parts: tuple[RotationEvidence, ...]

    def fits(self, usage: RotationUsage, exact: bool = True) -> bool:
        return all(part.fits(usage, exact) for part in self.parts)

    def kinds(self) -> tuple[str, ...]:
        return tuple(kind for part in self.parts for kind in part.kinds())

    def compare(self, usage: RotationUsage, exact: bool = True) -> Comparison | None:
        wrong = next((part for part in self.parts if not part.fits(usage, exact)), self.parts[0])
        return wrong.compare(usage, exact)

    def rotations(self, usage: RotationUsage, role: Role = "query") -> ObservedRotations | None:
        every = (part.rotations(usage, role) for part in self.parts)
        return next((rotations for rotations in every if rotations is not None), None)

    def frequencies(self, usage: RotationUsage) -> np.ndarray | None:
        every = (part.frequencies(usage) for part in self.parts)
        return next((shown for shown in every if shown is not None), None)

    def table_lengths(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(length for part in self.parts for length in part.table_lengths()))

    def first_wrong(self, usage: RotationUsage) -> tuple[int, ...]:
        return tuple(dict.fromkeys(position for part in self.parts for position in part.first_wrong(usage)))

    def head_order(self, usage: RotationUsage, role: Role | None = None) -> tuple[int, ...]:
        return next((order for part in self.parts if (order := part.head_order(usage, role))), ())

    def used_positions(self, usage: RotationUsage, role: Role) -> tuple[np.ndarray, np.ndarray] | None:
        every = (part.used_positions(usage, role) for part in self.parts)
        return next((used for used in every if used is not None), None)

    def logit_factors(self, usage: RotationUsage) -> tuple[float, ...]:
        return tuple(factor for part in self.parts for factor in part.logit_factors(usage))

    def attention_factor(self) -> float | None:
        return next((shown for part in self.parts if (shown := part.attention_factor()) is not None), None)

    def differs_by_angle_rounding(self, usage: RotationUsage) -> bool:
        return all(part.fits(usage) or part.differs_by_angle_rounding(usage) for part in self.parts)

    def describe_worst(self, usage: RotationUsage) -> list[str]:
        return [line for part in self.parts for line in part.describe_worst(usage)]

    def numbers(self) -> dict[str, np.ndarray]:
        return {name: values for part in self.parts for name, values in part.numbers().items()}

    def width(self) -> str:
        return "; ".join(part.width() for part in self.parts)

    def channels(self) -> int | None:
        return next((count for part in self.parts if (count := part.channels()) is not None), None)

    def longest(self) -> int | None:
        return max((most for part in self.parts if (most := part.longest()) is not None), default=None)

    def roles(self) -> tuple[Role, ...]:
        return tuple(role for part in self.parts for role in part.roles())

    def unwritten(self) -> str:
        return next((rows for part in self.parts if (rows := part.unwritten())), "")

    def without_right_tables(self, usage: RotationUsage) -> RotationEvidence:
        parts = tuple(part for part in self.parts if part.roles() or not part.fits(usage))
        return parts[0] if len(parts) == 1 else CombinedEvidence(parts) if parts else self

    def only_position(self) -> tuple[float, ...] | None:
        every = {part.only_position() for part in self.parts}
        return every.pop() if len(every) == 1 else None

    def unseen(self, usage: RotationUsage) -> tuple[str, ...]:
        tables = (part for part in self.parts if isinstance(part, ObservedTable))
        return tuple(note for table in tables for note in table.unused(usage))

    def unchanged(self) -> bool:
        return all(part.unchanged() for part in self.parts)


def rotation_evidence(
    arrays_by_name: Mapping[str, Any],
    layout: str | None = None,
    logit_factor: float = 1.0,
    temperature: QueryTemperature | None = None,
) -> RotationEvidence:
    """Collect what named arrays show of a rotation.

    Args:
        arrays_by_name: Arrays of any library under the names of `ARRAY_NAMES`.
        layout: "bhtd" or "bthd", for vectors with heads.
        logit_factor: Factor of the logits besides 1/√dim, where the arrays hold no scale.
        temperature: Factor of the queries by their position, in logits.

    Raises:
        ValueError: Arrays are unknown or do not fit together.
    """
    arrays = named_arrays(arrays_by_name)
    _all_are_read(arrays)
    parts: list[RotationEvidence] = []
    if "cos_sin_cache" in arrays:
        parts.append(_cache(arrays))
    elif "cos" in arrays or "sin" in arrays:
        parts.append(_table(arrays))
    elif "inv_freq" in arrays:
        parts.append(_frequencies(arrays))
    if any(name in arrays for name in LOGIT_NAMES):
        parts.append(_logits(arrays, layout, logit_factor, temperature))
    parts += _with_each_other([_vectors(arrays, role, layout) for role in ROLES if f"{role[0]}_rotated" in arrays])
    if not parts:
        raise ValueError(
            "actual must hold arrays that show a rotation: inv_freq, cos and sin, q and q_rotated, or q, k and "
            f"logits; got {', '.join(arrays_by_name)}. Add one of these."
        )
    return parts[0] if len(parts) == 1 else CombinedEvidence(tuple(parts))


def _all_are_read(arrays: Arrays) -> None:
    """Refuse arrays given with others that say the same, or that nothing reads."""
    if "cos_sin_cache" in arrays and {"cos", "sin"} & set(arrays):
        raise ValueError("cos_sin_cache must come without cos and sin, which it holds; got both. Leave one out.")
    read_by = {"cos", "sin", "q_rotated", "k_rotated", *LOGIT_NAMES}
    if "positions" in arrays and "cos_sin_cache" in arrays and not read_by & set(arrays):
        raise ValueError("positions must be left out with cos_sin_cache, whose row p is position p; got both.")
    if "attention_factor" in arrays and "inv_freq" not in arrays:
        raise ValueError(
            f"attention_factor must come with inv_freq; got {', '.join(arrays)}. Leave it out: cos and sin hold theirs."
        )


def _with_each_other(vectors: list[ObservedVectors]) -> list[ObservedVectors]:
    """Queries and keys, each with the other's vectors as `other`, where both have the same shape."""
    if len({one.x.shape for one in vectors}) > 1 or len(vectors) < 2:
        return vectors
    query, key = vectors
    return [replace(query, other=key.x), replace(key, other=query.x)]


def _required(arrays: Arrays, *names: str) -> list[np.ndarray]:
    missing = [name for name in names if name not in arrays]
    if missing:
        raise ValueError(f"actual must hold {' and '.join(names)} together; got no {missing[0]}. Give it.")
    return [arrays[name].values for name in names]


def _frequencies(arrays: Arrays) -> ObservedFrequencies:
    factor = scalar(arrays, "attention_factor", 0.0) if "attention_factor" in arrays else None
    return ObservedFrequencies(arrays["inv_freq"].values.reshape(-1), factor)


def _table(arrays: Arrays) -> ObservedTable:
    cos, sin = _required(arrays, "cos", "sin")
    if cos.shape != sin.shape or cos.ndim < 2:
        raise ValueError(f"cos and sin must have one shape (n, pairs); got {cos.shape} and {sin.shape}. Give both.")
    positions = _positions(arrays, "positions", cos.shape[:-1])
    if not np.any(positions):
        raise ValueError(
            "positions must hold others than 0, where cos and sin are the same for every pair; got 0 alone. Give cos "
            "and sin of later tokens too."
        )
    cos, sin, layout = each_frequency_once(cos.reshape(-1, cos.shape[-1]), sin.reshape(-1, sin.shape[-1]))
    buffered = _frequencies(arrays) if "inv_freq" in arrays else None
    return ObservedTable(cos, sin, positions, arrays["cos"].dtype, buffered, layout)


def _cache(arrays: Arrays) -> ObservedTable:
    """A cache of cosines and sines whose row p is that of position p, as engines keep it."""
    cache, dtype = arrays["cos_sin_cache"]
    cos, sin = columns_of_cache(cache.reshape(-1, *cache.shape[-2:]) if _in_turn(cache) else cache)
    buffered = _frequencies(arrays) if "inv_freq" in arrays else None
    return ObservedTable(cos, sin, np.arange(len(cos)), dtype, buffered)


def _in_turn(cache: np.ndarray) -> bool:
    """Whether the last axis holds the cosine and the sine of a pair."""
    return cache.ndim > 2 and cache.shape[-1] == 2


def columns_of_cache(cache: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cosines and sines (n, pairs) of a cache: all cosines before all sines, or each next to its sine.

    Raises:
        ValueError: The cache has another shape.
    """
    if _in_turn(cache):
        return cache[..., 0], cache[..., 1]
    rows = cache.reshape(-1, cache.shape[-1])
    if cache.ndim < 2 or rows.shape[1] % 2:
        raise ValueError(
            f"cos_sin_cache must have shape (n, 2·pairs) or (n, pairs, 2); got {cache.shape}. Give the whole cache, "
            "or cos and sin."
        )
    half = rows.shape[1] // 2
    in_halves, side_by_side = (rows[:, :half], rows[:, half:]), (rows[:, ::2], rows[:, 1::2])
    uneven = [float(np.std(cos**2 + sin**2)) for cos, sin in (in_halves, side_by_side)]
    return side_by_side if uneven[1] < uneven[0] else in_halves


def each_frequency_once(cos: np.ndarray, sin: np.ndarray) -> tuple[np.ndarray, np.ndarray, PairLayout | Literal[""]]:
    """Drop repeated columns of cos and sin; return the pairing that the repetition shows, "" without any."""
    half = cos.shape[1] // 2
    if cos.shape[1] % 2 == 0 and half:
        if _same(cos[:, :half], cos[:, half:]) and _same(sin[:, :half], sin[:, half:]):
            return cos[:, :half], sin[:, :half], "halves"
        if half > 1 and _same(cos[:, ::2], cos[:, 1::2]) and _same(sin[:, ::2], sin[:, 1::2]):
            return cos[:, ::2], sin[:, ::2], "adjacent"
    return cos, sin, ""


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return np.array_equal(one, other, equal_nan=True)


def _positions(arrays: Arrays, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """A position for every row of a shape (n,) or (batch, n); with a last axis where there are several coordinates."""
    arrays_by_name = arrays.get(name) or arrays.get("positions")
    positions = np.arange(shape[-1]) if arrays_by_name is None else arrays_by_name.values
    if positions.shape != shape and positions.ndim in (2, 3) and positions.shape[-2] == shape[-1]:
        axes = positions.shape[-1]
        with_axes = positions if positions.ndim > 2 or len(shape) == 1 else positions[None]
        return np.broadcast_to(with_axes, (*shape, axes)).reshape(-1, axes)
    try:
        return np.broadcast_to(positions, shape).reshape(-1)
    except ValueError:
        raise ValueError(
            f"{name} must have one number for each of {shape}, or a last axis of coordinates; got shape "
            f"{positions.shape}. Give the positions of these rows."
        ) from None


def _vectors(arrays: Arrays, role: Role, layout: str | None) -> ObservedVectors:
    letter = role[0]
    x, y = _required(arrays, letter, f"{letter}_rotated")
    if x.shape != y.shape or x.ndim < 2:
        raise ValueError(f"{letter} and {letter}_rotated must have one shape (n, dim); got {x.shape} and {y.shape}.")
    x, y = (with_all_axes(letter, part, layout) for part in (x, y))
    batch, heads, length, dim = x.shape
    batch_number, head_number, _ = np.indices((batch, heads, length)).reshape(3, -1)
    if (batch, heads) == (1, 1):
        positions = _positions(arrays, f"{role}_positions", (length,))
    else:
        rows = _positions(arrays, f"{role}_positions", (batch, length))
        rows = rows.reshape(batch, 1, length, *rows.shape[1:])
        positions = np.broadcast_to(rows, (batch, heads, *rows.shape[2:])).reshape(-1, *rows.shape[3:])
    dtype = arrays[f"{letter}_rotated"].dtype
    return ObservedVectors(role, x.reshape(-1, dim), y.reshape(-1, dim), positions, head_number, batch_number, dtype)


def _logits(
    arrays: Arrays, layout: str | None, logit_factor: float, temperature: QueryTemperature | None
) -> ObservedLogits:
    q, k = _required(arrays, "q", "k")
    shown = shown_logits(arrays)
    logits, visible = (_of_heads(shown.form, part) for part in (shown.values, shown.visible))
    heads, queries, keys = logits.shape
    q, k = of_logits("q", q, queries, layout), of_logits("k", k, keys, layout)
    if len(q) != heads or q.shape[-1] != k.shape[-1]:
        raise ValueError(
            f"logits must have shape (heads, n, m) for q (heads, n, dim) and k (heads, m, dim); got {logits.shape}, "
            f"{q.shape} and {k.shape}. Give the same heads of each."
        )
    query, key = (_positions(arrays, f"{role}_positions", (x.shape[1],)) for role, x in (("query", q), ("key", k)))
    warm = np.ones(len(query))
    if temperature is not None and np.isfinite(query).all():
        warm = np.asarray(temperature.factor(query if query.ndim == 1 else query[:, 0], dtype=np.float64))
    scale = scalar(arrays, "scale", logit_factor * q.shape[-1] ** -0.5)
    types = [arrays["q"].dtype, arrays["k"].dtype, *([] if "probabilities" in arrays else [shown.dtype])]
    narrowest = max(types, key=ROUNDING.__getitem__)
    keys_of_heads = for_each_head(k, heads)
    observed = ObservedLogits(q * warm[:, None], keys_of_heads, logits, visible, query, key, scale, narrowest)
    observed = replace(observed, tempered=bool(np.any(warm != 1.0)))
    return replace(observed, up_to_rows=shown.up_to_rows, rounding=float(shown.rounding), form=shown.form)


def _of_heads(name: str, logits: np.ndarray) -> np.ndarray:
    """Logits as (heads, n, m)."""
    one = logits[0] if logits.ndim == 4 and len(logits) == 1 else logits
    if one.ndim not in (2, 3):
        raise ValueError(
            f"{name} must have shape (n, m), or (heads, n, m); got {logits.shape}. Give one row of the batch."
        )
    return one if one.ndim == 3 else one[None]
