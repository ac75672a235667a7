"""rope_parameters as scalings, and scalings as rope_parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from posenc import _check
from posenc.frequencies import DynamicNTK, Linear, Llama3, LongRoPE, NTKAware, Proportional, Scaling, YaRN
from posenc.models.model_positions import Value

Rope = Mapping[str, Value]

#: Which keys each type of rotation reads; beside "rope_type", "type" and "rope_theta", which all know.
READS: dict[str, frozenset[str]] = {
    "default": frozenset({"partial_rotary_factor"}),
    "axial": frozenset(),
    "linear": frozenset({"partial_rotary_factor", "factor"}),
    "dynamic": frozenset({"partial_rotary_factor", "factor"}),
    "proportional": frozenset({"partial_rotary_factor", "factor"}),
    "llama3": frozenset(
        {"partial_rotary_factor", "factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}
    ),
    "yarn": frozenset(
        {"partial_rotary_factor", "factor", "original_max_position_embeddings", "attention_factor", "beta_fast", "beta_slow",
         "mscale", "mscale_all_dim", "truncate"}
    ),
    "longrope": frozenset(
        {"partial_rotary_factor", "factor", "original_max_position_embeddings", "attention_factor", "short_factor", "long_factor"}
    ),
}  # fmt: skip
TYPES = tuple(READS)
#: Keys that are understood, whether the type at hand reads them or not.
KNOWN = frozenset().union(*READS.values()) | {"rope_type", "type", "rope_theta", "mrope_section", "mrope_interleaved"}


def scaling_of(kind: str, rope: Rope, longest: Value | None, length: int | None) -> Scaling | None:
    """The scaling of a rope_type; None for plain rotations.

    longest: max_position_embeddings.   length: the length served, for the two types that depend on it; `longest` for None.
    """
    if kind in ("default", "axial"):
        return None
    if kind == "linear":
        return Linear(real(rope, "factor"))
    if kind == "proportional":
        return Proportional(real(rope, "partial_rotary_factor", 1.0), real(rope, "factor", 1.0))
    if kind == "dynamic":
        return _dynamic(rope, longest, length)
    original = _original(rope, longest)
    if kind == "llama3":
        return Llama3(real(rope, "factor"), original, real(rope, "low_freq_factor"), real(rope, "high_freq_factor"))
    factor = real(rope, "factor", None) if has(rope, "factor") else _ratio(longest, original)
    attention = real(rope, "attention_factor") if has(rope, "attention_factor") else None
    if kind == "longrope":
        short, long = (_divisors(rope, name) for name in ("short_factor", "long_factor"))
        return LongRoPE(short, long, original, _served(longest, length), factor, attention)
    return _yarn(rope, factor, original, attention)


def _dynamic(rope: Rope, longest: Value | None, length: int | None) -> Scaling:
    if has(rope, "alpha"):  # HunYuan: the base is stretched once and for all
        return NTKAware(real(rope, "alpha"))
    return DynamicNTK(real(rope, "factor"), _longest(longest), _served(longest, length))


def _yarn(rope: Rope, factor: float, original: int, attention: float | None) -> YaRN:
    both = attention is None and all(real(rope, name, 0.0) for name in ("mscale", "mscale_all_dim"))
    return YaRN(
        factor=factor,
        original=original,
        beta_fast=real(rope, "beta_fast", 0.0) or 32.0,
        beta_slow=real(rope, "beta_slow", 0.0) or 1.0,
        truncate=_check.truth(rope["truncate"].key, rope["truncate"].value) if has(rope, "truncate") else True,
        mscale=real(rope, "mscale") if both else None,
        mscale_all_dim=real(rope, "mscale_all_dim") if both else None,
        attention=attention,
    )


def has(rope: Rope, name: str) -> bool:
    """Whether a key is there and not null."""
    return name in rope and rope[name].value is not None


def real(rope: Rope, name: str, otherwise: float | None = None) -> float:
    """A number of the dict; where it is absent `otherwise`, or an error that names it where there is none."""
    if not has(rope, name):
        if otherwise is not None:
            return otherwise
        raise ValueError(f"{name} must be in rope_parameters for this rope_type; got none. Add it, or state it.")
    return _check.real(rope[name].key, rope[name].value, 0.0, 1e30)


def _original(rope: Rope, longest: Value | None) -> int:
    if not has(rope, "original_max_position_embeddings"):
        return _longest(longest)
    value = rope["original_max_position_embeddings"]
    return _whole(value)


def _longest(longest: Value | None) -> int:
    if longest is None:
        raise ValueError(
            "max_position_embeddings must be known for this rope_type; neither the file nor the class has it. State it: "
            "stated={'max_position_embeddings': …}."
        )
    return _whole(longest)


def _whole(value: Value) -> int:
    number: Any = value.value
    return _check.integer(
        value.key, int(number) if isinstance(number, float) and number.is_integer() else number, 1, 2**53
    )


def _served(longest: Value | None, length: int | None) -> int:
    return _longest(longest) if length is None else length


def _ratio(longest: Value | None, original: int) -> float:
    return _longest(longest) / original


def _divisors(rope: Rope, name: str) -> tuple[Any, ...]:
    if not has(rope, name) or not isinstance(rope[name].value, tuple):
        raise TypeError(
            f"{name} must be a list with a number for each pair; got {_check.shown(rope.get(name))}. Look at the file."
        )
    return tuple(rope[name].value)  # type: ignore[arg-type]
