"""Every check of the public suite on every sample of every row of the catalog, and on a stranger's encoding."""

import re
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from mutants.bug import COSTLY
from mutants.logits import KeysAlone
from posenc.catalog import CATALOG
from posenc.core.doors import AttentionBias, Claim, Encoding
from posenc.positions import steps
from posenc.testing import ALL_CHECKS, Check, checks_for
from posenc.testing.suite import _failure
from samples import DISTINCT, DOORS, SAMPLES, by_night, firsts


@dataclass(frozen=True)
class Recency(AttentionBias):
    """A stranger's own encoding, in ten lines: -|m-n| / (head + 1)."""

    claims: ClassVar[frozenset[Claim]] = frozenset({"relative", "streaming", "unlimited", "fractional", "symmetric"})

    def bias(
        self, head: Any, query_positions: Any, key_positions: Any, params: Any = None, *, dtype: Any = None
    ) -> Any:
        head, query_positions, key_positions, _, dtype = self.checked_call(
            head, query_positions, key_positions, params, dtype
        )
        distance = query_positions.lib.xp.abs(steps(query_positions, key_positions, dtype))
        return query_positions.lib.astype((0.0 - distance) / (head + 1), dtype)


MINE = Recency(heads=3)
RECORDS = (*SAMPLES, MINE)
#: One test asks them all; of the others, which compile, each is a test.
QUICK = tuple(check for check in ALL_CHECKS if check.name not in COSTLY)
#: What JAX computes while it traces nothing, a compilation for each operation. (Each class meets its oracle in a jitted
#: program in every run: tests/oracles.)
OP_BY_OP = {"jax_float32_is_numpy", "jax_stays_jax", "jax_vmap"}

#: A minute by themselves, for their 513 learned positions.
LONG = {encoding for encoding in SAMPLES if type(encoding).__name__ == "TUPE"}


def daily(encoding: Encoding, check: Check) -> bool:
    """Whether a check that compiles is asked of an encoding in every run: of a row a door, and of grids."""
    encodings = firsts("RoPE") if check.name in OP_BY_OP else DOORS | firsts("GridLearned")
    return encoding in encodings and not check.slow


def asked(encoding: Encoding, check: Check) -> bool:
    """Whether a costly check is asked at all: the costliest of one sample of each way through the code, which others
    that differ in numbers alone take too."""
    return encoding in DISTINCT | {MINE} or not (check.slow or check.name in OP_BY_OP)


@pytest.mark.parametrize("encoding", by_night(RECORDS, daily=(DISTINCT | {MINE}) - LONG))
def test_conforms(encoding: Encoding) -> None:
    outcomes = {check.name: _failure(check, encoding) for check in QUICK if check.applies(encoding)}
    failures = [f"{name}: {sentence}" for name, sentence in outcomes.items() if sentence]
    assert not failures, "\n".join([repr(encoding), *failures])


@pytest.mark.parametrize(
    ("encoding", "check"),
    [
        pytest.param(encoding, check, marks=[] if daily(encoding, check) else [pytest.mark.nightly])
        for encoding in RECORDS
        for check in checks_for(encoding)
        if check.name in COSTLY and asked(encoding, check)
    ],
)
def test_conforms_when_compiled(encoding: Encoding, check: Check) -> None:
    assert _failure(check, encoding) is None


def test_each_check_that_fails_is_named() -> None:
    """A planted bug trips several checks, and the one test of an encoding reports each of them."""
    with pytest.raises(AssertionError) as caught:
        test_conforms(KeysAlone(heads=8))
    assert {"claim_relative", "claim_symmetric"} < set(re.findall(r"^ *(\w+):", str(caught.value), re.MULTILINE))


def test_every_door_is_in_the_catalog() -> None:
    assert {row.samples[0].door for row in CATALOG} == {"adds", "rotates", "biases", "scores"}
