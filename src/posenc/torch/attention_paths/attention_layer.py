"""Attention as a layer: projections, any encodings, and the rotated keys and values of earlier tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import torch

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.attention_arguments import AttentionArguments
from posenc.core.checked_attention import (
    Window,
    check_inside,
    check_list,
    checked_vectors,
    number_of_axes,
    repeated,
    token_positions,
)
from posenc.core.doors import AttentionScore, Documents, Encoding, RotaryEncoding
from posenc.core.rotation import Layout
from posenc.torch.attention_paths.arguments import held_encodings
from posenc.torch.attention_paths.attend import Impl, attended
from posenc.torch.modules.encoding_module import EncodingModule
from posenc.torch.modules.modules import module
from posenc.torch.modules.one_call import rotate_at
from posenc.torch.tensor_arguments import check_alike, on_same_device


@dataclass(frozen=True, eq=False)
class AttentionCache:
    """What a layer keeps of earlier tokens.

    K and v, (batch, m, key heads, width), their `key_positions`, (m,) or (batch, m), and the inputs of the layer,
    (batch, m, model_dim), where an encoding reads them, else None.

    Keys and values are kept as `rotate_keys` gives them, so that no step rotates them again, or as they are before any
    rotation where the layer says `caches_rotated=False`.
    """

    k: Array
    v: Array
    key_positions: Array
    hidden: Array | None

    def extended(self, new: AttentionCache, axes: int) -> AttentionCache:
        """With new tokens behind the old ones, whose positions have so many coordinates."""
        hidden = None if self.hidden is None else torch.cat([self.hidden, new.hidden], 1)
        key = _joined(self.key_positions, new.key_positions, self.k.shape[0], axes)
        return AttentionCache(torch.cat([self.k, new.k], 1), torch.cat([self.v, new.v], 1), key, hidden)


def _joined(old: Any, new: Any, batch: int, axes: int) -> Any:
    """Positions of old tokens and of new ones, in a row for each sequence where one of them has such rows."""
    row = 1 if axes == 1 else 2
    if old.ndim != new.ndim:
        old, new = (each.expand(batch, *each.shape) if each.ndim == row else each for each in (old, new))
    return torch.cat([old, new], old.ndim - row)


@final
class Attention(torch.nn.Module):  # type: ignore[misc]
    """out(attention(query(x), key(x), value(x))) with any encodings, by `posenc.torch.attention`.

    Vaswani et al. 2017, arXiv:1706.03762, §3.2.2; grouped heads as in Ainslie et al. 2023, arXiv:2305.13245.

    forward(x, positions=None): x is (batch, n, model_dim); positions (n,) or (batch, n), with a last axis of
    coordinates for encodings that have several, 0 to n - 1 unless given. Result: the shape and dtype of x. `step` takes
    new tokens behind those of a cache, which holds rotated keys unless an encoding needs them as they are
    (`caches_rotated`).

    Args:
        model_dim: Channels of x.
        heads: Of queries.
        encodings: Encodings, and modules of `posenc.torch.module`, for one that several layers share; an encoding that
            learns gets parameters of its own here.
        key_heads: Heads of keys and values, which divide heads; as many as heads unless given.
        head_dim: Channels of a head, model_dim / heads unless given.
        bias: Whether the projections add one.
        causal: As in `attention`; dropout acts in training alone.
        window: As in `attention`; dropout acts in training alone.
        scale: As in `attention`; dropout acts in training alone.
        dropout: As in `attention`; dropout acts in training alone.
        impl: As in `attention`; dropout acts in training alone.

    Raises:
        TypeError: A value breaks its rule; the message names the argument.
        ValueError: A value breaks its rule; the message names the argument.

    Example:
        >>> import torch
        >>> from posenc import RoPE
        >>> layer = Attention(32, 4, encodings=[RoPE(dim=8)], key_heads=2, causal=True)
        >>> x = torch.randn(1, 5, 32)
        >>> whole = layer(x)
        >>> first, cache = layer.step(x[:, :4])
        >>> last, cache = layer.step(x[:, 4:], cache)
        >>> torch.allclose(torch.cat([first, last], 1), whole, atol=1e-6)
        True
    """

    def __init__(
        self,
        model_dim: int,
        heads: int,
        *,
        encodings: Sequence[Encoding | EncodingModule] = (),
        key_heads: int | None = None,
        head_dim: int | None = None,
        bias: bool = False,
        causal: bool = False,
        window: Window | None = None,
        scale: float | None = None,
        dropout: float = 0.0,
        impl: Impl = "auto",
    ) -> None:
        super().__init__()
        self.model_dim = validation.integer("model_dim", model_dim, 1, 1 << 20)
        self.heads = validation.integer("heads", heads, 1, 1 << 16)
        self.key_heads = self.heads if key_heads is None else validation.integer("key_heads", key_heads, 1, self.heads)
        if self.heads % self.key_heads:
            raise ValueError(f"key_heads must divide heads, {heads}; got {key_heads}. Give {heads} or a divisor of it.")
        self.head_dim = _head_dim(head_dim, self.model_dim, self.heads)
        self.causal, self.window = validation.truth("causal", causal), window
        self.scale, self.impl = scale, impl
        self.dropout = validation.real("dropout", dropout, 0.0, 1.0)
        with_bias, widths = validation.truth("bias", bias), (self.heads * self.head_dim, self.key_heads * self.head_dim)
        self.query = torch.nn.Linear(self.model_dim, widths[0], bias=with_bias)
        self.key = torch.nn.Linear(self.model_dim, widths[1], bias=with_bias)
        self.value = torch.nn.Linear(self.model_dim, widths[1], bias=with_bias)
        self.out = torch.nn.Linear(widths[0], self.model_dim, bias=with_bias)
        self.encodings = torch.nn.ModuleList(_modules(encodings))
        records = [each.encoding for each in self.encodings]
        self.axes = number_of_axes(records)
        self.caches_rotated = not any(map(_needs_plain_keys, records))
        self.reads = next(
            (encoding.reads for encoding in records if isinstance(encoding, AttentionScore) and encoding.reads), None
        )

    def forward(
        self, x: Array, positions: Array | None = None, *, mask: Array | None = None, documents: Documents = None
    ) -> Array:
        positions = self._positions(_checked_input(x, self.model_dim), positions, None)
        return self._attended(x, positions, self._projected(x, positions), mask, documents, keys_rotated=False)

    def step(
        self,
        x: Array,
        cache: AttentionCache | None = None,
        positions: Array | None = None,
        *,
        mask: Array | None = None,
    ) -> tuple[Array, AttentionCache]:
        """The output for new tokens, and the cache with them; no cache for the first ones.

        Args:
            positions: Of the new tokens, those after the last of the cache unless given.
            mask: Over all keys, those of the cache first.
        """
        positions = self._positions(_checked_input(x, self.model_dim), positions, cache)
        new = self._projected(x, positions)
        if self.caches_rotated:
            k, v = rotate_keys(new.k, new.v, key_positions=positions, encodings=list(self.encodings), layout="bthd")
            new = replace(new, k=k, v=v)
        cache = new if cache is None else cache.extended(new, self.axes)
        return self._attended(x, positions, cache, mask, None, keys_rotated=self.caches_rotated), cache

    def extra_repr(self) -> str:
        return f"model_dim={self.model_dim}, heads={self.heads}, key_heads={self.key_heads}, causal={self.causal}"

    def _projected(self, x: Array, positions: Array) -> AttentionCache:
        """Keys and values of some tokens."""
        shape = (*x.shape[:2], self.key_heads, self.head_dim)
        return AttentionCache(
            self.key(x).reshape(shape), self.value(x).reshape(shape), positions, x if self.reads else None
        )

    def _attended(
        self,
        x: Array,
        positions: Array,
        keys: AttentionCache,
        mask: Any,
        documents: Documents,
        *,
        keys_rotated: bool,
    ) -> Array:
        q = self.query(x).reshape(*x.shape[:2], self.heads, self.head_dim)
        hidden = {"query": [x], "key": [keys.hidden], "both": [x, keys.hidden], None: []}[self.reads]
        given = AttentionArguments(
            q,
            keys.k,
            keys.v,
            positions,
            keys.key_positions,
            "bthd",
            list(self.encodings),
            causal=self.causal,
            window=self.window,
            mask=mask,
            documents=documents,
            hidden=torch.cat(hidden, 1) if hidden else None,
            scale=self.scale,
            dropout=self.dropout if self.training else 0.0,
            keys_rotated=keys_rotated,
        )
        output = attended(given, self.impl)
        return self.out(output.reshape(*x.shape[:2], self.heads * self.head_dim))

    def _positions(self, x: Array, positions: Array | None, cache: AttentionCache | None) -> Array:
        if positions is not None:
            return on_same_device("positions", positions, x)
        if self.axes > 1:
            raise ValueError(
                f"positions must be given for encodings of {self.axes} coordinates; got None. Give those of your "
                "grid: torch.from_numpy(posenc.positions.grid(height, width)), say."
            )
        counted = torch.arange(x.shape[1], device=x.device)
        return (
            counted
            if cache is None or not cache.key_positions.shape[-1]
            else cache.key_positions[..., -1:] + 1 + counted
        )


def _needs_plain_keys(encoding: Any) -> bool:
    """Whether keys must wait in a cache unrotated.

    A score reads them so, rotated they are wider (PoPE), or each head of queries rotates them by a table of its own.
    """
    if not isinstance(encoding, RotaryEncoding):
        return isinstance(encoding, AttentionScore)
    origin = np.zeros((1,) if encoding.axes == 1 else (1, encoding.axes))
    rotation = encoding.rotation(
        origin, encoding.init(np.random.default_rng(0)) if encoding.shapes else None, role=encoding.roles[-1]
    )
    return rotation.heads is not None or rotation.width != encoding.head_dim


def _checked_input(x: Any, model_dim: int) -> Any:
    validation.instance("x", x, torch.Tensor, "a PyTorch tensor")
    if x.ndim != 3 or x.shape[-1] != model_dim:
        raise ValueError(
            f"x must have shape (batch, n, {model_dim}); got {tuple(x.shape)}. Give the input of the layer."
        )
    return x


def _head_dim(head_dim: int | None, model_dim: int, heads: int) -> int:
    if head_dim is not None:
        return validation.integer("head_dim", head_dim, 1, 1 << 16)
    if model_dim % heads:
        raise ValueError(f"head_dim must be given where {heads} heads do not divide model_dim={model_dim}; got None.")
    return model_dim // heads


def _modules(encodings: Any) -> list[EncodingModule]:
    check_list(encodings, "encodings and modules of posenc")
    for each in encodings:
        check_inside(
            each.encoding if isinstance(each, EncodingModule) else each, "posenc.torch.module(encoding)(x, positions)"
        )
    return [each if isinstance(each, EncodingModule) else module(each) for each in encodings]


def rotate_keys(
    k: Array, v: Array, *, key_positions: Array, encodings: Sequence[Any | EncodingModule], layout: Layout
) -> tuple[Array, Array]:
    """Keys and values after the rotations among the encodings, which `attention` takes with `keys_rotated=True`.

    A cache that holds them so rotates each key once, and not again in every step of decoding.

    Args:
        k: (batch, key heads, m, d) and (batch, key heads, m, width) for layout "bhtd", tokens before heads for "bthd".
        v: (batch, key heads, m, d) and (batch, key heads, m, width) for layout "bhtd", tokens before heads for "bthd".
        key_positions: Positions (m,) or (batch, m), with a last axis of coordinates for encodings that have several.
        encodings: Those of attention; what biases is passed over. Result: k and v, new where they are rotated; for a
            rotation with a table for each head of queries, repeated for these heads.

    Raises:
        TypeError: A value breaks its rule; the message names the argument.
        ValueError: A value breaks its rule; the message names the argument.

    Example:
        >>> import torch
        >>> from posenc import RoPE
        >>> from posenc.torch import attention
        >>> q, k, place, encodings = torch.randn(1, 2, 1, 8), torch.randn(1, 2, 5, 8), torch.arange(5), [RoPE(dim=8)]
        >>> cached, values = rotate_keys(k, k, key_positions=place, encodings=encodings, layout="bhtd")
        >>> given = {"query_positions": place[4:], "key_positions": place, "encodings": encodings, "layout": "bhtd"}
        >>> torch.allclose(attention(q, cached, values, keys_rotated=True, **given), attention(q, k, k, **given), atol=1e-6)
        True
    """
    check_alike(k=k, v=v)
    _, k, v = checked_vectors(k, k, v, layout)
    held, _ = held_encodings(encodings)
    rotations = [each for each in held if isinstance(each.encoding, RotaryEncoding)]
    axes = number_of_axes([each.encoding for each in held])
    key_positions = token_positions("key_positions", on_same_device("key_positions", key_positions, k), k, axes).array
    heads: Any = next(filter(None, (getattr(each.encoding, "heads", None) for each in rotations)), k.shape[1])
    k, v = repeated(k, heads), repeated(v, heads)
    for each in rotations:
        if each.door == "value_rotations":
            v = rotate_at(each.encoding, each.params, v, key_positions, "value", "bhtd")
        else:
            k = rotate_at(each.encoding, each.params, k, key_positions, "key", "bhtd")
    return (k, v) if layout == "bhtd" else (k.transpose(1, 2), v.transpose(1, 2))
