"""A bias made once for all layers, and keys rotated once for all steps: the numbers of attention that makes both."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

import posenc
from posenc.torch import attention, module, rotate_keys, shared_bias
from posenc.torch.attention_paths import shared_bias as of_shared_bias

FIRE = module(posenc.FIRE(heads=2, width=4, threshold=4.0), seed=0)
ALIBI, COPE = posenc.ALiBi(heads=2), module(posenc.CoPE(dim=4), seed=0)
PLACE = torch.arange(9)
Q, K, V = torch.randn(3, 2, 2, 9, 4, generator=torch.Generator().manual_seed(0)).unbind()


def given(**more: Any) -> dict[str, Any]:
    asked = {
        "q": Q[:, :, 3:],
        "k": K,
        "v": V,
        "query_positions": PLACE[3:],
        "key_positions": PLACE,
        "layout": "bhtd",
        "causal": True,
    }
    return asked | more


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("more", [{}, {"window": (2, None)}, {"documents": (PLACE[3:] // 5, PLACE // 5)}], ids=str)
def test_a_shared_bias_gives_what_each_layer_makes_itself(monkeypatch: Any, causal: bool, more: dict[str, Any]) -> None:
    """Made two queries at a time, with nothing else, with another bias and with a score; never written into."""
    monkeypatch.setattr(of_shared_bias, "NUMBERS", 2 * 2 * 9)
    with torch.no_grad():
        bias = shared_bias([FIRE, ALIBI], PLACE[3:], PLACE, causal=causal)
        before = bias.matrix.clone()
        for others in ([], [ALIBI], [COPE]):
            asked = given(causal=causal, **more)
            got = attention(**asked, encodings=[bias, *others])
            want = attention(**asked, encodings=[FIRE, ALIBI, *others])
            assert (got - want).abs().max() <= 2**-20
        assert torch.equal(bias.matrix, before)
        parts = [shared_bias([each], PLACE[3:], PLACE, causal=causal) for each in (FIRE, ALIBI)]
        asked = given(causal=causal, **more)
        want = attention(**asked, encodings=[FIRE, ALIBI])
        assert (attention(**asked, encodings=parts) - want).abs().max() <= 2**-20
    assert bias.matrix.isneginf().any() == causal


def test_gradients_go_through_a_shared_bias_of_two_layers() -> None:
    found = []
    for encodings in ([shared_bias([FIRE], PLACE[3:], PLACE, causal=True)], [FIRE]):
        FIRE.zero_grad()
        first = attention(**given(), encodings=encodings)
        second = attention(**given(q=first), encodings=encodings)
        second.square().sum().backward()
        found.append([parameter.grad.clone() for parameter in FIRE.parameters()])
    for got, want in zip(*found, strict=True):
        assert (got - want).abs().max() <= 2**-18 * max(1.0, want.abs().max())


def test_it_prints_its_size_and_is_no_mask_of_another_path() -> None:
    with torch.no_grad():
        bias = shared_bias([FIRE, ALIBI], PLACE[3:], PLACE)
    assert repr(bias) == "SharedBias(FIRE + ALiBi, 2 heads, 6 queries, 9 keys, 0.0 MiB)"
    for impl in ("sdpa", "strided", "skewed", "flex", "reference"):
        with pytest.raises(ValueError, match=r"^impl must be a path .* but a shared bias is a matrix"):
            attention(**given(), encodings=[bias], impl=impl)
    grid = torch.cartesian_prod(torch.arange(3), torch.arange(3))
    encoding = module(posenc.LogCPB(heads=2), seed=0)
    with torch.no_grad():
        bias = shared_bias([encoding], grid, grid)
        asked = given(q=Q, query_positions=grid, key_positions=grid, causal=False)
        want = attention(**asked, encodings=[encoding])
        assert (attention(**asked, encodings=[bias]) - want).abs().max() <= 2**-20


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q": Q, "query_positions": PLACE}, "encodings must hold a shared bias for 9 queries"),
        ({"query_positions": PLACE[3:] + 1}, "query_positions must be the positions that the shared bias was made for"),
        ({"key_positions": PLACE * 2}, "key_positions must be the positions that the shared bias was made for"),
        ({"causal": False}, "causal must be True for a shared bias that was made causal"),
        ({name: x.double() for name, x in (("q", Q[:, :, 3:]), ("k", K), ("v", V))},
            "encodings must hold a shared bias on cpu, in float64 for float64 q"),
        ({name: x.repeat(1, 2, 1, 1) for name, x in (("q", Q[:, :, 3:]), ("k", K), ("v", V))},
            "encodings must have as many heads as q, 4; got SharedBias"),
    ],
    ids=["length", "query", "key", "causal", "dtype", "heads"],
)  # fmt: skip
def test_a_shared_bias_of_other_tokens_is_refused(change: dict[str, Any], message: str) -> None:
    with torch.no_grad():
        bias = shared_bias([FIRE], PLACE[3:], PLACE, causal=True)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        attention(**given(**change), encodings=[bias])


@pytest.mark.parametrize(
    ("encodings", "more", "error", "message"),
    [
        (ALIBI, {}, TypeError, "encodings must be a list of encodings that bias"),
        ([], {}, TypeError, "encodings must be a list of encodings that bias"),
        ([COPE], {}, TypeError, "encodings must be a list of encodings that bias"),
        ([FIRE.encoding], {}, TypeError, "encodings must hold the parameters"),
        ([FIRE, posenc.ALiBi(heads=3)], {}, ValueError, "encodings must have as many heads as each other; got [2, 3]"),
        ([ALIBI], {"dtype": torch.bfloat16}, ValueError, "dtype must be torch.float32 or torch.float64"),
        (
            [ALIBI],
            {"causal": True, "key_positions": PLACE[:2]},
            ValueError,
            "causal needs at least as many keys as queries, 9",
        ),
    ],
    ids=str,
)
def test_what_cannot_be_shared_is_refused(encodings: Any, more: dict[str, Any], error: Any, message: str) -> None:
    with pytest.raises(error) as caught:
        shared_bias(encodings, **({"query_positions": PLACE, "key_positions": PLACE} | more))
    assert str(caught.value).startswith(message)


ROTATIONS = [posenc.RoPE(dim=4), posenc.XPos(dim=4), posenc.ValueRotation(posenc.RoPE(dim=4))]


def test_keys_rotated_once_give_what_keys_rotated_each_time_do() -> None:
    q = torch.cat([Q, Q], 1)[:, :, 8:]  # one query of a cache, two heads for each of the keys
    encodings = [*ROTATIONS, posenc.ALiBi(heads=4)]
    asked = {"query_positions": PLACE[8:], "key_positions": PLACE, "encodings": encodings}
    for layout in ("bhtd", "bthd"):
        parts = [x if layout == "bhtd" else x.transpose(1, 2) for x in (q, K, V)]
        k, v = rotate_keys(*parts[1:], key_positions=PLACE, encodings=encodings, layout=layout)
        got = attention(parts[0], k, v, keys_rotated=True, layout=layout, **asked)
        assert (got - attention(*parts, layout=layout, **asked)).abs().max() <= 2**-20
    assert not torch.equal(k, parts[1])
    assert not torch.equal(v, parts[2])


def test_a_score_reads_keys_as_they_are() -> None:
    with pytest.raises(ValueError, match=r"^keys_rotated must be False for CoPE, which reads keys as they are"):
        attention(**given(), encodings=[COPE], keys_rotated=True)
    with pytest.raises(ValueError, match=r"^impl must be a path .* the reference rotates keys itself"):
        attention(**given(), encodings=[ALIBI], keys_rotated=True, impl="reference")
    with pytest.raises(ValueError, match=r"^v must have the dtype and device of k"):
        rotate_keys(K, V.double(), key_positions=PLACE, encodings=ROTATIONS, layout="bhtd")
