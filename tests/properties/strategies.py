"""Encodings, configs and positions drawn at random; hypothesis shrinks what fails to the smallest case."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from hypothesis import strategies as st

from posenc.catalog import CATALOG
from posenc.core.doors import Encoding

SAMPLES = [sample for row in CATALOG for sample in row.samples]
WORDS = ("adjacent", "halves", "exact", "float32", "concatenated", "interleaved", "nonsense", "")
#: Small numbers, which a field may take, and numbers at and past the ends of every rule.
WHOLE = st.integers(-2, 96) | st.sampled_from((0, 1, 2**20, 2**20 + 1, 2**31, 2**53, 10**30))
REAL = st.floats(-4.0, 1e6) | st.sampled_from((0.0, 1.0, 5e-324, 1e30, float("inf"), float("nan")))


def value_like(value: Any) -> st.SearchStrategy[Any]:
    """Values of the kind that a field has now, right and wrong ones."""
    if isinstance(value, bool) or value is None:
        return st.sampled_from((True, False, None))
    if isinstance(value, int):
        return WHOLE
    if isinstance(value, float):
        return REAL
    if isinstance(value, str):
        return st.sampled_from((value, *WORDS))
    return st.just(value)


@st.composite
def changed_fields(draw: Any) -> tuple[Encoding, dict[str, Any]]:
    """A sample of the catalog, and new values for one to three of its fields."""
    sample = draw(st.sampled_from(SAMPLES))
    names = [field.name for field in fields(sample) if field.init]
    chosen = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True)) if names else []
    return sample, {name: draw(value_like(getattr(sample, name))) for name in chosen}


def answered(call: Callable[[], Any]) -> Any:
    """What a call gives; None where it refuses its arguments, with a ValueError or TypeError of one line."""
    try:
        return call()
    except (ValueError, TypeError) as error:
        said = str(error)
    assert said
    assert "\n" not in said, said
    return None


def made(sample: Encoding, changes: dict[str, Any]) -> Encoding | None:
    """The sample with its changes; None where its rules refuse them."""
    encoding: Encoding | None = answered(lambda: replace(sample, **changes))
    return encoding
