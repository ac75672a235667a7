"""Caches in 8 or 4 bits, of keys that are rotated before they are quantised or after, and what each costs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor

from posenc.caches.key_cache import KeyCache, check_rotates_keys, key_cache
from posenc.caches.quantised_tensor import GROUPS, Group, QuantisedTensor, quantised
from posenc.core import validation
from posenc.core.checked_attention import checked_vectors, token_positions
from posenc.core.doors import RotaryEncoding
from posenc.torch.modules.one_call import rotate_at
from posenc.torch.tensor_arguments import check_alike, on_same_device


@dataclass(frozen=True, eq=False)
class QuantisedCache:
    """Cache whose full blocks of tokens are quantised, and whose last tokens wait in full precision.

    A cache of rotated keys holds them rotated before quantisation; one of keys as they are rotates them when they are
    read. Values are quantised by token.

    Attributes:
        k: Quantised keys; None while no block is full.
        v: Quantised values, likewise.
        kept: Positions, fingerprint and inputs of the layer of the quantised tokens, without keys and values.
        recent: Last tokens.
        bits: 8 or 4.
        group: Numbers of keys that share a scale.
        block: Tokens of a block.
    """

    k: QuantisedTensor | None
    v: QuantisedTensor | None
    kept: KeyCache
    recent: KeyCache
    bits: Literal[8, 4]
    group: Group
    block: int

    @property
    def tokens(self) -> int:
        """Number of tokens."""
        return self.kept.tokens + self.recent.tokens

    @property
    def bytes(self) -> int:
        """Bytes of keys and values."""
        recent: int = sum(x.numel() * x.element_size() for x in (self.recent.k, self.recent.v))
        return recent + sum(x.bytes for x in (self.k, self.v) if x is not None)

    def extended(self, new: KeyCache) -> QuantisedCache:
        """Append tokens of the same layer, and quantise the blocks that they fill.

        Args:
            new: Cache of the new tokens.

        Returns:
            A cache of all tokens.

        Raises:
            TypeError: As for `KeyCache.extended`.
            ValueError: As for `KeyCache.extended`.
        """
        recent = self.recent.extended(new)
        full = recent.tokens // self.block * self.block
        if not full:
            return replace(self, recent=recent)
        index = torch.arange(recent.tokens, device=recent.k.device)
        done, rest = recent.part(index[:full]), recent.part(index[full:])
        k = quantised(done.k, bits=self.bits, group=self.group, block=self.block)
        v = quantised(done.v, bits=self.bits, group="token", block=self.block)
        if self.k is not None and self.v is not None:
            k, v = self.k.joined(k), self.v.joined(v)
        return replace(self, k=k, v=v, kept=self.kept.extended(_bare(done)), recent=rest)

    def restored(self) -> KeyCache:
        """Compute keys and values in their dtype.

        Returns:
            A cache, rotated as it was quantised.
        """
        if self.k is None or self.v is None:
            return self.recent
        return replace(self.kept, k=self.k.restored(), v=self.v.restored()).extended(self.recent)


def quantised_cache(cache: KeyCache, *, bits: Literal[8, 4], group: Group, block: int = 32) -> QuantisedCache:
    """Quantise a cache in blocks of tokens.

    Args:
        cache: A cache of any keys.
        bits: 8 or 4.
        group: Numbers of keys that share a scale, "token" or "channel"; values go by token.
        block: Tokens of a block.

    Returns:
        The quantised cache.

    Raises:
        TypeError: An argument is of another kind than stated.
        ValueError: An argument is out of range, or a width is odd for 4 bits.

    Example:
        >>> from posenc import RoPE
        >>> k, options = torch.randn(1, 2, 70, 8), {"encodings": [RoPE(dim=8)], "layout": "bhtd", "rotated": True}
        >>> cache = key_cache(k, k, key_positions=torch.arange(70), **options)
        >>> small = quantised_cache(cache, bits=4, group="channel")
        >>> small.tokens, small.recent.tokens, small.restored().rotated_by == cache.rotated_by
        (70, 6, True)
    """
    validation.instance("cache", cache, KeyCache, "a KeyCache")
    validation.choice("group", group, GROUPS)
    none = cache.part(torch.arange(0))
    quantised(none.k, bits=bits, group="token", block=validation.integer("block", block, 1, 1 << 20))
    quantised(none.v, bits=bits, group="token", block=block)
    return QuantisedCache(None, None, _bare(none), none, bits, group, block).extended(cache)


@dataclass(frozen=True)
class QuantisationError:
    """Root mean square error of logits with quantised keys, relative to the root mean square of the logits.

    Attributes:
        bits: 8 or 4.
        group: Numbers that share a scale.
        rotated_before: Error where keys are rotated before they are quantised.
        rotated_after: Error where they are quantised as they are, and rotated when they are read.
    """

    bits: int
    group: str
    rotated_before: float
    rotated_after: float


def quantisation_error(
    q: Tensor,
    k: Tensor,
    encoding: RotaryEncoding,
    *,
    positions: Tensor,
    bits: Literal[8, 4],
    group: Group,
    block: int = 32,
) -> QuantisationError:
    """Measure what quantisation of keys does to logits, for both orders of rotation and quantisation, in float64.

    A rotation mixes the two channels of a pair, so that a channel of large numbers, which models have before rotation,
    is no longer one afterwards; with a scale for each channel that costs precision. Give the queries and keys of your
    own model.

    Args:
        q: Queries before rotation, (batch, heads, n, d).
        k: Keys before rotation, (batch, heads, n, d), where block divides n.
        encoding: An encoding that rotates keys and learns nothing.
        positions: Positions of both, (n,).
        bits: 8 or 4.
        group: "token" or "channel".
        block: Tokens of a block.

    Returns:
        The errors of both orders.

    Raises:
        TypeError: An argument is of another kind than stated.
        ValueError: Shapes do not belong together, or a number is out of range.

    References:
        Hooper et al. 2024, arXiv:2401.18079 (KVQuant), §3.2: keys quantised before the rotation.
    """
    check_rotates_keys(encoding)
    check_alike(q=q, k=k)
    checked_vectors(q, k, k, "bhtd")
    if q.shape != k.shape or k.shape[2] % validation.integer("block", block, 1, 1 << 20):
        raise ValueError(
            f"k must have the shape of q, {tuple(q.shape)}, and tokens that fill blocks of {block}; got "
            f"{tuple(k.shape)}. Give keys of full blocks, repeated for grouped heads."
        )
    placed = token_positions("positions", on_same_device("positions", positions, q), q, encoding.axes).array
    q, k = q.double(), k.double()
    made: dict[str, Any] = {"key_positions": placed, "encodings": [encoding], "layout": "bhtd", "rotated": True}
    rotated_q = rotate_at(encoding, None, q, placed, "query", "bhtd")
    rotated_k = key_cache(k, k, **made).k
    before = quantised(rotated_k, bits=bits, group=group, block=block).restored()
    plain = quantised(k, bits=bits, group=group, block=block).restored()
    after = key_cache(plain, plain, **made).k
    exact = rotated_q @ rotated_k.mT
    size = float(exact.square().mean().sqrt())
    errors = [float((rotated_q @ x.mT - exact).square().mean().sqrt()) / size for x in (before, after)]
    return QuantisationError(bits, group, errors[0], errors[1])


def _bare(cache: KeyCache) -> KeyCache:
    """Empty the keys and values of a cache (width 0), and keep the rest."""
    return replace(cache, k=cache.k[..., :0], v=cache.v[..., :0])
