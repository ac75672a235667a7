"""Correct float32 implementations of other libraries fail no check of the public suite; planted bugs in them do."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from mutants.bug import COSTLY
from parity import peer_encodings as peers
from posenc import ALiBi, RoPE, Sinusoidal, T5Bias
from posenc.core.doors import Encoding
from posenc.testing import ALL_CHECKS, check_encoding, suite
from samples import by_night

#: Each peer next to the encoding whose numbers it must give; those that compute alone, and with odd sizes, by night.
RIGHT = {
    peers.Llama(dim=8): RoPE(dim=8, pairing="halves"),
    peers.GPTJ(dim=8): RoPE(dim=8),
    peers.RotaryEmbeddingTorch(dim=8): RoPE(dim=8),
    peers.XTransformers(dim=8): RoPE(dim=8),
    peers.Torchtune(dim=8): RoPE(dim=8),
    peers.PositionalEncodings(dim=8): Sinusoidal(dim=8),
    peers.T5(heads=3): T5Bias(heads=3),
    peers.BLOOM(heads=12): ALiBi(heads=12, form="signed"),
    peers.AlibiOfXTransformers(heads=12): ALiBi(heads=12),
}
#: Those that are quick to load, in every run.
DAILY = tuple(
    encoding
    for encoding in RIGHT
    if type(encoding) in (peers.RotaryEmbeddingTorch, peers.Torchtune, peers.PositionalEncodings, peers.BLOOM)
)
MORE = {
    peers.Llama(dim=64, base=500_000.0): RoPE(dim=64, base=500_000.0, pairing="halves"),
    peers.GPTJ(dim=12): RoPE(dim=12),
    peers.RotaryEmbeddingTorch(dim=128, base=1e6): RoPE(dim=128, base=1e6),
    peers.XTransformers(dim=6): RoPE(dim=6),
    peers.Torchtune(dim=64, base=500_000.0): RoPE(dim=64, base=500_000.0),
    peers.PositionalEncodings(dim=14): Sinusoidal(dim=14),
    peers.T5(heads=12): T5Bias(heads=12),
    peers.BLOOM(heads=7): ALiBi(heads=7, form="signed"),
    peers.AlibiOfXTransformers(heads=8): ALiBi(heads=8),
}
#: What an encoding in float32 whose code is neither JAX's nor traced is not asked, and nothing else.
NOT_ASKED = ("not asked: the encoding forms", "not asked: the encoding takes", "not asked: the encoding says", "slow")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The suite without the checks that compile."""
    monkeypatch.setattr(suite, "ALL_CHECKS", tuple(one for one in ALL_CHECKS if one.name not in COSTLY))


def agrees(encoding: Encoding, reference: Encoding, *, slow: bool = False) -> None:
    report = check_encoding(encoding, reference=reference, slow=slow)
    assert report.ok, str(report)
    assert "published_numbers" in {one.name for one in report.passed}
    assert all(one.sentence.startswith(NOT_ASKED) for one in report.left_out), str(report)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("encoding", by_night(RIGHT, daily=DAILY), ids=repr)
def test_a_correct_implementation_fails_no_check(encoding: Encoding) -> None:
    agrees(encoding, RIGHT[encoding])


@pytest.mark.nightly
@pytest.mark.parametrize("encoding", RIGHT | MORE, ids=repr)
def test_a_correct_implementation_fails_no_check_that_compiles(encoding: Encoding) -> None:
    agrees(encoding, (RIGHT | MORE)[encoding], slow=True)


@dataclass(frozen=True)
class SquaredBase(peers.Llama):
    def rotated(self, x, positions):
        return peers.Llama(self.dim, self.base**2).rotated(x, positions)


@dataclass(frozen=True)
class PartnersExchanged(peers.GPTJ):
    def rotated(self, x, positions):
        swapped = x.unflatten(-1, (-1, 2)).flip(-1).flatten(-2)
        return super().rotated(swapped, positions).unflatten(-1, (-1, 2)).flip(-1).flatten(-2)


@dataclass(frozen=True)
class OffByOne(peers.RotaryEmbeddingTorch):
    def rotated(self, x, positions):
        return super().rotated(x, positions + 1)


@dataclass(frozen=True)
class SidesExchanged(peers.BLOOM):
    def bias(self, head, query_positions, key_positions, params=None, *, dtype=None):
        return super().bias(head, key_positions, query_positions, params, dtype=dtype)


@dataclass(frozen=True)
class HeadsReversed(peers.BLOOM):
    def bias(self, head, query_positions, key_positions, params=None, *, dtype=None):
        return super().bias(self.heads - 1 - head, query_positions, key_positions, params, dtype=dtype)


#: Each bug, the encoding that is meant, and the mistake that the report names: a squared base has the numbers of a
#: doubled exponent, and exchanged partners have those of the opposite rotation.
WRONG = {
    OffByOne(dim=8): (RoPE(dim=8), "off by one"),
    SquaredBase(dim=8): (RoPE(dim=8, pairing="halves"), "exponent doubled"),
    PartnersExchanged(dim=8): (RoPE(dim=8), "rotation backwards"),
    peers.GPTJ(dim=8): (RoPE(dim=8, pairing="halves"), "layout"),
    SidesExchanged(heads=4): (ALiBi(heads=4, form="signed"), "query for key"),
    HeadsReversed(heads=4): (ALiBi(heads=4, form="signed"), "order of heads"),
}


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("encoding", by_night(WRONG, daily=[OffByOne(dim=8)]), ids=repr)
def test_a_planted_bug_is_named(encoding: Encoding) -> None:
    reference, mistake = WRONG[encoding]
    failed = {one.name: one.sentence for one in check_encoding(encoding, reference=reference).failed}
    # Where query and key are exchanged, refusals name the other one.
    refusals = {name for name in failed if name.endswith("_refused")} if isinstance(encoding, SidesExchanged) else set()
    assert set(failed) - refusals == {"published_numbers"}, failed
    assert failed["published_numbers"].startswith(f"{mistake}: "), failed
