"""Which paths of attention fit which arguments, what the reasons say, and flex_attention's own mask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import pytest
import torch
from torch.nn.attention.flex_attention import flex_attention

import posenc
from posenc.core.doors import AttentionScore, Claim
from posenc.torch import attention, chosen_attention, module
from posenc.torch.attention_paths import flex_path

PLACE = torch.arange(6)
X = torch.randn(1, 2, 6, 4, generator=torch.Generator().manual_seed(0))
MASK = torch.ones(1, 1, 6, 6, dtype=torch.bool).tril()
DOCUMENTS = (torch.tensor([0, 0, 0, 1, 1, 1]),) * 2
ALIBI, ROPE = [posenc.ALiBi(heads=2)], [posenc.RoPE(dim=4)]
NONE = {"q": X[:, :, :0], "query_positions": PLACE[:0]}


@dataclass(frozen=True)
class OwnScore(AttentionScore):
    """A score of a user's own that reads the keys between, and has nothing to prepare."""

    claims: ClassVar[frozenset[Claim]] = frozenset()
    gathers: ClassVar[bool] = True

    def score(self, q: Any, k: Any, query_positions: Any, key_positions: Any, params: Any = None, **rest: Any) -> Any:
        return q @ k.mT


@dataclass(frozen=True)
class ScoreOfKeys(AttentionScore):
    """A score of a user's own that reads the inputs of the layer at the keys."""

    claims: ClassVar[frozenset[Claim]] = frozenset()
    reads: ClassVar[Literal["key"]] = "key"
    model_dim: ClassVar[int] = 4

    def score(
        self, q: Any, k: Any, query_positions: Any, key_positions: Any, params: Any = None, *, hidden: Any = None
    ) -> Any:
        return q @ k.mT + hidden.sum(-1)[:, None, None]


def arguments(**more: Any) -> dict[str, Any]:
    return {
        "q": X,
        "k": X,
        "v": X,
        "query_positions": PLACE,
        "key_positions": PLACE,
        "encodings": ALIBI,
        "layout": "bhtd",
    } | more


REASONS: list[tuple[str, dict[str, Any], str]] = [
    ("sdpa", {"encodings": ROPE, "mask": MASK}, "a mask, a window or documents hide pairs"),
    ("sdpa", {"encodings": ROPE, **NONE}, "there are no pairs"),
    ("sdpa", {"encodings": ROPE, "q": X[:, :, 3:], "query_positions": PLACE[3:], "causal": True},
        "SDPA aligns causal queries with the first keys, and these belong to the last"),
    ("strided", {"encodings": ROPE, **{name: value.to("meta") for name, value in {"q": X, "k": X, "v": X}.items()},
        "query_positions": PLACE.to("meta"), "key_positions": PLACE.to("meta")},
        "there is no bias, and tiles do as well where numbers cannot be looked at"),
    ("strided", {"encodings": [*ALIBI, module(posenc.CoPE(dim=4))]}, "CoPE reads content"),
    ("strided", {"mask": MASK}, "a mask hides pairs that no distance tells"),
    ("strided", {"documents": DOCUMENTS}, "documents share a row, so one distance means several pairs"),
    ("strided", {"dropout": 0.5}, "dropout needs the weights of whole tiles"),
    ("strided", NONE, "there are no pairs"),
    ("skewed", {}, "no encoding scores"),
    ("skewed", {"encodings": [module(posenc.CoPE(dim=4))]}, "CoPE is no product with one vector a distance"),
    ("skewed", {"encodings": [module(posenc.Shaw(dim=4)), *ALIBI]}, "ALiBi adds a bias besides"),
    ("skewed", {"encodings": [module(posenc.Shaw(dim=4))], "dropout": 0.5},
        "dropout needs weights that are divided by their sum"),
    ("skewed", {"encodings": [module(posenc.Shaw(dim=4))], "query_positions": 2 * PLACE},
        "positions do not rise by one from token to token"),
    ("skewed", {"encodings": [module(posenc.Shaw(dim=4))], "query_positions": PLACE + 0.5},
        "queries of several rows are ahead of their keys by several distances, or by a part of one"),
    ("skewed", {"encodings": [module(posenc.Shaw(dim=4))], **NONE}, "there are no pairs"),
    ("tiles", {"encodings": [OwnScore()]}, "OwnScore reads all keys between a query and a key, and prepares nothing"),
    ("reference", {"dropout": 0.5}, "the reference has no dropout"),
    ("flex", {"encodings": [module(posenc.CoPE(dim=4))]}, "CoPE reads content, which no score_mod sees"),
    ("flex", {"dropout": 0.5}, "flex_attention has no dropout"),
    ("flex", NONE, "there are no pairs"),
    ("flex", {"q": X[:0], "k": X[:0], "v": X[:0]}, "there are no pairs"),
    ("flex", {"q": X.clone().requires_grad_()}, "flex_attention has no gradient on the CPU"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("impl", "more", "reason"), REASONS, ids=[f"{impl}-{i}" for i, (impl, *_) in enumerate(REASONS)]
)
def test_a_path_that_does_not_fit_says_why(impl: str, more: dict[str, Any], reason: str) -> None:
    with pytest.raises(
        ValueError, match=rf"^impl must be a path that fits these arguments; got '{impl}', but "
    ) as caught:
        chosen_attention(**arguments(**more), impl=impl)
    assert reason in str(caught.value)


def test_tiles_give_a_score_the_inputs_at_its_keys() -> None:
    given = arguments(encodings=[ScoreOfKeys()], hidden=X[:, 0], q=X[:, :, 3:], query_positions=PLACE[3:])
    tiles, reference = (attention(**given, impl=impl) for impl in ("tiles", "reference"))
    assert torch.allclose(tiles, reference, rtol=0, atol=6 * 2**-20)


def test_a_path_that_is_asked_for_and_fits_is_taken() -> None:
    for impl in ("strided", "tiles", "dense", "flex", "reference"):
        assert chosen_attention(**arguments(), impl=impl) == posenc.torch.AttentionChoice(impl, "asked for")


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile:UserWarning")
@pytest.mark.parametrize(
    ("hidden", "sees"),
    [
        ({}, lambda n, m: True),
        ({"window": (2, 1)}, lambda n, m: n <= m <= n + 3),
        ({"causal": True, "window": (None, 5)}, lambda n, m: m <= n + 2),
        ({"documents": (torch.tensor([0, 1, 1, 1]), torch.tensor([0, 0, 0, 1, 1, 1]))},
            lambda n, m: (n > 0) == (m > 2)),
        ({"mask": torch.ones(1, 1, 4, 6, dtype=torch.bool).tril(1)}, lambda n, m: m <= n + 1),
    ],
    ids=["all", "window", "causal window", "documents", "mask"],
)  # fmt: skip
def test_flex_attention_sees_these_pairs(monkeypatch: pytest.MonkeyPatch, hidden: dict[str, Any], sees: Any) -> None:
    """Four queries at the end of six keys, against softmax of ALiBi's logits, written out in float64."""
    monkeypatch.setattr(flex_path, "_compiled", lambda: flex_attention)  # the same function, place by place
    q = X[:, :, 2:]
    asked = arguments(
        q=q, query_positions=PLACE[2:], encodings=[posenc.RoPE(dim=4, base=1e30, pairing="halves"), *ALIBI]
    )
    got = attention(**asked, impl="flex", **hidden)

    def rotated(x: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
        """Channels 0 and 2 turn by the position, 1 and 3 by next to nothing."""
        a, b, c, d = x.double().unbind(-1)
        cos, sin = place.double().cos(), place.double().sin()
        return torch.stack([a * cos - c * sin, b, a * sin + c * cos, d], -1)

    logits = rotated(q, PLACE[2:]) @ rotated(X, PLACE).mT / 2
    slopes = torch.tensor([2.0**-4, 2.0**-8], dtype=torch.float64)[:, None, None]
    logits = logits - slopes * (PLACE[2:, None] - PLACE).abs()
    seen = torch.tensor([[bool(sees(n, m)) for m in range(6)] for n in range(4)])
    expected = logits.masked_fill(~seen, float("-inf")).softmax(-1) @ X.double()
    assert (got - expected).abs().max() <= 32 * 2.0**-24
