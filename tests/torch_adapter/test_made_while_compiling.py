"""An encoding that is made inside a compiled function: the sentence that helps where one graph is demanded, else the
right numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._dynamo.exc import Unsupported

from posenc import ALiBi, Linear, RoPE, Sinusoidal
from posenc.torch import module

CALLS: dict[str, Callable[[Any], Any]] = {
    "RoPE": lambda x: RoPE(dim=8).rotation(torch.arange(5))(x),
    "scaled": lambda x: RoPE(dim=8, scaling=Linear(factor=2.0)).rotation(torch.arange(5))(x),
    "Sinusoidal": lambda x: Sinusoidal(dim=8).attach(x, torch.arange(5)),
    "ALiBi": lambda x: x.sum() + ALiBi(heads=2).matrix(torch.arange(5), torch.arange(5)),
    "module": lambda x: module(RoPE(dim=8))(x[None], x[None], layout="bhtd")[0],
}


@pytest.mark.parametrize("name", CALLS)
def test_an_encoding_made_inside_a_compiled_function(name: str) -> None:
    call, x = CALLS[name], torch.ones(1, 5, 8)
    torch._dynamo.reset()
    with pytest.raises(Unsupported, match=r"cannot be made inside a compiled function\. Make it outside"):
        torch.compile(call, fullgraph=True, backend="eager")(x)
    assert torch.equal(torch.compile(call, backend="eager")(x), call(x))
