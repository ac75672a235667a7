"""The lab's model as one writes it in plain PyTorch for one encoding: tables made once, SDPA, nothing of posenc inside.

`twin` takes the weights of a model of the lab, so that the two can be compared number by number before they are timed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn.functional import cross_entropy, embedding, gelu, scaled_dot_product_attention

from posenc import Encoding, KerpleLog, Learned, RelativeBias, T5Bias
from posenc.core.doors import AdditiveEncoding, AttentionBias, RotaryEncoding
from posenc.lab.models.transformer import Transformer
from posenc.phase import fixed_frequencies_of


class Plain(nn.Module):  # type: ignore[misc]
    """A decoder: embeddings, pre-norm blocks, GELU, tied output.

    added: a table for the input, or None.   rotation: rotates (batch, heads, n, d), or None.   bias: the mask of the
    logits, made anew where it learns, or None, where SDPA masks by itself.
    """

    def __init__(
        self,
        model: Transformer,
        added: Callable[[], Any] | None,
        rotation: Callable[[Any], Any] | None,
        bias: Callable[[], Any] | None,
        learned: list[nn.Parameter],
    ) -> None:
        super().__init__()
        self.heads, self.width, self.vocabulary = model.shape.heads, model.shape.width, model.shape.vocabulary
        self.added, self.rotation, self.bias, self.learned = added, rotation, bias, nn.ParameterList(learned)
        self.embedding = nn.Parameter(model.embedding.detach().clone())
        self.norm = _norm(model.stack.norm)
        self.blocks = nn.ModuleList(map(_layers, model.stack.blocks))

    def forward(self, tokens: Any) -> Any:
        batch, length = tokens.shape
        x = embedding(tokens, self.embedding) * math.sqrt(self.width)
        if self.added is not None:
            x = x + self.added()
        mask = None if self.bias is None else self.bias()
        for block in self.blocks:
            q, k, v = block["qkv"](block["norm1"](x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            if self.rotation is not None:
                q, k = self.rotation(q), self.rotation(k)
            attended = scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None)
            x = x + block["out"](attended.transpose(1, 2).reshape(batch, length, self.width))
            x = x + block["down"](gelu(block["up"](block["norm2"](x))))
        return self.norm(x) @ self.embedding[: self.vocabulary].T


def twin(model: Transformer, encoding: Encoding, length: int) -> Plain | None:
    """The plain model for an encoding, with the same weights; None for one that nobody writes in a few lines."""
    params = {name: nn.Parameter(value.detach().clone()) for name, value in _params(model).items()}
    learned, where = list(params.values()), torch.arange(length)
    if isinstance(encoding, Learned):
        return Plain(model, lambda: embedding(where, params["table"]), None, None, learned)
    if isinstance(encoding, AdditiveEncoding) and not encoding.shapes:
        table = encoding.embed(where)
        return Plain(model, lambda: table, None, None, learned)
    if isinstance(encoding, RotaryEncoding) and not encoding.shapes and fixed_frequencies_of(encoding) is not None:
        return Plain(model, None, _rotation(encoding, where), None, learned)
    if isinstance(encoding, AttentionBias):
        future = where[:, None] < where
        bias = _bias(encoding, params, where)
        if bias is None:
            return None
        if not encoding.shapes:
            ready = bias().masked_fill(future, -math.inf)[None]
            return Plain(model, None, None, lambda: ready, learned)
        return Plain(model, None, None, lambda: bias().masked_fill(future, -math.inf)[None], learned)
    return None


def step(model: nn.Module, tokens: Any, targets: Any) -> Callable[[], None]:
    """One step of training."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def run() -> None:
        loss = cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return run


def _rotation(encoding: RotaryEncoding, where: Any) -> Callable[[Any], Any] | None:
    """x·cos + rotate_half(x)·sin, or the same for pairs of neighbours, as models write them."""
    rotation: Any = encoding.rotation(where)
    if rotation.cos.shape[-1] * 2 != encoding.head_dim:
        return lambda x: rotation(x, layout="bhtd")
    if encoding.pairing == "halves":  # type: ignore[attr-defined]
        cosine, sine = (torch.cat([part, part], -1) for part in (rotation.cos, rotation.sin))

        def halves(x: Any) -> Any:
            first, second = x.chunk(2, -1)
            return x * cosine + torch.cat([-second, first], -1) * sine

        return halves
    cosine, sine = (part.repeat_interleave(2, -1) for part in (rotation.cos, rotation.sin))

    def adjacent(x: Any) -> Any:
        first, second = x[..., ::2], x[..., 1::2]
        return x * cosine + torch.stack([-second, first], -1).flatten(-2) * sine

    return adjacent


def _bias(encoding: AttentionBias, params: dict[str, Any], where: Any) -> Callable[[], Any] | None:
    distance = where[:, None] - where
    if not encoding.shapes:
        ready = encoding.matrix(where, where)
        return lambda: ready
    if isinstance(encoding, T5Bias):
        near = torch.where(distance < 16, distance.clamp(min=0), _far(distance))
        return lambda: embedding(near, params["table"]).permute(2, 0, 1)
    if isinstance(encoding, RelativeBias):
        index = distance.clamp(-encoding.clip, encoding.clip) + encoding.clip
        return lambda: embedding(index, params["table"]).permute(2, 0, 1)
    if isinstance(encoding, KerpleLog):
        far = distance.abs().float()
        return lambda: -params["r1"][:, None, None] * torch.log1p(params["r2"][:, None, None] * far)
    return None


def _far(distance: Any) -> Any:
    """Buckets 16 to 31 of a causal T5 table, for distances up to 128."""
    steps = torch.log(distance.clamp(min=1).float() / 16) / math.log(128 / 16) * 16
    return (16 + steps.long()).clamp(max=31)


def _params(model: Transformer) -> dict[str, Any]:
    modules: Any = model.stack.encodings
    return dict(modules[0].params or {}) if len(modules) else {}


def _norm(norm: Any) -> nn.LayerNorm:
    made = nn.LayerNorm(norm.normalized_shape)
    made.load_state_dict(norm.state_dict())
    return made


def _layers(block: Any) -> nn.ModuleDict:
    """A block of the lab as plain layers."""
    layers: dict[str, nn.Module] = {"norm1": _norm(block.norms[0]), "norm2": _norm(block.norms[1])}
    for name, weight in (("qkv", block.project), ("out", block.mix), ("up", block.up), ("down", block.down)):
        layers[name] = nn.Linear(*weight.shape, bias=False)
        with torch.no_grad():
            layers[name].weight.copy_(weight.T)  # type: ignore[union-attr, operator]
    return nn.ModuleDict(layers)
