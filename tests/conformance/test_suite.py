"""The suite's own behaviour: its names, its choice of checks, its reports and its expected failures."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from posenc import testing
from posenc.encodings.adds.nope import NoPE
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.rotates.axial_rope import AxialRoPE
from posenc.encodings.rotates.rope import RoPE
from posenc.encodings.scores.transformer_xl import TransformerXL
from posenc.testing import ALL_CHECKS, Check, CheckFailed, check_encoding, checks_for, suite
from posenc.testing.checks.grid_axes import every_axis_counts, uneven_grid
from posenc.testing.named_check import close, refused, same_bits


def _only(monkeypatch: pytest.MonkeyPatch, *checks: Check) -> None:
    monkeypatch.setattr(suite, "ALL_CHECKS", checks)


def _passes(encoding: object) -> None:
    return None


def _fails(encoding: object) -> None:
    raise CheckFailed("row 3: expected 1, got 2.")


def _breaks(encoding: object) -> None:
    raise KeyError("inside")


def test_there_are_at_least_forty_named_checks() -> None:
    names = [check.name for check in ALL_CHECKS]
    assert len(names) == len(set(names)) >= 40
    assert all(name.isidentifier() and name == name.lower() for name in names)


@pytest.mark.parametrize("encoding", [NoPE(dim=4), RoPE(dim=4), ALiBi(heads=2)])
def test_at_least_forty_apply_to_any_encoding(encoding: NoPE) -> None:
    assert len(checks_for(encoding)) >= 40


def test_every_check_says_what_is_lost_without_it() -> None:
    assert all(check.explains.endswith(".") and len(check.explains) > 10 for check in ALL_CHECKS)


def test_checks_are_chosen_by_door_and_claims() -> None:
    names = {check.name for check in checks_for(RoPE(dim=4))}
    assert "claim_isometry" in names
    assert not names & {"claim_shift_linear", "dense_is_pointwise", "params_missing_refused"}


def test_a_report_tells_passes_failures_and_what_was_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    _only(
        monkeypatch,
        Check("holds", _passes, ""),
        Check("falls", _fails, ""),
        Check("stops", _breaks, ""),
        Check("needs_more", _passes, "", needs=("no_such_library",)),
        Check("takes_long", _passes, "", slow=True),
    )
    report = check_encoding(NoPE(dim=2))
    assert [outcome.name for outcome in report.passed] == ["holds"]
    assert {outcome.name: outcome.sentence for outcome in report.failed} == {
        "falls": "row 3: expected 1, got 2.",
        "stops": "stopped with KeyError: 'inside'",
    }
    assert {outcome.name: outcome.sentence for outcome in report.left_out} == {
        "needs_more": "no_such_library not installed",
        "takes_long": "slow: ask for it with slow=True",
    }
    assert not report.ok
    assert "failed    falls" in str(report)
    assert str(report).startswith("NoPE(dim=2): 1 passed, 2 failed, 0 expected, 2 left out")


def test_slow_checks_run_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    _only(monkeypatch, Check("takes_long", _fails, "", slow=True))
    assert [outcome.name for outcome in check_encoding(NoPE(dim=2), slow=True).failed] == ["takes_long"]


def test_an_expected_failure_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    _only(monkeypatch, Check("falls", _fails, ""))
    report = check_encoding(NoPE(dim=2), expected_failures={"falls": "known"})
    assert report.ok
    assert report.expected[0].sentence == "known"


def test_an_expected_failure_that_passes_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    _only(monkeypatch, Check("holds", _passes, ""))
    report = check_encoding(NoPE(dim=2), expected_failures={"holds": "long mended"})
    assert report.failed[0].sentence == "expected to fail (long mended), but it passed"


@pytest.mark.parametrize(
    ("call", "kind", "begins"),
    [
        (lambda: check_encoding(NoPE(dim=2), expected_failures={"no_such": "why"}), ValueError, "expected_failures"),
        (
            lambda: check_encoding(NoPE(dim=2), expected_failures={"encoding_is_frozen": " "}),
            ValueError,
            "expected_failures",
        ),
        (lambda: check_encoding(NoPE(dim=2), expected_failures=["encoding_is_frozen"]), TypeError, "expected_failures"),  # type: ignore[arg-type]
        (lambda: check_encoding(NoPE(dim=2), slow=1), TypeError, "slow"),  # type: ignore[arg-type]
        (lambda: check_encoding(NoPE), TypeError, "encoding"),  # type: ignore[arg-type]
        (lambda: checks_for("NoPE"), TypeError, "encoding"),  # type: ignore[arg-type]
    ],
)
def test_bad_arguments_of_the_suite_are_named(call: Callable[[], object], kind: type[Exception], begins: str) -> None:
    with pytest.raises(kind, match=rf"^{begins} must"):
        call()


def test_a_difference_is_told_with_place_and_numbers() -> None:
    with pytest.raises(CheckFailed, match=r"^rows: expected 2 at \[1\], got 2.5 \(off by 0.5, 0.25 allowed\)\.$"):
        close("rows", [1.0, 2.5], [1.0, 2.0], 0.25)


def test_nan_is_never_close() -> None:
    with pytest.raises(CheckFailed, match="got NaN"):
        close("rows", [np.nan], [1.0], 1e9)


def test_bits_include_the_dtype() -> None:
    with pytest.raises(CheckFailed, match="expected float64, got float32"):
        same_bits("rows", np.zeros(2, np.float32), np.zeros(2))


def test_a_refusal_must_name_its_argument() -> None:
    with pytest.raises(CheckFailed, match="begins with 'dim'"):
        refused("a bad width", lambda: replace(RoPE(dim=4), base=-1.0), "dim")


def test_importing_the_suite_imports_neither_torch_nor_jax() -> None:
    code = "import sys, posenc.testing; print(sorted({'torch', 'jax', 'matplotlib'} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_public_names() -> None:
    assert set(testing.__all__) == {
        "ALL_CHECKS",
        "Check",
        "CheckFailed",
        "Outcome",
        "Report",
        "check_encoding",
        "checks_for",
    }


def published(report):
    (outcome,) = (one for one in report.outcomes if one.name == "published_numbers")
    return outcome


class SquaredBase(RoPE):
    """Consistent in every way, and another encoding."""

    def rotation(self, positions, params=None, **keywords):
        return RoPE(self.dim, self.base**2, self.pairing).rotation(positions, params, **keywords)


def test_numbers_are_compared_with_a_reference_or_not_at_all(monkeypatch):
    monkeypatch.setattr(suite, "ALL_CHECKS", tuple(one for one in ALL_CHECKS if one.name == "published_numbers"))
    own = published(check_encoding(SquaredBase(dim=8)))
    assert (own.status, own.sentence) == ("left out", "no reference was given: its numbers were compared with nothing")
    wrong = published(check_encoding(SquaredBase(dim=8), reference=RoPE(dim=8)))
    assert wrong.status == "failed"
    assert "first at (head, index of the position, channel out, channel in) [0, 1, 2, 2]" in wrong.sentence
    assert published(check_encoding(RoPE(dim=8))).status == "passed"
    # A correct rotation of halves in a class of the same name is no mistake.
    halves = type("RoPE", (RoPE,), {})(dim=8, pairing="halves")
    assert published(check_encoding(halves)).status == "left out"
    assert published(check_encoding(halves, reference=RoPE(dim=8, pairing="halves"))).status == "passed"
    assert published(check_encoding(halves, reference=RoPE(dim=8))).status == "failed"


class SwappedHeads(ALiBi):
    def matrix(self, query_positions, key_positions, params=None, **keywords):
        return super().matrix(query_positions, key_positions, params, **keywords)[::-1]


class SwappedSides(ALiBi):
    def matrix(self, query_positions, key_positions, params=None, **keywords):
        return super().matrix(key_positions, query_positions, params, **keywords).swapaxes(-1, -2)


@pytest.mark.parametrize("kind", [SwappedHeads, SwappedSides])
def test_a_reference_shows_heads_in_reverse_and_query_and_key_exchanged(monkeypatch, kind):
    monkeypatch.setattr(suite, "ALL_CHECKS", tuple(one for one in ALL_CHECKS if one.name == "published_numbers"))
    reference = ALiBi(heads=4, form="signed")
    found = published(check_encoding(kind(heads=4, form="signed"), reference=reference))
    assert found.status == "failed"
    assert "(head, query, key)" in found.sentence


class AlsoAdds(TransformerXL):
    """Adds to the output of attention too, which its reference does not."""

    def values(self, weights, query_positions, key_positions, params=None):
        return np.ones(1)


class Hides(ALiBi):
    """Hides later keys by an infinite bias; `off` is a mistake, in units of the allowed rounding or of 1."""

    off = 0.0

    def matrix(self, query_positions, key_positions, params=None, **keywords):
        bias = super().matrix(query_positions, key_positions, params, **keywords)
        hidden = np.asarray(key_positions)[None] > np.asarray(query_positions)[:, None]
        return np.where(hidden, -np.inf, bias + self.off)


def test_a_reference_shows_what_is_added_besides_and_infinities_are_equal(monkeypatch):
    monkeypatch.setattr(suite, "ALL_CHECKS", tuple(one for one in ALL_CHECKS if one.name == "published_numbers"))
    sizes = {"dim": 4, "heads": 2, "model_dim": 8}
    found = published(check_encoding(AlsoAdds(**sizes), reference=TransformerXL(**sizes)))
    assert found.status == "failed"
    assert found.sentence.startswith("values: expected nothing, as TransformerXL(")
    for off, status, says in ((1e-9, "passed", ""), (1.0, "failed", "[0, 0, 0]")):
        rounded = type("Hides", (Hides,), {"off": off})(heads=4)
        found = published(check_encoding(rounded, reference=Hides(heads=4)))
        assert (found.status, says in found.sentence) == (status, True), found.sentence
        assert "inf" not in found.sentence


class Confuses(AxialRoPE):
    """Adds the last two of four coordinates."""

    def rotation(self, positions, params=None, **keywords):
        positions = np.asarray(positions)
        added = positions[..., 2:].sum(-1, keepdims=True).repeat(2, -1)
        return super().rotation(np.concatenate([positions[..., :2], added], -1), params, **keywords)


def test_every_two_coordinates_are_told_apart():
    fields = {"axis": (0, 1, 2, 3), "frequency_index": (0, 0, 0, 0), "frequency_dim": 2}
    every_axis_counts.run(AxialRoPE(**fields))
    with pytest.raises(CheckFailed, match=r"^coordinates 2 and 3: expected them to be told apart"):
        every_axis_counts.run(Confuses(**fields))
    assert len(set(uneven_grid(4).max(0))) == 4


def test_a_nan_is_shown_as_a_nan():
    with pytest.raises(CheckFailed, match=r"expected 2 at \[1\], got NaN \(1 in all\)"):
        close("x", [1.0, float("nan")], [1.0, 2.0], 0.1)
