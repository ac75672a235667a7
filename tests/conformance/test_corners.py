"""Gradients at corners and last bits, as a user meets them: a root of the distance, and what the report says to do."""

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from mutants.logits import RootOfDistance
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.scores.additive_grape import AdditiveGRAPE
from posenc.positions.distance import steps
from posenc.testing import checks_for
from posenc.testing.named_check import CheckFailed

pytest.importorskip("torch")
pytest.importorskip("jax")

CORNERS = ("gradients_are_finite_at_corners", "jax_gradients_are_finite_at_corners")


@dataclass(frozen=True)
class SafeRoot(ALiBi):
    """The remedy as the message of the check words it, in the dtype of the result or in the widest."""

    rounds_once: ClassVar[bool] = True

    def bias(
        self, head: Any, query_positions: Any, key_positions: Any, params: Any = None, *, dtype: Any = None
    ) -> Any:
        head, query, key, _, dtype = self.checked_call(head, query_positions, key_positions, params, dtype)
        lib, xp = query.lib, query.lib.xp
        x = xp.abs(steps(query, key, lib.real if self.rounds_once else dtype))
        root = xp.where(x == 0, 0.0, xp.sqrt(xp.where(x == 0, 1.0, x)))
        return lib.astype(lib.astype(0.0 - root, dtype) / lib.astype(head + 1, lib.wide_dtype(dtype)), dtype)


class RootInSingle(SafeRoot):
    rounds_once = False


def outcome(encoding: Any, name: str) -> str:
    """What one check says, "" where it holds."""
    (check,) = (each for each in checks_for(encoding) if each.name == name)
    try:
        check.run(encoding)
    except CheckFailed as failure:
        return str(failure)
    return ""


@pytest.mark.parametrize("name", CORNERS)
def test_a_root_of_the_distance_is_named_with_its_remedy(name: str) -> None:
    said = outcome(RootOfDistance(heads=2), name)
    assert said.startswith("gradient of positions (")
    assert "at position 0" in said
    assert "xp.where(x == 0, 0.0, xp.sqrt(xp.where(x == 0, 1.0, x)))" in said


@pytest.mark.parametrize("name", [*CORNERS, "torch_float32_bits", "traced_nan_stays_nan"])
def test_the_remedy_passes(name: str) -> None:
    assert outcome(SafeRoot(heads=2), name) == ""


def test_last_bits_are_named_with_their_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch's float32 root is not the nearest number on some processors; here it is a unit off on every one."""
    import torch

    root = torch.sqrt
    monkeypatch.setattr(torch, "sqrt", lambda x: root(x) * (1 + 2**-23) if x.dtype == torch.float32 else root(x))
    assert outcome(SafeRoot(heads=2), "torch_float32_bits") == ""
    said = outcome(RootInSingle(heads=2), "torch_float32_bits")
    assert "Compute in the widest type, lib.widest(x), and round once: lib.astype(result, dtype)." in said


@pytest.mark.parametrize("name", CORNERS)
def test_a_direction_of_zeros_has_a_gradient(name: str) -> None:
    assert outcome(AdditiveGRAPE(dim=3, heads=2, gates="key"), name) == ""
