"""Every check of the public suite on every sample of every row of the catalog, and on a stranger's record."""

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from mutants.bug import COSTLY
from posenc import _array
from posenc.catalog import CATALOG
from posenc.doors import Biases, Claim, Encoding
from posenc.phase import guard
from posenc.positions import difference
from posenc.testing import Check, checks_for

#: What JAX computes while it traces nothing, a compilation an operation: one row a door in every run, all in the nightly.
SEEN_BY_ORACLES = frozenset({"jax_float32_is_numpy", "jax_stays_jax", "jax_vmap"})

#: (record, check) → why it fails. An entry whose check passes is itself a failure.
EXPECTED: dict[tuple[Encoding, str], str] = {}


@dataclass(frozen=True)
class Recency(Biases):
    """A stranger's own encoding, in ten lines: -|m-n| / (head + 1)."""

    claims: ClassVar[frozenset[Claim]] = frozenset({"relative", "streaming", "unlimited", "fractional", "symmetric"})

    def bias(self, head: Any, query: Any, key: Any, params: Any = None, *, dtype: Any = None) -> Any:
        self.checked(params)
        query, key = _array.as_arrays(query=query, key=key, like=None)
        steps = difference(query, key)
        dtype = _array.result_dtype(dtype, steps)
        wide = _array.astype(_array.namespace(steps).abs(steps), _array.wide_dtype(dtype, steps))
        unseen = _array.astype(guard(query) + guard(key), wide.dtype)
        return _array.astype((unseen - wide) / (self.head_index(head, steps) + 1), dtype)


def _cases() -> list[Any]:
    samples = [record for row in CATALOG for record in row.samples]
    # One row a door generates machine code in every run, and one sample a row is compiled and traced; the nightly run does
    # it for all. (Every sample meets its oracle in JAX in every run: tests/oracles.)
    once = {row.samples[0] for row in CATALOG} | {Recency(heads=3)}
    first = {
        record.door: record
        for record in reversed(samples)
        if record.claims - {"bounded"} and type(record).__name__ != "NoPE"
    }
    cases = []
    for record in (*samples, Recency(heads=3)):
        for check in checks_for(record):
            rare = check.slow or check.name in SEEN_BY_ORACLES
            late = first.get(record.door) != record if rare else check.name in COSTLY and record not in once
            cases.append(pytest.param(record, check, marks=[pytest.mark.nightly] if late else []))
    return cases


@pytest.mark.parametrize(("record", "check"), _cases())
def test_conforms(record: Encoding, check: Check) -> None:
    for name in check.needs:
        pytest.importorskip(name)
    reason = EXPECTED.get((record, check.name))
    if reason is None:
        assert check.run(record) is None
        return
    with pytest.raises(AssertionError):
        check.run(record)


def test_every_door_is_in_the_catalog() -> None:
    assert {row.samples[0].door for row in CATALOG} == {"adds", "rotates", "biases", "scores"}
