"""A cache of keys and values that knows what rotated its keys, and refuses whatever does not belong to it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from posenc.caches.pinned_length import pinned_length
from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.checked_attention import (
    Window,
    check_hidden_is_read,
    checked_vectors,
    number_of_axes,
    token_positions,
)
from posenc.core.doors import AttentionScore, Encoding, RotaryEncoding
from posenc.core.rotation import LAYOUTS, Layout
from posenc.encodings.rotates.temperature import QueryTemperature
from posenc.models.fingerprints import fingerprint
from posenc.torch import attention, rotate_keys
from posenc.torch.attention_paths.arguments import HeldEncoding, held_encodings
from posenc.torch.modules.encoding_module import EncodingModule
from posenc.torch.tensor_arguments import check_alike, on_same_device, plain_tensor

#: In place of a fingerprint, for keys as they are before any rotation.
UNROTATED = "unrotated"
Encodings = Sequence[Encoding | EncodingModule]


@dataclass(frozen=True, eq=False)
class KeyCache:
    """Keys and values of earlier tokens of a layer, their positions, and the fingerprint of what rotated the keys.

    Make one with `key_cache`, or of keys that a model has rotated already by naming what rotated them in `rotated_by`;
    append tokens with `extended`, and attend with `attend`. Nothing is changed in place.

    Attributes:
        k: Keys, (batch, key heads, m, width).
        v: Values, (batch, key heads, m, width).
        key_positions: (m,) or (batch, m), with a last axis of coordinates where encodings have several.
        rotated_by: `rotation_fingerprint` of what rotated keys and values; "unrotated" for keys as they were projected.
        hidden: Inputs of the layer, (batch, m, model_dim), where an encoding reads them, else None.
        axes: Coordinates of a position.
    """

    k: Tensor
    v: Tensor
    key_positions: Tensor
    rotated_by: str
    hidden: Tensor | None = None
    axes: int = 1

    @property
    def tokens(self) -> int:
        """Number of tokens."""
        return int(self.k.shape[2])

    def extended(self, new: KeyCache) -> KeyCache:
        """Append tokens of the same layer behind these.

        Args:
            new: Cache of the new tokens.

        Returns:
            A cache of all tokens.

        Raises:
            TypeError: `new` is no KeyCache.
            ValueError: `new` was rotated by something else, or has other heads, widths, axes or rows.
        """
        validation.instance("new", new, KeyCache, "a KeyCache")
        check_rotated_by("new", new.rotated_by, self.rotated_by)
        _check_shapes(self, new)
        hidden = None if self.hidden is None or new.hidden is None else torch.cat([self.hidden, new.hidden], 1)
        places = [self.key_positions, new.key_positions]
        row = min(self.axes, 2)
        if max(x.ndim for x in places) > row:  # one of them has a row for each sequence
            places = [x.expand(self.k.shape[0], *x.shape[-row:]) for x in places]
        positions = torch.cat(places, places[0].ndim - row)
        k, v = torch.cat([self.k, new.k], 2), torch.cat([self.v, new.v], 2)
        return replace(self, k=k, v=v, key_positions=positions, hidden=hidden)

    def part(self, tokens: Tensor) -> KeyCache:
        """Select some of the tokens, each with its rotation and its position.

        Args:
            tokens: Indices, (n,), int64.

        Returns:
            A cache of these tokens.

        Raises:
            ValueError: An index is out of range, or named twice.
        """
        tokens = checked_tokens("tokens", tokens, self)
        positions = self.key_positions.index_select(self.key_positions.ndim - min(self.axes, 2), tokens)
        hidden = None if self.hidden is None else self.hidden.index_select(1, tokens)
        k, v = self.k.index_select(2, tokens), self.v.index_select(2, tokens)
        return replace(self, k=k, v=v, key_positions=positions, hidden=hidden)

    def attend(
        self,
        q: Tensor,
        *,
        query_positions: Array,
        encodings: Encodings,
        layout: Layout,
        causal: bool = True,
        window: Window | None = None,
        sliding_window: int | None = None,
        mask: Array | None = None,
        hidden: Array | None = None,
        scale: float | None = None,
    ) -> Tensor:
        """Attend with queries, the last of which stand at the last tokens of the cache.

        Args:
            q: Queries before any rotation, (batch, heads, n, d) for layout "bhtd".
            query_positions: Positions of the queries.
            encodings: As for `posenc.torch.attention`; those that rotate must be what rotated the cache.
            layout: Order of the axes of q, "bhtd" or "bthd".
            causal: As for `posenc.torch.attention`.
            window: As for `posenc.torch.attention`.
            sliding_window: As for `posenc.torch.attention`.
            mask: As for `posenc.torch.attention`.
            hidden: Inputs of the layer at the queries, for encodings that read them; the cache has those at the keys.
            scale: As for `posenc.torch.attention`.

        Returns:
            The output, in the dtype and the layout of q.

        Raises:
            TypeError: As for `posenc.torch.attention`.
            ValueError: As for `posenc.torch.attention`; or encodings are not what rotated the cache.
        """
        validation.choice("layout", layout, LAYOUTS)
        check_alike(k=self.k, q=q)
        if q.ndim != 4 or (q.shape[0], q.shape[3]) != (self.k.shape[0], self.k.shape[3]):
            raise ValueError(
                f"q must have four axes, {layout!r}, batch {self.k.shape[0]} and width {self.k.shape[3]} of the "
                f"cache; got {tuple(q.shape)}. Give queries of the same layer."
            )
        check_hidden_is_read(hidden, [each.encoding for each in _held(encodings)])
        if hidden is not None:
            plain_tensor("hidden", hidden)
        if self.rotated_by != UNROTATED:
            check_rotated_by("encodings", rotation_fingerprint(encodings), self.rotated_by)
        query_positions = on_same_device("query_positions", query_positions, q)
        check_pinned("query_positions", query_positions, encodings)
        k, v = (x if layout == "bhtd" else x.transpose(1, 2) for x in (self.k, self.v))
        reads = {getattr(each.encoding, "reads", None) for each in held_encodings(encodings)[0]}
        read = [hidden] if reads & {"query", "both"} else []
        read += [self.hidden] if reads & {"key", "both"} else []
        output: Tensor = attention(
            q,
            k,
            v,
            query_positions=query_positions,
            key_positions=self.key_positions,
            layout=layout,
            encodings=encodings,
            causal=causal,
            window=window,
            sliding_window=sliding_window,
            mask=mask,
            hidden=torch.cat([x for x in read if x is not None], 1) if any(x is not None for x in read) else None,
            scale=scale,
            keys_rotated=self.rotated_by != UNROTATED,
        )
        return output


def key_cache(
    k: Tensor,
    v: Tensor,
    *,
    key_positions: Array,
    encodings: Encodings,
    layout: Layout,
    rotated: bool,
    hidden: Tensor | None = None,
) -> KeyCache:
    """Put keys and values of new tokens into a cache, rotated once or as they are.

    Keys that a model has rotated already belong into `KeyCache(k, v, positions, rotation_fingerprint(encodings))`:
    here they would be rotated twice.

    Rotated keys cost nothing more at later steps. Keys as they are can take any position and any table later, exactly,
    and are rotated at every step.

    Args:
        k: Keys as they were projected, (batch, key heads, m, d) for layout "bhtd".
        v: Values, (batch, key heads, m, width).
        key_positions: (m,) or (batch, m), with a last axis of coordinates for encodings that have several.
        encodings: Those of attention.
        layout: Order of the axes of k and v, "bhtd" or "bthd".
        rotated: Whether to rotate them here, now. False with a score, which reads keys as they are, and for PoPE,
            whose rotated keys are wider.
        hidden: Inputs of the layer at these tokens, (batch, m, model_dim), for encodings that read them at keys.

    Returns:
        The cache, with the fingerprint of what rotated its keys.

    Raises:
        TypeError: An argument is of another kind than stated.
        ValueError: Shapes and positions do not belong together, a position is beyond the length that a scaling is
            pinned to, or keys that must stay as they are, are to be rotated.

    Example:
        >>> import torch
        >>> from posenc import RoPE
        >>> k, encodings = torch.randn(1, 2, 3, 8), [RoPE(dim=8)]
        >>> options = {"encodings": encodings, "layout": "bhtd", "rotated": True}
        >>> cache = key_cache(k, k, key_positions=torch.arange(3), **options)
        >>> cache = cache.extended(key_cache(k, k, key_positions=torch.arange(3, 6), **options))
        >>> cache.tokens, cache.rotated_by == rotation_fingerprint(encodings)
        (6, True)
    """
    held = _held(encodings)
    check_alike(k=k, v=v)
    _, keys, values = checked_vectors(k, k, v, layout)
    axes = number_of_axes([each.encoding for each in held])
    placed = token_positions("key_positions", on_same_device("key_positions", key_positions, k), keys, axes)
    place = placed.lib.signed(placed.array)  # so that later shifts neither wrap nor round
    check_pinned("key_positions", place, encodings)
    check_hidden_is_read(hidden, [each.encoding for each in held])
    if hidden is not None and plain_tensor("hidden", hidden).shape[:-1] != (keys.shape[0], keys.shape[2]):
        raise ValueError(
            f"hidden must have shape {(keys.shape[0], keys.shape[2], 'model_dim')}, a vector for each token; got "
            f"{tuple(hidden.shape)}. Give the vectors that k and v are made of."
        )
    if not validation.truth("rotated", rotated):
        return KeyCache(keys, values, place, UNROTATED, hidden, axes)
    scores = [each.encoding for each in held if isinstance(each.encoding, AttentionScore)]
    if scores:
        raise ValueError(
            f"rotated must be False for {type(scores[0]).__name__}, which reads keys as they are before any rotation; "
            "got True. Keep them so."
        )
    width = keys.shape[-1]
    keys, values = rotate_keys(keys, values, key_positions=place, encodings=encodings, layout="bhtd")
    if keys.shape[-1] != width:
        raise ValueError(
            f"rotated must be False for encodings whose rotated keys have another width, {keys.shape[-1]} for {width}; "
            "got True. Keep them as they are."
        )
    return KeyCache(keys, values, place, rotation_fingerprint(encodings), hidden, axes)


def rotation_fingerprint(encodings: Encodings) -> str:
    """Fingerprint of what encodings do to keys and values: equal exactly where cached ones may be mixed.

    It is `posenc.models.fingerprint` of each encoding that rotates them, with "-float32" where it follows the
    arithmetic of released models, and a digest of what it has learned. Temperatures change queries alone: they do not
    count.

    Args:
        encodings: Those of attention.

    Returns:
        The fingerprints, joined by "+"; "unrotated" where nothing rotates keys or values.

    Raises:
        TypeError: `encodings` is no list of encodings and modules.

    Example:
        >>> from posenc import ALiBi, RoPE
        >>> rotation_fingerprint([RoPE(dim=64), ALiBi(heads=8)])
        'd8fdfb247d052c29'
        >>> rotation_fingerprint([RoPE(dim=64, numerics="float32")])
        'd8fdfb247d052c29-float32'
    """
    # Keys and values rotate by themselves: which of them is listed first changes nothing.
    rotations = sorted(filter(rotates_keys, _held(encodings)), key=lambda each: each.call_field)
    return "+".join(_named(each.encoding) + _digest(each) for each in rotations) or UNROTATED


def rotates_keys(held: HeldEncoding) -> bool:
    """Whether an encoding changes keys or values."""
    return isinstance(held.encoding, RotaryEncoding) and not isinstance(held.encoding, QueryTemperature)


def check_rotates_keys(encoding: Any) -> None:
    """Refuse an encoding that leaves keys as they are: one that rotates values, or changes queries alone."""
    validation.instance("encoding", encoding, RotaryEncoding, "an encoding that rotates, RoPE(dim=64), say")
    held = held_encodings([encoding])[0][0]
    if held.call_field == "value_rotations" or not rotates_keys(held):
        raise ValueError(
            f"encoding must rotate keys; got {type(encoding).__name__}, which leaves them as they are. Give the "
            "encoding of keys, RoPE(dim=64), say."
        )


def check_rotated_by(name: str, got: str, wanted: str) -> None:
    """Refuse keys of two rotations, with the fingerprints of both."""
    if got != wanted:
        raise ValueError(
            f"{name} must have the rotation of the cache, {wanted}; got {got}. Keys of two tables give wrong scores: "
            "rotate the cache anew with posenc.caches.rerotated, or compute it again."
        )


def check_pinned(name: str, positions: Any, encodings: Encodings) -> None:
    """Refuse a position beyond the length to which a scaling is pinned, where it can be read."""
    limits = [pinned_length(each.encoding) for each in _held(encodings)]
    length = min((limit for limit in limits if limit is not None), default=None)
    if length is None or not isinstance(positions, Tensor) or not positions.is_cpu or not positions.numel():
        return
    if positions.max() >= length:
        raise ValueError(
            f"{name} must be below the length that the scaling is pinned to, {length}; got {positions.max()}. Rotate "
            "the cache anew: rerotated(cache, encodings=..., to=[pin_length(encoding, longer)])."
        )


def _held(encodings: Encodings) -> tuple[HeldEncoding, ...]:
    """Encodings with their parameters."""
    return held_encodings(encodings)[0]


@lru_cache(maxsize=256)
def _named(encoding: Encoding) -> str:
    """Fingerprint of an encoding, with its arithmetic where that is not exact."""
    return fingerprint(encoding) + ("-float32" if "numerics='float32'" in repr(encoding) else "")


def _digest(held: HeldEncoding) -> str:
    """Digest of learned parameters; nothing where nothing is learned."""
    if not held.params:
        return ""
    total = hashlib.sha256()
    for name, value in sorted(held.params.items()):
        total.update(name.encode())
        total.update(np.ascontiguousarray(value.detach().to("cpu", torch.float64).numpy()).tobytes())
    return f"-{total.hexdigest()[:8]}"


def _check_shapes(old: KeyCache, new: KeyCache) -> None:
    """Refuse tokens of another layer."""
    for name, one, other in (("k", old.k, new.k), ("v", old.v, new.v)):
        same = one.shape[:2] == other.shape[:2] and one.shape[3] == other.shape[3]
        if not same or one.dtype != other.dtype or one.device != other.device:
            raise ValueError(
                f"new must have {name} of shape {(*one.shape[:2], 'm', one.shape[3])}, {one.dtype} on {one.device}; "
                f"got {tuple(other.shape)}, {other.dtype} on {other.device}. Give tokens of the same layer."
            )
    if old.axes != new.axes or (old.hidden is None) != (new.hidden is None):
        raise ValueError(
            f"new must have {old.axes} coordinates a position and {'no ' if old.hidden is None else ''}hidden; got "
            f"{new.axes} and {'none' if new.hidden is None else 'one'}. Give tokens of the same layer."
        )


def checked_tokens(name: str, tokens: Any, cache: KeyCache) -> Tensor:
    """Indices of tokens, each there and named once."""
    validation.instance(name, tokens, Tensor, "a tensor of indices, torch.arange(4), say")
    if tokens.dtype not in (torch.int64, torch.int32) or tokens.ndim != 1 or len(tokens) > cache.tokens:
        raise ValueError(
            f"{name} must be whole numbers of shape (n,), n at most {cache.tokens}; got {tokens.dtype}, "
            f"{tuple(tokens.shape)}. Give indices into the cache."
        )
    if tokens.numel() and not (tokens.min() >= 0 and tokens.max() < cache.tokens):
        raise ValueError(
            f"{name} must be from 0 to {cache.tokens - 1}; got values from {int(tokens.min())} to {int(tokens.max())}. "
            "Give indices into the cache."
        )
    if len(tokens.unique()) < len(tokens):
        raise ValueError(f"{name} must not repeat; got one twice. Name every token once.")
    return tokens.to(cache.k.device)
