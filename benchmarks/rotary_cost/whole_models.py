"""Whole models of transformers, 4 layers of 512 channels with random weights: what posenc changes, and what positions
cost at all.

`accelerate` is timed next to the stock model, and next to the same model without any positions: what that saves is the
share of positions, and no implementation of them can save more.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import torch
import transformers
from measuring.measure import Variant, compared, floor
from measuring.problem import name_of

from posenc.transformers import accelerate

STOCK, OURS, WITHOUT = "stock", "posenc, accelerate", "without positions"
WIDTH, LAYERS, HEADS, TOKENS, TRAINED = 512, 4, 8, 512, 256
TEXT = {
    "vocab_size": 1024,
    "hidden_size": WIDTH,
    "intermediate_size": 1408,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
}
VISION = {
    "hidden_size": WIDTH,
    "intermediate_size": 2048,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "image_size": 256,
    "patch_size": 16,
}
MODELS: dict[str, Callable[[], Any]] = {
    "Llama": lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(**TEXT, num_key_value_heads=2)),
    "Qwen3": lambda: transformers.Qwen3ForCausalLM(
        transformers.Qwen3Config(**TEXT, num_key_value_heads=2, head_dim=128)
    ),
    "ModernBERT": lambda: transformers.ModernBertForMaskedLM(
        transformers.ModernBertConfig(
            **TEXT, pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2
        )
    ),
    "DINOv3 ViT": lambda: transformers.DINOv3ViTModel(transformers.DINOv3ViTConfig(**VISION)),
}
DECODERS = ("Llama", "Qwen3")
#: Rounds of a step; a step of one token is short, and rounds differ by a tenth and more.
ROUNDS, ROUNDS_OF_A_TOKEN = 21, 301
Step = Callable[[Any], torch.Tensor]


def run() -> list[dict[str, Any]]:
    cases = []
    for kind, made in MODELS.items():
        for dtype in (torch.float32, torch.bfloat16) if kind == "Llama" else (torch.float32,):
            torch.manual_seed(0)
            model = made().to(dtype).eval()
            steps = {"forward" if kind not in DECODERS else f"prefill of {TOKENS} tokens": forward(model, TOKENS)}
            if kind in DECODERS:
                steps[f"a token after {TOKENS}"] = decoding(model)
            steps["training step"] = training(model)
            for what, step in steps.items():
                rounds = ROUNDS_OF_A_TOKEN if what.startswith("a token") else ROUNDS
                cases.append(case(f"{kind}, {name_of(dtype)}, {what}", model, step, rounds))
    return cases


def case(name: str, model: Any, step: Step, rounds: int) -> dict[str, Any]:
    expected = step(model).float()
    # As many roundings as channels are summed, of numbers as large as the largest.
    eps = torch.finfo(model.dtype).eps
    bound = 64.0 * eps * (1.0 + expected.abs().max().item())

    bare = with_ready_tables(deepcopy(model))

    def accelerated() -> Variant:
        ours = deepcopy(model)
        accelerate(ours)
        return Variant(lambda: step(ours), lambda: step(ours).float())

    def without() -> Any:
        with no_rotation(bare):
            return step(bare)

    variants = {
        STOCK: floor(lambda: step(model)),
        OURS: accelerated,
        WITHOUT: floor(without),
    }
    return compared(name, STOCK, variants, expected, bound, rounds=rounds)


def inputs(model: Any, tokens: int) -> dict[str, torch.Tensor]:
    drawn = torch.Generator().manual_seed(0)
    if "Vi" in type(model).__name__:
        return {"pixel_values": torch.randn(1, 3, 256, 256, generator=drawn).to(model.dtype)}
    return {"input_ids": torch.randint(3, 1024, (1, tokens), generator=drawn)}


def result(output: Any) -> torch.Tensor:
    """Logits, or the hidden states of a model that has none."""
    found: torch.Tensor = output.logits if hasattr(output, "logits") else output.last_hidden_state
    return found


def forward(model: Any, tokens: int) -> Step:
    given = inputs(model, tokens)

    def step(model: Any) -> torch.Tensor:
        with torch.no_grad():
            return result(model(**given))

    return step


def decoding(model: Any) -> Step:
    """One token more, with keys and values of those before it in a cache, which is cut back each time."""
    with torch.no_grad():
        cache = model(**inputs(model, TOKENS), use_cache=True).past_key_values
    token = torch.tensor([[7]])

    def step(model: Any) -> torch.Tensor:
        with torch.no_grad():
            found = result(model(token, past_key_values=cache, use_cache=True))
        cache.crop(-1)
        return found

    return step


def training(model: Any) -> Step:
    """Forward and backward; result: the gradient of one weight near the input."""
    given = inputs(model, TRAINED)
    weight = next(parameter for name, parameter in model.named_parameters() if "q_proj" in name or "Wqkv" in name)

    def step(model: Any) -> torch.Tensor:
        model.zero_grad(set_to_none=True)
        result(model(**given)).float().square().mean().backward()
        return weight.grad

    return step


def with_ready_tables(model: Any) -> Any:
    """The model, whose rotary modules give the tables of their first call again."""
    for name, module in model.named_modules():
        if name.rsplit(".", 1)[-1] in ("rotary_emb", "rope_embeddings"):
            module.forward = remembered(module.forward)
    return model


def remembered(forward: Callable[..., Any]) -> Callable[..., Any]:
    ready: dict[Any, Any] = {}

    def found(*arguments: Any, **options: Any) -> Any:
        kinds = tuple(x for x in (*arguments, *options.values()) if isinstance(x, str))
        if kinds not in ready:
            ready[kinds] = forward(*arguments, **options)
        return ready[kinds]

    return found


@contextmanager
def no_rotation(model: Any) -> Iterator[None]:
    """Queries and keys as they are."""
    file = sys.modules[type(model).__module__]
    applied = file.apply_rotary_pos_emb
    file.apply_rotary_pos_emb = lambda q, k, *_, **__: (q, k)
    try:
        yield
    finally:
        file.apply_rotary_pos_emb = applied
