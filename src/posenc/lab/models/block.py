"""One layer of a transformer."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, scaled_dot_product_attention

from posenc.lab.models.cache import DecoderCache
from posenc.lab.models.placed import Mask, Placed
from posenc.lab.run_config import Shape


class TransformerBlock(nn.Module):  # type: ignore[misc]
    """x + attention(norm(x)), then x + mlp(norm(x)); with `reads_memory`, x + attention over an encoder's output between the two.

    Attention over the output of an encoder has no encoding (Raffel et al. 2020, arXiv:1910.10683, §2.1).
    """

    def __init__(self, shape: Shape, layer: int, rng: torch.Generator, *, reads_memory: bool = False) -> None:
        super().__init__()
        self.layer, self.heads = layer, shape.heads
        wide, narrow = shape.width**-0.5, (4 * shape.width) ** -0.5
        # What is added to the residual stream starts smaller, by the number of additions (GPT-2).
        calm = (2 * shape.layers) ** -0.5
        self.norms = nn.ModuleList(nn.LayerNorm(shape.width) for _ in range(2))
        self.project = normal_parameter((shape.width, 3 * shape.width), wide, rng)
        self.mix = normal_parameter((shape.width, shape.width), wide * calm, rng)
        self.up = normal_parameter((shape.width, 4 * shape.width), wide, rng)
        self.down = normal_parameter((4 * shape.width, shape.width), narrow * calm, rng)
        self.dropped = dropout(shape)
        self.cross = Cross(shape, rng, wide, calm) if reads_memory else None

    def forward(
        self,
        x: Tensor,
        placed: Placed,
        cache: DecoderCache | None,
        memory: Tensor | None = None,
        mask: Mask | None = None,
    ) -> Tensor:
        normed = self.norms[0](x)
        q, k, v = split_heads(normed @ self.project, 3, self.heads)
        hidden = key_hidden = normed if placed.reads_hidden else None
        if cache is not None:
            kept = cache.extended(self.layer, k, v, *(() if hidden is None else (hidden,)))
            k, v, key_hidden = (*kept, None)[:3]
        x = x + self.dropped(join_heads(placed(q, k, v, hidden, key_hidden)) @ self.mix)
        if self.cross is not None and memory is not None:
            x = x + self.dropped(self.cross(x, memory, mask))
        return x + self.dropped(gelu(self.norms[1](x) @ self.up) @ self.down)


class Cross(nn.Module):  # type: ignore[misc]
    """Attention of a decoder over the output of an encoder."""

    def __init__(self, shape: Shape, rng: torch.Generator, wide: float, calm: float) -> None:
        super().__init__()
        self.heads, self.norm = shape.heads, nn.LayerNorm(shape.width)
        self.query = normal_parameter((shape.width, shape.width), wide, rng)
        self.key_value = normal_parameter((shape.width, 2 * shape.width), wide, rng)
        self.mix = normal_parameter((shape.width, shape.width), wide * calm, rng)

    def forward(self, x: Tensor, memory: Tensor, mask: Mask | None) -> Tensor:
        (q,) = split_heads(self.norm(x) @ self.query, 1, self.heads)
        k, v = split_heads(memory @ self.key_value, 2, self.heads)
        visible = None if mask is None or mask.visible is None else mask.visible[:, None, None]
        return join_heads(scaled_dot_product_attention(q, k, v, attn_mask=visible)) @ self.mix


def dropout(shape: Shape) -> nn.Module:
    """Dropout, or nothing where its share is 0: PyTorch's would still draw."""
    return nn.Dropout(shape.dropout) if shape.dropout else nn.Identity()


def split_heads(x: Tensor, count: int, heads: int) -> tuple[Tensor, ...]:
    """(batch, tokens, count·width) as `count` tensors (batch, heads, tokens, width / heads)."""
    q, *rest = x.unflatten(-1, (count, heads, -1)).permute(2, 0, 3, 1, 4)
    return q, *rest


def join_heads(x: Tensor) -> Tensor:
    """(batch, heads, tokens, width) as (batch, tokens, heads·width)."""
    return x.transpose(1, 2).flatten(2)


def normal_parameter(shape: tuple[int, ...], deviation: float, rng: torch.Generator) -> nn.Parameter:
    """Normal numbers; the same ones for every encoding, since each matrix is drawn in a fixed order."""
    return nn.Parameter(torch.randn(shape, generator=rng) * deviation)
