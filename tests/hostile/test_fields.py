"""Every field of every encoding, walked from the catalog: a bad value is refused by the field's own name."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pytest

from hostile.values import NAN, NOT_A_WORD, NOT_REAL, NOT_TRUTH, NOT_WHOLE, all_refused, refusal
from posenc.catalog import CATALOG
from posenc.compose import Partial, PerLayer, Scaled, Sum
from posenc.core import validation
from posenc.core.doors import Encoding
from posenc.core.rotation import Pairing
from posenc.encodings.adds.learned import Learned
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.rotates.axial_layouts import axial
from posenc.encodings.rotates.axial_rope import AxialRoPE
from posenc.encodings.rotates.rope import RoPE
from posenc.frequencies import Divisors, Geometric, Projected
from posenc.positions import grid

RECORDS: tuple[Any, ...] = (
    *(encoding for row in CATALOG for encoding in row.samples),
    Learned(dim=4, length=7, outside="interpolate", extent=9),
    Geometric(dim=8),
    Divisors((1.0, 2.0)),
    Pairing("halves", 8, 8, 0, 2),
    PerLayer((RoPE(dim=4), None)),
)
NOT_NUMBERS: tuple[Any, ...] = (None, "123", 1.0, (), [], (NAN,), (1.0, "2"), (1.0, None), (True,), (0.0,), object())
#: Where None says something: DeBERTa's first version, without buckets; coordinates in their order; frequencies of one's
#: own; draws in place of a matrix; one clip for both sides.
MEANT = {
    ("DeBERTa", "max_distance"),
    ("GridSinusoidal", "order"),
    ("GridSinusoidal", "frequency_dim"),
    ("RandomFourierFeatures", "matrix"),
    ("Shaw", "ahead"),
}
NOT_RECORDS: tuple[Any, ...] = (None, "Sinusoidal(dim=4)", 1, [], {}, Sinusoidal, object())


def _bad(encoding: Any, name: str) -> tuple[Any, ...]:
    """Values that the field's kind rules out, by what the field holds now."""
    value = getattr(encoding, name)
    if isinstance(value, bool):
        return NOT_TRUTH
    if isinstance(value, int):
        return NOT_WHOLE
    if isinstance(value, float):
        return NOT_REAL
    if isinstance(value, str):
        return NOT_A_WORD
    if isinstance(value, tuple):
        return NOT_NUMBERS if isinstance(value[0], float) else NOT_RECORDS
    if isinstance(value, Encoding):
        return NOT_RECORDS
    return tuple(bad for bad in NOT_WHOLE if bad is not None)


def _fields() -> Iterator[tuple[Any, str]]:
    """An encoding for each field of each class, and again where an encoding holds another kind of value there."""
    seen = set()
    for encoding in RECORDS:
        for field in fields(encoding):
            key = type(encoding), field.name, type(getattr(encoding, field.name))
            if key not in seen and field.init:
                seen.add(key)
                yield encoding, field.name


@pytest.mark.parametrize(("encoding", "name"), list(_fields()))
def test_a_bad_field_is_refused_by_its_name(encoding: Any, name: str) -> None:
    may_be_none = (type(encoding).__name__, name) in MEANT
    values = [bad for bad in _bad(encoding, name) if not (bad is None and may_be_none)]
    all_refused(lambda bad: replace(encoding, **{name: bad}), name, values)


@pytest.mark.parametrize("kind", sorted({type(encoding) for encoding in RECORDS}, key=lambda kind: kind.__name__))
def test_a_wrong_name_of_a_field_is_answered_with_the_right_ones(kind: Any) -> None:
    """Unknown, missing, twice, too many; and what `help` shows stays the fields."""
    name, parameters = kind.__name__, list(inspect.signature(kind).parameters)
    values = dict.fromkeys(parameters)
    last = parameters[-1] if parameters else "dim"
    for given, message in (
        ({**values, "zzz": 1}, f"{name} has no field zzz. I"),
        ({**values, f"{last}_": 1}, f"{name} has no field {last}_" + (f"; did you mean {last}?" if values else "")),
    ):
        with pytest.raises(TypeError, match=f"^{re.escape(message)}"):
            kind(**given)
    with pytest.raises(TypeError, match=f"^{name} must have at most {len(parameters)} values; got {len(values) + 1}"):
        kind(*values, None)
    if any(field.default is field.default_factory for field in fields(kind) if field.init):
        with pytest.raises(TypeError, match=rf"^{name} must be given .* Write {name}\(.*=\.\.\."):
            kind()
    if values:
        with pytest.raises(TypeError, match=f"^{parameters[0]} must be given once; got it by place and by name"):
            kind(None, **values)
    assert parameters == [field.name for field in fields(kind) if field.init]


def test_an_image_of_a_width_alone() -> None:
    """What a user types first says what to type; that is the layout of most models."""
    with pytest.raises(TypeError, match=r"^AxialRoPE has no field dim\. .* For an image, posenc\.axial\(dim=64\)"):
        AxialRoPE(dim=64)  # type: ignore[call-arg]
    assert axial(dim=64) == axial("eva02", (16, 16))
    assert axial(dim=64).rotation(grid(14, 14)).cos.shape == (196, 32)


@dataclass(frozen=True)
class Lenient:
    """A planted bug: its width may be anything but a word, and it names another field."""

    dim: int = 4

    def __post_init__(self) -> None:
        if isinstance(self.dim, str):
            raise ValueError(f"width must be a number; got {self.dim!r}.")


def test_each_value_that_is_not_refused_is_reported() -> None:
    with pytest.raises(AssertionError) as caught:
        test_a_bad_field_is_refused_by_its_name(Lenient(), "dim")
    said = str(caught.value)
    assert f"{len(NOT_WHOLE)} of {len(NOT_WHOLE)} values fail" in said
    assert "2.5: Failed: DID NOT RAISE" in said
    assert "'3': AssertionError: width must be a number" in said


@pytest.mark.parametrize("row", CATALOG)
def test_absurd_sizes_are_refused_before_anything_is_made(row: Any) -> None:
    encoding = row.samples[0]
    for field in fields(encoding):
        if isinstance(getattr(encoding, field.name), int) and field.name not in ("start", "bidirectional", "seed"):
            error = refusal(lambda field=field: replace(encoding, **{field.name: 10**12}))  # type: ignore[misc]
            assert str(error).startswith(field.name), error
            assert str(10**12) in str(error), error


@pytest.mark.parametrize("row", CATALOG)
def test_unknown_fields_are_refused(row: Any) -> None:
    with pytest.raises(TypeError, match="no_such_field"):
        replace(row.samples[0], no_such_field=1)


@pytest.mark.parametrize(
    ("build", "begins"),
    [
        (lambda: Sinusoidal(dim=0), "dim"),
        (lambda: Sinusoidal(dim=-4), "dim"),
        (lambda: Sinusoidal(dim=7), "dim"),
        (lambda: Sinusoidal(dim=2, exponent="i/(d/2-1)"), "dim"),
        (lambda: Sinusoidal(dim=4, base=0.0), "base"),
        (lambda: Sinusoidal(dim=4, base=-10_000.0), "base"),
        (lambda: RoPE(dim=7), "dim"),
        (lambda: RoPE(dim=0), "dim"),
        (lambda: RoPE(dim=4, base=0), "base"),
        (lambda: Learned(dim=4, length=0), "length"),
        (lambda: Learned(dim=4, length=4, outside="interpolate"), "extent"),
        (lambda: Learned(dim=4, length=4, extent=8), "extent"),
        (lambda: Learned(dim=2**20, length=2**30), "length"),
        (lambda: Sum((Sinusoidal(dim=4),)), "parts"),
        (lambda: Sum((Sinusoidal(dim=4), Sinusoidal(dim=6))), "parts"),
        (lambda: Sum((Sinusoidal(dim=4), RoPE(dim=4))), "parts"),  # type: ignore[arg-type]
        (lambda: Partial(RoPE(dim=8), dim=4), "dim"),
        (lambda: Partial(RoPE(dim=4), dim=8, start=5), "start"),
        (lambda: Partial(Sinusoidal(dim=4), dim=8), "encoding"),  # type: ignore[arg-type]
        (lambda: Scaled(RoPE(dim=4), 2.0), "encoding"),  # type: ignore[arg-type]
        (lambda: PerLayer(()), "layers"),
        (lambda: Pairing("halves", 8, 10), "width"),
        (lambda: Pairing("halves", 8, 6, start=4), "width"),
        (lambda: Pairing("halves", 8, 8, blocks=3), "blocks"),
        (lambda: Divisors(()), "divisors"),
        (lambda: Projected(()), "row"),
    ],
)
def test_values_that_do_not_go_together_are_refused(build: Any, begins: str) -> None:
    assert str(refusal(build)).startswith(begins)


@pytest.mark.parametrize("row", CATALOG)
def test_init_wants_a_generator(row: Any) -> None:
    encoding = row.samples[0]
    for bad in (None, 0, np.random.RandomState(0), "seed"):
        if encoding.shapes:
            assert str(refusal(lambda bad=bad: encoding.init(bad))).startswith("rng")  # type: ignore[misc]


def test_numpy_numbers_are_numbers() -> None:
    assert RoPE(dim=np.int64(8), base=np.float32(100)) == RoPE(dim=8, base=100.0)  # type: ignore[arg-type]
    assert Sinusoidal(dim=8, base=100) == Sinusoidal(dim=8, base=100.0)


@pytest.mark.parametrize(
    ("least", "most", "even", "value", "nearest"),
    [(2, 100, True, 7, 8), (2, 100, True, -3, 2), (3, 9, True, 99, 8), (1, 5, False, 0, 1), (1, 5, False, 6, 5)],
)
def test_a_whole_number_that_is_refused_comes_with_one_that_fits(least, most, even, value, nearest) -> None:
    with pytest.raises(ValueError, match=rf"^dim must be .* got {value}\. Use {nearest}, for example\.$"):
        validation.integer("dim", value, least, most, even=even)
    assert validation.integer("dim", nearest, least, most, even=even) == nearest


def test_a_number_that_is_refused_comes_with_its_range() -> None:
    message = r"^base must be a finite number above 0 .* got -1\.0\. Use a number in this range\.$"
    with pytest.raises(ValueError, match=message):
        validation.real("base", -1.0, 0.0, 10.0, above=True)
