"""Code that inductor generates gives what eager code gives: each way through the code, by night."""

from __future__ import annotations

import pytest
import torch
from torch.nn.attention.flex_attention import flex_attention

from posenc import ALiBi
from posenc.core.doors import Encoding
from posenc.torch import Bias, score_mod
from samples import DISTINCT, SAMPLES
from torch_adapter.cases import call, fresh, inputs

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize("encoding", [each for each in SAMPLES if each in DISTINCT])
def test_inductor(encoding: Encoding) -> None:
    whole = fresh(encoding)
    torch._dynamo.reset()
    compiled = torch.compile(whole, fullgraph=True, dynamic=True)
    for n in (11, 7):
        for got, expected in zip(compiled(*inputs(encoding, n)), call(whole, n), strict=True):
            # A fused multiply-add saves a rounding: at most 16 terms, each below 8 times the largest number.
            assert torch.allclose(got, expected, rtol=0, atol=16 * 8 * 2**-24 * max(1.0, expected.abs().max().item()))


def test_compiled_flex_attention() -> None:
    encoding, (query_positions, key_positions) = ALiBi(heads=12), (torch.arange(40) + 1000, torch.arange(64) + 976)
    q, k, v = (torch.randn(2, heads, n, 16) for heads, n in ((12, 40), (4, 64), (4, 64)))
    torch._dynamo.reset()
    got = torch.compile(flex_attention)(
        q, k, v, score_mod=score_mod(encoding, query_positions, key_positions), enable_gqa=True
    )
    logits = q @ k.repeat_interleave(3, 1).mT / 4 + Bias(encoding)(query_positions, key_positions)
    expected = logits.softmax(-1) @ v.repeat_interleave(3, 1)
    assert torch.allclose(got, expected, rtol=0, atol=(16 + 64) * 8 * 2**-24)
