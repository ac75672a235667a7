"""Attention as a layer: projections, any encodings, and the rotated keys and values of earlier tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import torch
from torch import Tensor

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.checked_attention import (
    Window,
    check_fits,
    check_inside,
    check_list,
    checked_vectors,
    checked_window,
    number_of_axes,
    repeated,
    token_positions,
)
from posenc.core.checked_positions import checked
from posenc.core.doors import AttentionScore, Documents, Encoding, RotaryEncoding
from posenc.core.rotation import Layout
from posenc.torch.attention_paths import gated_cache, reflected_cache
from posenc.torch.attention_paths.arguments import AttentionArguments, attention_call, held_encodings
from posenc.torch.attention_paths.attend import IMPLS, Impl, attended
from posenc.torch.modules.encoding_module import EncodingModule
from posenc.torch.modules.modules import module
from posenc.torch.modules.one_call import rotate_at
from posenc.torch.tensor_arguments import check_alike, check_batch, on_same_device


@dataclass(frozen=True, eq=False)
class AttentionCache:
    """Keys and values that a layer keeps of earlier tokens.

    Keys and values are kept as `rotate_keys` gives them, so that no step rotates them again, or as they are before any
    rotation where the layer says `caches_rotated=False`. Where it says `caches_reflected=True`, keys are kept as the
    last token sees them, for each head of queries, in float32 at least.

    Attributes:
        k: Keys, (batch, m, key heads, width).
        v: Values, (batch, m, key heads, width).
        key_positions: (m,) or (batch, m).
        hidden: Inputs of the layer, (batch, m, model_dim), where an encoding reads them, else None; of the last few
            tokens alone where keys are reflected. Where the layer says `caches_gates=True`, the logarithm of the gates
            that the forgetting gate makes of them, (batch, m, heads), in float32 at least.
        seen_from: Position of the token that sees the keys so, (1,) or (batch, 1), where they are reflected, else None.
    """

    k: Tensor
    v: Tensor
    key_positions: Array
    hidden: Array | None
    seen_from: Array | None = None

    def extended(self, new: AttentionCache, axes: int) -> AttentionCache:
        """Append new tokens behind the old ones.

        Args:
            new: The cache of the new tokens.
            axes: Coordinates of a position.

        Returns:
            A cache of all tokens.
        """
        hidden = None if self.hidden is None else torch.cat([self.hidden, new.hidden], 1)
        key = _joined(self.key_positions, new.key_positions, self.k.shape[0], axes)
        return AttentionCache(torch.cat([self.k, new.k], 1), torch.cat([self.v, new.v], 1), key, hidden)


def _joined(old: Any, new: Any, batch: int, axes: int) -> Any:
    """Concatenate positions of old and new tokens, with a row for each sequence where either has such rows."""
    row = 1 if axes == 1 else 2
    if max(old.ndim, new.ndim) > row:
        old, new = (each.expand(batch, *each.shape[-row:]) for each in (old, new))
    return torch.cat([old, new], old.ndim - row)


@final
class Attention(torch.nn.Module):  # type: ignore[misc]
    """Attention layer: out(attention(query(x), key(x), value(x))) with any encodings.

    `step` takes new tokens behind those of a cache, which holds rotated keys unless an encoding needs them as they are
    (`caches_rotated`).

    Args:
        model_dim: Channels of x.
        heads: Heads of queries.
        encodings: Encodings, and modules of `posenc.torch.module`, for one that several layers share; an encoding that
            learns gets parameters of its own here.
        key_heads: Heads of keys and values, which divide heads; as many as heads for None.
        head_dim: Channels of a head; model_dim / heads for None.
        bias: Whether the projections add one.
        causal: As for `attention`.
        window: As for `attention`.
        sliding_window: As for `attention`.
        scale: As for `attention`.
        dropout: As for `attention`, in training alone.
        impl: As for `attention`.

    Raises:
        TypeError: An argument is of another kind than stated.
        ValueError: A number is out of range, or heads do not divide.

    References:
        Vaswani et al. 2017, arXiv:1706.03762, §3.2.2; grouped heads: Ainslie et al. 2023, arXiv:2305.13245.

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
        sliding_window: int | None = None,
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
        self.causal = validation.truth("causal", causal)
        self.window = checked_window(window, sliding_window, causal=self.causal)
        self.scale = None if scale is None else validation.real("scale", scale, 0.0, 1e6, above=True)
        self.impl: Impl = validation.choice("impl", impl, IMPLS)  # type: ignore[assignment]
        self.dropout = validation.real("dropout", dropout, 0.0, 1.0)
        with_bias, widths = validation.truth("bias", bias), (self.heads * self.head_dim, self.key_heads * self.head_dim)
        self.query = torch.nn.Linear(self.model_dim, widths[0], bias=with_bias)
        self.key = torch.nn.Linear(self.model_dim, widths[1], bias=with_bias)
        self.value = torch.nn.Linear(self.model_dim, widths[1], bias=with_bias)
        self.out = torch.nn.Linear(widths[0], self.model_dim, bias=with_bias)
        self.encodings = torch.nn.ModuleList(_modules(encodings))
        records = [each.encoding for each in self.encodings]
        heads_of_layer = torch.empty((0, self.heads, 0, self.head_dim), device="meta")
        for record in records:
            check_fits(record, heads_of_layer, heads_of_layer)
        self.axes = number_of_axes(records)
        self.caches_rotated = not any(map(_needs_plain_keys, records))
        keeps_reflected = reflected_cache.keeps_reflected(records, self.causal, self.window, self.scale)
        self.caches_reflected = self.impl == "auto" and keeps_reflected
        self.caches_gates = gated_cache.keeps_gates(records)
        self.reads = next(
            (encoding.reads for encoding in records if isinstance(encoding, AttentionScore) and encoding.reads), None
        )

    def forward(
        self, x: Tensor, positions: Array | None = None, *, mask: Array | None = None, documents: Documents = None
    ) -> Tensor:
        """Attend over all tokens of x.

        Args:
            x: (batch, n, model_dim).
            positions: (n,) or (batch, n), with a last axis of coordinates for encodings that have several; 0 to n - 1
                for None.
            mask: As for `attention`.
            documents: As for `attention`.

        Returns:
            The output, in the shape and dtype of x.
        """
        positions = self._positions(_checked_input(x, self.model_dim), positions, None)
        keys = self._projected(x, positions)
        return self._attended(self._arguments(x, positions, keys, mask, documents, keys_rotated=False))

    def step(
        self,
        x: Tensor,
        cache: AttentionCache | None = None,
        positions: Array | None = None,
        *,
        mask: Array | None = None,
    ) -> tuple[Tensor, AttentionCache]:
        """Attend with new tokens behind those of a cache, which keeps every key, also those that left the window.

        Args:
            x: The new tokens, (batch, n, model_dim).
            cache: The cache of earlier tokens; None for the first ones.
            positions: Positions of the new tokens; those after the last of the cache for None.
            mask: As for `attention`, over all keys, those of the cache first.

        Returns:
            The output for the new tokens, and the cache with them.
        """
        x = _checked_input(x, self.model_dim)
        if cache is not None:
            validation.instance("cache", cache, AttentionCache, "the cache that an earlier step returned")
            check_batch("x", x, "cache", cache.k)
        positions = self._positions(x, positions, cache)
        new = self._projected(x, positions)
        if self.caches_reflected:
            return self._reflected_step(x, new, cache, mask)
        if self.caches_gates:
            new = replace(new, hidden=gated_cache.log_gates(self.encodings, x))
        if self.caches_rotated:
            k, v = rotate_keys(new.k, new.v, key_positions=positions, encodings=list(self.encodings), layout="bthd")
            new = replace(new, k=k, v=v)
        cache = new if cache is None else cache.extended(new, self.axes)
        given = self._arguments(x, positions, cache, mask, None, keys_rotated=self.caches_rotated)
        if self.caches_gates:
            given = replace(given, encodings=gated_cache.of_given_gates(self.encodings))
        return self._attended(given), cache

    def extra_repr(self) -> str:
        """Show the sizes, and the window (keys before, keys after)."""
        sizes = f"model_dim={self.model_dim}, heads={self.heads}, key_heads={self.key_heads}, causal={self.causal}"
        return sizes if self.window == (None, None) else f"{sizes}, window={self.window}"

    def _projected(self, x: Tensor, positions: Array) -> AttentionCache:
        """Project x to keys and values, as an unrotated cache of these tokens."""
        shape = (*x.shape[:2], self.key_heads, self.head_dim)
        return AttentionCache(
            self.key(x).reshape(shape), self.value(x).reshape(shape), positions, x if self.reads else None
        )

    def _reflected_step(
        self, x: Tensor, new: AttentionCache, cache: AttentionCache | None, mask: Any
    ) -> tuple[Tensor, AttentionCache]:
        """Take a `step` with a cache of reflected keys, which are kept as its last token sees them (PaTH)."""
        call = attention_call(self._arguments(x, new.key_positions, new, None, None, keys_rotated=False))
        old = AttentionCache(new.k, new.v[:, :0], new.key_positions[..., :0], x[:, :0]) if cache is None else cache
        at = _joined(old.key_positions, new.key_positions, x.shape[0], 1)
        guard = reflected_cache.guard_of_cache(old.key_positions, at, old.seen_from)
        far = None if cache is None else cache.k.transpose(1, 2)
        v, hidden = torch.cat([old.v, new.v], 1), torch.cat([old.hidden, x], 1)
        output, k = reflected_cache.attend_behind(call, far, v.transpose(1, 2), hidden, mask)
        output = output if guard is None else output + guard.to(output.dtype)
        read = self.encodings[0].encoding.taps - 1
        kept = AttentionCache(k.transpose(1, 2), v, at, hidden[:, max(0, hidden.shape[1] - read) :], at[..., -1:])
        return self.out(output.transpose(1, 2).reshape(*x.shape[:2], self.heads * self.head_dim)), kept

    def _attended(self, given: AttentionArguments) -> Tensor:
        output = attended(given, self.impl)
        return self.out(output.reshape(*output.shape[:2], self.heads * self.head_dim))

    def _arguments(
        self,
        x: Tensor,
        positions: Array,
        keys: AttentionCache,
        mask: Any,
        documents: Documents,
        *,
        keys_rotated: bool,
    ) -> AttentionArguments:
        q = self.query(x).reshape(*x.shape[:2], self.heads, self.head_dim)
        hidden = {"query": [x], "key": [keys.hidden], "both": [x, keys.hidden], None: []}[self.reads]
        return AttentionArguments(
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

    def _positions(self, x: Tensor, positions: Array | None, cache: AttentionCache | None) -> Tensor:
        if positions is not None:
            placed = checked(on_same_device("positions", positions, x))
            positions = placed.lib.signed(placed.array)  # so that those of later steps neither wrap nor round
            row = tuple(x.shape[1:2]) if self.axes == 1 else (x.shape[1], self.axes)
            if tuple(positions.shape) not in (row, (1, *row), (x.shape[0], *row)):
                raise ValueError(
                    f"positions must have shape {row} or {(x.shape[0], *row)}, a position for each token of x; got "
                    f"{tuple(positions.shape)}. Give the positions of these tokens."
                )
            return positions
        if self.axes > 1:
            raise ValueError(
                f"positions must be given for encodings of {self.axes} coordinates; got None. Give those of your "
                "grid: torch.from_numpy(posenc.positions.grid(height, width)), say."
            )
        counted = torch.arange(x.shape[1], device=x.device)
        if cache is None or not cache.key_positions.shape[-1]:
            return counted
        return cache.key_positions[..., -1:] + 1 + counted


def _needs_plain_keys(encoding: Any) -> bool:
    """Whether keys must wait in a cache unrotated.

    A score reads them so, rotated they are wider (PoPE), or each head of queries rotates them by a table of its own.
    """
    if not isinstance(encoding, RotaryEncoding):
        return isinstance(encoding, AttentionScore)
    nowhere = np.zeros((0,) if encoding.axes == 1 else (0, encoding.axes))  # not every encoding has a position 0
    rotation = encoding.rotation(
        nowhere, encoding.init(np.random.default_rng(0)) if encoding.shapes else None, role=encoding.roles[-1]
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
    k: Tensor, v: Tensor, *, key_positions: Array, encodings: Sequence[Any | EncodingModule], layout: Layout
) -> tuple[Tensor, Tensor]:
    """Rotate keys and values once, when they enter a cache; `attention` takes them with `keys_rotated=True`.

    A cache that holds them so rotates each key once, and not again in every step of decoding.

    Args:
        k: Keys, (batch, key heads, m, d) for layout "bhtd".
        v: Values, (batch, key heads, m, width).
        key_positions: (m,) or (batch, m), with a last axis of coordinates for encodings that have several.
        encodings: Those of attention; biases are passed over.
        layout: Order of the axes of k and v, "bhtd" or "bthd".

    Returns:
        k and v, new where they are rotated; repeated for the heads of queries where these have rotations of their own.

    Raises:
        TypeError: k or v is no dense tensor, or `encodings` is no list of encodings and modules.
        ValueError: k, v and positions do not belong together.

    Example:
        >>> import torch
        >>> from posenc import RoPE
        >>> from posenc.torch import attention
        >>> q, k, at, encodings = torch.randn(1, 2, 1, 8), torch.randn(1, 2, 5, 8), torch.arange(5), [RoPE(dim=8)]
        >>> cached, values = rotate_keys(k, k, key_positions=at, encodings=encodings, layout="bhtd")
        >>> given = {"query_positions": at[4:], "key_positions": at, "encodings": encodings, "layout": "bhtd"}
        >>> output = attention(q, cached, values, keys_rotated=True, **given)
        >>> torch.allclose(output, attention(q, k, k, **given), atol=1e-6)
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
        if each.call_field == "value_rotations":
            v = rotate_at(each.encoding, each.params, v, key_positions, "value", "bhtd")
        else:
            k = rotate_at(each.encoding, each.params, k, key_positions, "key", "bhtd")
    return (k, v) if layout == "bhtd" else (k.transpose(1, 2), v.transpose(1, 2))
