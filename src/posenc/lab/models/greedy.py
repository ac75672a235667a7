"""What a model writes if it always takes the likeliest token."""

from __future__ import annotations

import torch

from posenc.lab.models.cache import DecoderCache
from posenc.lab.models.example import Example
from posenc.lab.models.transformer import Transformer


@torch.no_grad()  # type: ignore[untyped-decorator]
def greedy(model: Transformer, example: Example, most: int, *, end: int) -> list[list[int]]:
    """For each row of an example with a source, the tokens behind the first, up to `end` or `most` of them."""
    memory, cache = example.memory(model), DecoderCache()
    new, rows = example.tokens[:, :1], []
    done = torch.zeros(len(new), dtype=torch.bool, device=new.device)
    for _ in range(most):
        logits = model(new, cache=cache, memory=memory, visible=example.visible, last=1)
        new = logits[:, -1].argmax(-1, keepdim=True)
        rows.append(new[:, 0])
        done |= new[:, 0] == end
        if bool(done.all()):
            break
    written: list[list[int]] = torch.stack(rows, 1).tolist()
    return [row[: row.index(end)] if end in row else row for row in written]
