"""Largest differences of two right answers, derived from dtype and size, never tuned."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from posenc.core.doors import Encoding

#: The distance from 1.0 to the next number.
EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}

#: NumPy and the vector libraries of PyTorch and XLA promise sine, cosine, exponential and logarithm to 2 ulp or better
#: in float32 and 1 ulp in float64. A value passes through at most one of them, one product and one sum before it is
#: compared with another that did the same: 2·(2 + 1/2 + 1/2) = 6 ulp.
ULPS_OF_A_VALUE = 6

#: The angle of a fixed-point phase is good to 2^-53 of an eighth of a revolution in float64 (two roundings), and to
#: 1.2e-7 where float32 is all there is (JAX by default).
PHASE_WITHOUT_FLOAT64 = 1.2e-7


def value(dtype: str, largest: float = 1.0) -> float:
    """Budget for numbers no larger than `largest`, computed twice by different routes of the same length."""
    return ULPS_OF_A_VALUE * EPSILON[dtype] * largest


def own_value(encoding: Encoding, values: Any) -> float:
    """Budget for numbers like these, which the encoding computes in its own arithmetic when asked for float64."""
    return value(arithmetic(encoding), rounding_size(values))


def rounding_size(values: Any) -> float:
    """Size to which the rounding of these numbers is relative: one more than the largest."""
    return 1.0 + float(np.abs(np.asarray(values)).max(initial=0.0))


def rounding(dtype: str, largest: float = 1.0) -> float:
    """Budget for one rounding to the dtype of a number known exactly: half a unit in the last place."""
    return 0.5 * EPSILON[dtype] * largest


def product(dtype: str, terms: int, largest: float) -> float:
    """Budget for a sum of `terms` products whose magnitudes sum to `largest`.

    Every partial sum rounds once (Higham 2002, §3.1).
    """
    return (terms + 2 * ULPS_OF_A_VALUE) * EPSILON[dtype] * largest


def angle(encoding: Encoding, largest_position: float, dtype: str = "float64") -> float:
    """Budget for an angle that is computed in floats.

    With `numerics="float32"` frequency and product each round once, so p·ω moves by p·ω·2^-23. An angle that is formed
    of learned numbers moves by so many units of `dtype`, each of some ten sums.
    """
    if released(encoding):
        return (abs(largest_position) * fastest(encoding) + 2.0) * EPSILON["float32"]
    if not formed(encoding):
        return 0.0
    return 16 * (abs(largest_position) * fastest(encoding) + 2.0) * EPSILON[dtype]


def formed(encoding: Encoding) -> bool:
    """Whether an encoding forms angles in floats (of learned numbers or sums over tokens) and states `fastest`."""
    return hasattr(encoding, "fastest")


def released(encoding: Encoding) -> bool:
    """Whether the encoding, or one inside it, asks for the float32 arithmetic of released models."""
    stated = getattr(encoding, "numerics", "exact")
    return stated == "float32" or any(map(released, encodings_inside(encoding)))


def arithmetic(encoding: Encoding) -> str:
    """Dtype in which an encoding computes, whatever it is asked for: float64, or float32 where it says so."""
    return "float32" if released(encoding) else "float64"


def without_float64(encoding: Encoding) -> str:
    """Reason why a check that compares with float64 is not run for an encoding; "" where it is."""
    return "not asked: the encoding forms its numbers in float32, whatever dtype it is asked for" * released(encoding)


def fastest(encoding: Encoding) -> float:
    """Largest frequency in radians a step; 1 where the encoding does not say."""
    if formed(encoding):
        return float(encoding.fastest)  # type: ignore[attr-defined]
    field_value = getattr(encoding, "frequencies", None)
    fastest_rates = [float(np.max(field_value.radians()))] if field_value is not None else []
    return max(fastest_rates + [fastest(part) for part in encodings_inside(encoding)] + [1.0])


def encodings_inside(encoding: Encoding) -> list[Encoding]:
    """Encodings inside an encoding; frequencies and scalings are none."""
    return [part for part in parts_inside(encoding) if isinstance(part, Encoding)]


def parts_inside(encoding: Any) -> list[Any]:
    """Frozen dataclasses inside an encoding: encodings, frequencies, scalings."""
    values = (getattr(encoding, field.name) for field in fields(encoding))
    return [
        part for value in values for part in (value if isinstance(value, tuple) else (value,)) if is_dataclass(part)
    ]
