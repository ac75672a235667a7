"""The code of others as it is installed: tiny models of transformers with random weights, and what they are seen to
compute."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from transformers import CONFIG_MAPPING, AutoModel, PreTrainedConfig

#: The sizes of a tiny model; heads of 64 channels, since scalings need slow pairs to show.
TINY = {
    "vocab_size": 64, "hidden_size": 256, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 64, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip


def tiny(model_type: str, **fields: Any) -> PreTrainedConfig:
    """A tiny config of a type; fields that are given stand as given, and are copied, since configs write into them."""
    kind = CONFIG_MAPPING[model_type]
    known = {field.name for field in dataclasses.fields(kind)}
    sizes = {name: value for name, value in TINY.items() if name in known}
    return kind(**deepcopy(sizes | fields))


def built(config: PreTrainedConfig, dtype: torch.dtype = torch.float32) -> Any:
    """Its model with random weights, to be run step by step so that every product can be seen."""
    torch.manual_seed(0)
    return AutoModel.from_config(config, attn_implementation="eager", dtype=dtype).eval()


def tokens(length: int, batch: int = 1) -> torch.Tensor:
    return torch.randint(3, 64, (batch, length), generator=torch.Generator().manual_seed(1))


def draw(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(2)).to(dtype)


def cos_sin(
    rotary: Any, positions: torch.Tensor, dtype: torch.dtype = torch.float32, **arguments: Any
) -> dict[str, Any]:
    """What a rotary module of transformers returns for positions (n,) or (axes, n), and these positions."""
    ids = positions[None] if positions.dim() == 1 else positions[:, None]
    with torch.no_grad():
        cos, sin = rotary(torch.zeros(1, 1, 1, dtype=dtype), position_ids=ids, **arguments)
    return {"cos": cos[0], "sin": sin[0], "positions": positions if positions.dim() == 1 else positions.T.contiguous()}


@dataclass(frozen=True)
class RotatedHeads:
    """What one layer computed: queries and keys before and after the rotation, (batch, heads, n, channels), and the
    logits."""

    q: torch.Tensor
    k: torch.Tensor
    q_rotated: torch.Tensor
    k_rotated: torch.Tensor

    def arrays(self) -> dict[str, torch.Tensor]:
        return {"q": self.q, "k": self.k, "q_rotated": self.q_rotated, "k_rotated": self.k_rotated}


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """A function of an installed module replaced for a while."""
    previous = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, previous)


def code_of(model: Any) -> Any:
    """The module in which a model's code stands."""
    return sys.modules[type(model).__module__]


def rotations(
    model: Any, ids: torch.Tensor, function: str = "apply_rotary_pos_emb", **arguments: Any
) -> list[RotatedHeads]:
    """What each layer's rotation was given and gave while the model ran, by a hook around the model's own function."""
    recorded: list[RotatedHeads] = []
    code = code_of(model)
    rotate = getattr(code, function)

    def recording(q: torch.Tensor, k: torch.Tensor, *rest: Any, **named: Any) -> Any:
        before = q.clone(), k.clone()
        after = rotate(q, k, *rest, **named)
        recorded.append(RotatedHeads(*before, *(one.clone() for one in after)))
        return after

    with replaced(code, function, recording), torch.no_grad():
        model(ids, **arguments)
    return recorded


@dataclass(frozen=True)
class AttentionScore:
    """What one layer's attention was given and made of it: (batch, heads, n, channels), and (batch, heads, n, n)."""

    query: torch.Tensor
    key: torch.Tensor
    logits: torch.Tensor


def scores(model: Any, ids: torch.Tensor, **arguments: Any) -> list[AttentionScore]:
    """Each layer's products of queries and keys, rotated, as its attention scales them, before any mask."""
    recorded: list[AttentionScore] = []
    code = code_of(model)
    attend = code.eager_attention_forward

    def recording(module: Any, query: torch.Tensor, key: torch.Tensor, *rest: Any, **named: Any) -> Any:
        repeated = key.repeat_interleave(query.shape[1] // key.shape[1], dim=1)
        products = torch.matmul(query, repeated.transpose(2, 3)) * named.get("scaling", query.shape[-1] ** -0.5)
        recorded.append(AttentionScore(query, repeated, products))
        return attend(module, query, key, *rest, **named)

    with replaced(code, "eager_attention_forward", recording), torch.no_grad():
        model(ids, **arguments)
    return recorded
