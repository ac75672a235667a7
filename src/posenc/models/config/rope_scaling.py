"""Conversion of rope_parameters to frequency scalings (linear, YaRN, ...) and back."""

from __future__ import annotations

from typing import Any

from posenc.core import validation
from posenc.frequencies import DynamicNTK, Linear, Llama3, LongRoPE, NTKAware, Proportional, Scaling, YaRN
from posenc.models.config.fields import wrong
from posenc.models.config.rope_parameters import ROPE_TYPES, TRAINED, RopeParameters
from posenc.models.model_positions import Value


def scaling_of(rope: RopeParameters, longest: Value | None, length: int | None) -> Scaling | None:
    """Return the scaling of a rotation; None where its frequencies are plain.

    Args:
        rope: Its values.
        longest: max_position_embeddings.
        length: The length served, for the two types that depend on it, or None for `longest`.
    """
    rope_type = rope.rope_type
    if rope_type in ("default", "axial"):
        return None
    if rope_type == "linear":
        return Linear(rope.real("factor"))
    if rope_type == "proportional":
        return Proportional(rope.real("partial_rotary_factor", 1.0), rope.real("factor", 1.0))
    if rope_type == "dynamic":
        if rope.get("alpha"):  # HunYuan: the base is stretched once and for all
            return NTKAware(rope.real("alpha"))
        return DynamicNTK(rope.real("factor"), _whole(longest), length or _whole(longest))
    original = _whole(rope.get(TRAINED) or longest)
    if rope_type == "llama3":
        return Llama3(rope.real("factor"), original, rope.real("low_freq_factor"), rope.real("high_freq_factor"))
    factor = rope.real("factor") if rope.get("factor") else _whole(longest) / original
    attention = rope.real("attention_factor") if rope.get("attention_factor") else None
    if rope_type == "longrope":
        short, long = _divisors(rope, "short_factor"), _divisors(rope, "long_factor")
        return LongRoPE(short, long, original, length or _whole(longest), factor, attention)
    return _yarn(rope, factor, original, attention)


def _yarn(rope: RopeParameters, factor: float, original: int, attention: float | None) -> YaRN:
    both = attention is None and rope.real("mscale", 0.0) and rope.real("mscale_all_dim", 0.0)
    truncate = next((value for value in rope.values if value.name == "truncate"), None)
    return YaRN(
        factor=factor,
        original=original,
        beta_fast=rope.real("beta_fast", 0.0) or 32.0,
        beta_slow=rope.real("beta_slow", 0.0) or 1.0,
        truncate=validation.truth(truncate.key, truncate.value) if truncate else True,
        mscale=rope.real("mscale") if both else None,
        mscale_all_dim=rope.real("mscale_all_dim") if both else None,
        attention=attention,
    )


def _whole(length: Value | None) -> int:
    """Return a length of the file as an int; ValueError that asks for max_position_embeddings where it is None."""
    if length is None:
        raise ValueError(
            "max_position_embeddings must be known for this rope_type; neither the file nor the class has it. "
            "State it: stated={'max_position_embeddings': …}."
        )
    number: Any = length.value
    whole = int(number) if isinstance(number, float) and number.is_integer() else number
    return validation.integer(length.key, whole, 1, 2**53)


def _divisors(rope: RopeParameters, name: str) -> tuple[Any, ...]:
    value = rope.get(name)
    if value is None or not isinstance(value.value, tuple):
        raise TypeError(wrong(name, "must be a list with a number for each pair", value))
    return value.value


def rope_parameters_of(base: float, scaling: Scaling | None) -> dict[str, Any]:
    """Return the rope_parameters that state a base and a scaling.

    Example:
        >>> rope_parameters_of(10_000.0, Linear(factor=2.0))
        {'rope_type': 'linear', 'factor': 2.0, 'rope_theta': 10000.0}
    """
    if scaling is None:
        return {"rope_type": "default", "rope_theta": base}
    for name, rope_type in ROPE_TYPES.items():
        if type(scaling) is rope_type.scaling:
            stated = {key: getattr(scaling, field) for key, field in rope_type.fields.items()}
            keys = {key: list(value) if isinstance(value, tuple) else value for key, value in stated.items()}
            left_out = {key for key, value in keys.items() if value is None or (key, value) == ("truncate", True)}
            return {"rope_type": name, **{key: keys[key] for key in keys if key not in left_out}, "rope_theta": base}
    raise ValueError(f"scaling must be one that a config can state; got {scaling!r:.80}. Write it by hand.")
