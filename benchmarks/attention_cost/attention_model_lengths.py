"""Whole models whose positions act inside attention, at lengths that users have: stock, and through `accelerate`.

Two rows of tokens, of which the second ends in a quarter of padding where a case says so. Outputs of tokens that are no
padding are compared with the stock model's before anything is timed.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import torch
from measuring.goal import Goal
from measuring.measure import Variant, compared, floor

STOCK, OURS = "stock", "posenc, accelerate"
#: Models, tokens of a row, and whether the second row is padded.
CASES = [
    (name, tokens, padded)
    for name, lengths in (
        ("T5-small, encoder", (32, 300, 1000)),
        ("DeBERTa-v3-small", (32, 200, 400)),
        ("BLOOM, 4 layers of 512", (32, 300, 1000)),
        ("MPT, 4 layers of 512", (32, 300, 1000)),
    )
    for tokens in lengths
    for padded in (False, True)
]
#: A whole model is never slower than stock, within what a run differs from the next.
SLOWEST = round(1 / 0.98, 3)


def run() -> list[dict[str, Any]]:
    return [case(*each) for each in CASES]


def title(name: str, tokens: int, padded: bool) -> str:
    return f"{name}, 2 rows of {tokens} tokens{', one padded' if padded else ''}, float32"


def case(name: str, tokens: int, padded: bool) -> dict[str, Any]:
    from attention_cost.attention_models import MODELS  # with transformers, which goals do without

    from posenc.transformers import accelerate

    torch.manual_seed(0)
    model = MODELS[name]().eval()
    ours = deepcopy(model)
    accelerate(ours)
    ids = torch.randint(3, 1024, (2, tokens), generator=torch.Generator().manual_seed(0))
    real = torch.ones_like(ids)
    if padded:
        real[1, -(tokens // 4) :] = 0

    def step(model: Any) -> Any:
        with torch.no_grad():
            return model(input_ids=ids, attention_mask=real).last_hidden_state

    expected = step(model)[real.bool()]
    # As many roundings as channels are summed, of numbers as large as the largest.
    bound = 64.0 * 2.0**-23 * (1.0 + expected.abs().max().item())
    variants = {
        STOCK: floor(lambda: step(model)),
        OURS: lambda: Variant(lambda: step(ours), lambda: step(ours)[real.bool()]),
    }
    return compared(title(name, tokens, padded), STOCK, variants, expected, bound, rounds=5)


MODEL_LENGTHS = tuple(
    Goal(f"a whole model against stock, {title(*each)}", "attention_model_lengths", title(*each), OURS, STOCK,
        SLOWEST, "")
    for each in CASES
)  # fmt: skip
