"""Compiled, exported, jitted and mapped programs give the bits of the eager ones, and NaN out of range."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from posenc.core.checked_positions import Positions
from posenc.frequencies import Geometric
from posenc.phase import cosine_sine

RECORD = Geometric(24)
WHOLE = np.array([0, 1, -1, 3, 131_071, 2**27 + 5, 2**31, -(2**40) - 3, 2**53])
REAL = np.array([0.0, 0.5, -7.25, 1e-30, 1023.7, 2.0**31 + 0.25, 2.0**53])
#: Positions that are none: out of range, and no numbers.
NO_INTEGERS = [2**53 + 2, -(2**53) - 2]
NO_REALS = [2.0**53 + 2, np.inf, -np.inf, np.nan]
KINDS = ["int64", "float64"]


class Waves(torch.nn.Module):
    def forward(self, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return cosine_sine(positions, RECORD)


@cache
def compiled(backend: str, dtype: torch.dtype) -> Callable:
    """A program for any length of one dtype: compiled for the first length that it is given."""
    torch.compiler.reset()  # which stops after eight programs of one function
    return torch.compile(Waves(), fullgraph=True, backend=backend, dynamic=True)


@cache
def exported(dtype: torch.dtype) -> Callable:
    shapes = ({0: torch.export.Dim("n", min=2, max=1 << 16)},)
    return torch.export.export(Waves(), (torch.zeros(4, dtype=dtype),), dynamic_shapes=shapes).module()


def same_bits(mine: tuple, theirs: tuple) -> bool:
    return all(np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in zip(mine, theirs, strict=True))


def eager(places: np.ndarray) -> tuple:
    return Waves()(torch.from_numpy(places))


@pytest.mark.parametrize(
    "places",
    [
        pytest.param(WHOLE, id="int64"),
        pytest.param(REAL, id="float64"),
        pytest.param(REAL.astype(np.float32), id="float32", marks=pytest.mark.nightly),
        pytest.param(WHOLE[:5].astype(np.int32), id="int32", marks=pytest.mark.nightly),
    ],
)
def test_compiled_bits(places: np.ndarray) -> None:
    for cut in (places, places[:3]):
        given = torch.from_numpy(cut)
        assert same_bits(compiled("aot_eager", given.dtype)(given), eager(cut))


@pytest.mark.nightly
def test_inductor_bits() -> None:
    places = np.concatenate([WHOLE, np.arange(-300, 5000)])
    assert same_bits(compiled("inductor", torch.int64)(torch.from_numpy(places)), eager(places))


@pytest.mark.parametrize("places", [WHOLE, REAL], ids=KINDS)
def test_exported_bits_at_any_length(places: np.ndarray) -> None:
    for cut in (places, places[:2], np.tile(places, 50)):
        given = torch.from_numpy(cut)
        assert same_bits(exported(given.dtype)(given), eager(cut))


@pytest.mark.parametrize("places", [WHOLE, REAL], ids=KINDS)
def test_mapped_bits(places: np.ndarray) -> None:
    given = torch.from_numpy(places)
    assert same_bits(
        torch.vmap(lambda p: cosine_sine(p[None], RECORD))(given), (part[:, None] for part in eager(places))
    )
    rows = given[None].repeat(3, 1)
    assert same_bits(torch.vmap(lambda p: cosine_sine(p, RECORD))(rows), cosine_sine(rows, RECORD))


@pytest.mark.parametrize(
    "places", [pytest.param(WHOLE, id="int64"), pytest.param(REAL, id="float64", marks=pytest.mark.nightly)]
)
@pytest.mark.parametrize(
    "form",
    [
        pytest.param(jax.jit, id="jit", marks=pytest.mark.nightly),
        pytest.param(jax.vmap, id="vmap", marks=pytest.mark.nightly),
        pytest.param(lambda f: jax.jit(jax.vmap(f)), id="jit of vmap"),
    ],
)
def test_jax_bits(form: Callable, places: np.ndarray) -> None:
    with jax.enable_x64(True):
        given = jnp.asarray(places)[None].repeat(2, 0)
        assert same_bits(form(lambda p: cosine_sine(p, RECORD))(given), cosine_sine(given, RECORD))
        assert same_bits(cosine_sine(given[0], RECORD), eager(places))


@pytest.mark.parametrize(
    "dtype",
    [
        "uint8",
        "uint64",
        *(
            pytest.param(dtype, marks=pytest.mark.nightly)
            for dtype in ("int8", "uint16", "int16", "uint32", "int32", "int64")
        ),
    ],
)
def test_every_integer_dtype(dtype: str) -> None:
    places = np.array([0, 3, 100], dtype)
    expected = cosine_sine(np.array([0, 3, 100]), RECORD, dtype=np.float32)
    assert same_bits(cosine_sine(places, RECORD, dtype=np.float32), expected)
    with jax.enable_x64(True):
        given = jnp.asarray(places)
        assert same_bits(cosine_sine(given, RECORD), expected)
        assert same_bits(jax.jit(lambda p: cosine_sine(p, RECORD))(given), expected)
    if dtype == "uint64":
        with pytest.raises(TypeError, match="positions must be integers"):
            cosine_sine(torch.from_numpy(places), RECORD)
    else:
        assert same_bits(eager(places), expected)
        given = torch.from_numpy(places)
        assert same_bits(compiled("aot_eager", given.dtype)(given), expected)


@pytest.mark.parametrize("bad", [*NO_INTEGERS, *NO_REALS])
def test_out_of_range_is_refused_where_it_can_be_seen(bad: float) -> None:
    places = np.array([1, bad])
    with jax.enable_x64(True):
        for given in (places, torch.from_numpy(places), jnp.asarray(places)):
            with pytest.raises(
                ValueError, match=r"^positions must be finite and of magnitude at most 2\^53; got values from"
            ):
                cosine_sine(given, RECORD)


@pytest.mark.parametrize("bad", [NO_INTEGERS, NO_REALS], ids=KINDS)
def test_out_of_range_is_nan_where_it_cannot(bad: list) -> None:
    places = np.array([1, *bad, 7])
    given = torch.from_numpy(places)
    programs: tuple[tuple[Callable, object], ...] = (
        (jax.jit(lambda p: cosine_sine(p, RECORD)), places),
        (torch.vmap(lambda p: cosine_sine(p, RECORD)), given[None].repeat(2, 1)),
        (lambda p: compiled("aot_eager", p.dtype)(p), given),
        (lambda p: exported(p.dtype)(p), given),
    )
    with jax.enable_x64(True):
        for program, at in programs:
            for part in program(at):
                assert np.isnan(np.asarray(part)[..., 1:-1, :]).all()
                assert np.isfinite(np.asarray(part)[..., [0, -1], :]).all()


def test_a_guard_that_is_missing_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Positions, "guard", lambda positions, dtype=None: positions.array * 0.0)
    with pytest.raises(AssertionError):
        test_out_of_range_is_nan_where_it_cannot(NO_INTEGERS)


def test_long_tables_are_the_rows_of_short_ones() -> None:
    # A long table is made in blocks; 11 rows here are not a divisor of any block.
    places = np.arange(6 * 1111).reshape(6, 1111) * 1_000_003 - 7
    long = Geometric(128)
    for make in (np.asarray, torch.from_numpy):
        whole = cosine_sine(make(places), long)
        assert tuple(whole[0].shape) == (6, 1111, 64)
        for row in range(6):
            for start in range(0, 1111, 101):
                cut = cosine_sine(make(places[row, start : start + 101]), long)
                assert same_bits([part[row, start : start + 101] for part in whole], cut)


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3), ()])
def test_empty_and_scalar_shapes(shape: tuple[int, ...]) -> None:
    with jax.enable_x64(True):
        for given in (np.zeros(shape, np.int64), torch.zeros(shape, dtype=torch.int64), jnp.zeros(shape, jnp.int64)):
            assert [tuple(part.shape) for part in cosine_sine(given, RECORD)] == [(*shape, 12)] * 2
