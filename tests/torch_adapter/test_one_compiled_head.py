"""Compiled, a bias takes the number of one head, a tensor without axes, as it takes several."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from posenc.core.doors import AttentionBias
from samples import FIRST_OF_CLASS, by_night, firsts

BIASES = sorted((one for one in FIRST_OF_CLASS if isinstance(one, AttentionBias)), key=repr)


@pytest.mark.parametrize("encoding", by_night(BIASES, daily=firsts("T5Bias")))
def test_one_head_is_itself_and_none_is_nan(encoding: AttentionBias) -> None:
    torch.compiler.reset()
    drawn = {name: torch.tensor(one) for name, one in encoding.init(np.random.default_rng(0)).items()} or None
    place = torch.arange(6) if encoding.axes == 1 else torch.arange(6)[:, None].repeat(1, encoding.axes)
    queries, keys = place[:, None], place[None]

    def bias(head: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = encoding.bias(head, queries, keys, drawn, dtype=torch.float32)
        return result

    compiled = torch.compile(bias, backend="eager", fullgraph=True, dynamic=False)
    last = torch.tensor(encoding.heads - 1)
    assert torch.equal(compiled(last), bias(last))
    assert compiled(last).shape == (6, 6)
    assert compiled(last + 1).isnan().all()
