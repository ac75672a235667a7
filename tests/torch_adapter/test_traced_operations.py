"""How many operations a compiled rotation has: the figures of the guide are those that are counted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from posenc import CATALOG
from posenc.core.doors import RotaryEncoding
from posenc.kernels import native
from posenc.torch import module

GUIDE = Path(__file__).parents[2] / "docs" / "pytorch.md"


def operations(encoding: RotaryEncoding) -> int:
    """Operations of one rotation of queries and keys, as torch.compile hands them to its backend."""
    counts: list[int] = []

    def backend(graph: Any, inputs: Any) -> Any:
        counts.append(sum(node.op in ("call_function", "call_method") for node in graph.graph.nodes))
        return graph.forward

    layer, heads = module(encoding), getattr(encoding, "heads", None) or 4
    q, k = torch.randn(2, 1, heads, 8, encoding.head_dim)
    at = torch.arange(8) if encoding.axes == 1 else torch.arange(8)[:, None].expand(8, encoding.axes).contiguous()
    torch._dynamo.reset()
    torch.compile(lambda: layer(q, k, at, at, layout="bhtd"), backend=backend, fullgraph=True, dynamic=False)()
    return sum(counts)


@pytest.mark.nightly
@pytest.mark.skipif(native.MISSING is not None, reason="posenc-kernels is not installed: no compiler was found")
def test_the_guide_says_how_many_operations_are_traced() -> None:
    table = re.findall(r"^  \| ([\w ,]+) \| (\d+)(?: to (\d+))? \|$", GUIDE.read_text("utf-8"), re.MULTILINE)
    rows = {row.name: row.samples[0] for row in CATALOG}
    for names, least, most in table:
        counted = [operations(rows[name]) for name in re.findall(r"[A-Z]\w+", names)]
        assert (min(counted), max(counted)) == (int(least), int(most or least)), names
    assert len(table) == 5
