"""What `posenc.transformers.trace` adds to a forward, and to a whole answer, of models of several widths.

A trace is timed only after its verdict has been shown to be right: the stock model agrees, a planted fault is named.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from measuring.measure import Variant, compared, floor
from transformers import LlamaConfig, LlamaForCausalLM

from posenc.transformers import trace

WIDTHS, LAYERS, HEAD, TOKENS, ANSWER = (128, 256, 512, 1024), 4, 64, 256, 16
STOCK, TRACED = "stock", "posenc, trace"


def run() -> list[dict[str, Any]]:
    cases = []
    for width in WIDTHS:
        model = built(width)
        check_verdicts(model)
        cases.append(case(f"forward of 2 × {TOKENS} tokens, width {width}", model, forward))
        cases.append(case(f"answer of {ANSWER} tokens, width {width}", model, answer))
    return cases


def built(width: int) -> Any:
    torch.manual_seed(0)
    heads = max(width // HEAD, 1)
    sizes = {"hidden_size": width, "intermediate_size": 3 * width, "num_attention_heads": heads}
    grouped = {"num_key_value_heads": max(heads // 4, 1), "num_hidden_layers": LAYERS, "vocab_size": 1024}
    return LlamaForCausalLM(LlamaConfig(**sizes, **grouped)).eval()


def check_verdicts(model: Any) -> None:
    """Stop unless the trace of the stock model agrees, and the trace of one with a planted fault does not."""
    rotary = model.model.rotary_emb
    own = rotary.forward
    for shift, agrees in ((0, True), (1, False)):
        rotary.forward = lambda x, position_ids, shift=shift: own(x, position_ids + shift * (position_ids > 7))
        with trace(model) as traced:
            forward(model)
        if traced.check().agree != agrees:
            raise AssertionError(f"a trace with positions {shift} off must agree: {agrees}; got {traced.check()}")
    rotary.forward = own


def forward(model: Any) -> torch.Tensor:
    tokens = torch.randint(3, 1024, (2, TOKENS), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        logits: torch.Tensor = model(tokens).logits
    return logits


def answer(model: Any) -> torch.Tensor:
    tokens = torch.arange(3, 67)[None]
    fixed = {"do_sample": False, "max_new_tokens": ANSWER, "min_new_tokens": ANSWER, "pad_token_id": 0}
    found: torch.Tensor = model.generate(tokens, attention_mask=torch.ones_like(tokens), **fixed)
    return found.float()


def case(name: str, model: Any, step: Callable[[Any], torch.Tensor]) -> dict[str, Any]:
    def traced() -> torch.Tensor:
        with trace(model):
            return step(model)

    variants = {STOCK: floor(lambda: step(model)), TRACED: lambda: Variant(traced, traced)}
    return compared(name, STOCK, variants, step(model), 0.0, rounds=7)
