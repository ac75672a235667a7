"""Cached keys rotated anew: to other positions, behind other chunks, or by another table, in one rounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch

import torch
from torch import Tensor

from posenc.caches.key_cache import (
    UNROTATED,
    Encodings,
    KeyCache,
    check_pinned,
    check_rotated_by,
    checked_tokens,
    rotates_keys,
    rotation_fingerprint,
)
from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import checked
from posenc.core.operators import Matrices, Rebased
from posenc.core.rotation import Operator, Rotation
from posenc.torch.attention_paths.arguments import HeldEncoding, held_encodings
from posenc.torch.rotary_paths.apply_rotation import rotate_one
from posenc.torch.tensor_arguments import on_same_device


def rerotated(
    cache: KeyCache, *, encodings: Encodings, key_positions: Array | None = None, to: Encodings | None = None
) -> KeyCache:
    """Rotate cached keys to other positions, by another table, or both.

    Key R(p)·k becomes R'(p')·k by R'(p')·R(p)⁻¹, which is one rotation: its angles are subtracted in float64, and the
    result is rounded once. It makes positions right, not the context: what a key and its value say was computed behind
    the tokens, and under the table, of that time.

    Args:
        cache: A cache of rotated keys, or of keys as they are, which take positions as they come.
        encodings: What rotated the cache.
        key_positions: New positions, in the shape of the old ones; None to leave them.
        to: What is to have rotated it; None for `encodings`. Another base or scaling, pinned to another length, say.

    Returns:
        The cache with the new positions and the fingerprint of `to`.

    Raises:
        TypeError: An argument is of another kind than stated.
        ValueError: `encodings` are not what rotated the cache, a position is below 0, or the rotations cannot be
            joined: several of them, one of keys and one of values, no rotation of pairs or blocks, other pairs, or
            another amplitude.

    Example:
        >>> import torch
        >>> from posenc import RoPE
        >>> from posenc.caches import key_cache
        >>> k, made = torch.randn(1, 2, 3, 8), {"encodings": [RoPE(dim=8)], "layout": "bhtd", "rotated": True}
        >>> cache = key_cache(k, k, key_positions=torch.arange(3) + 7, **made)
        >>> moved = rerotated(cache, encodings=[RoPE(dim=8)], key_positions=torch.arange(3))
        >>> torch.allclose(moved.k, key_cache(k, k, key_positions=torch.arange(3), **made).k, atol=1e-6)
        True
    """
    validation.instance("cache", cache, KeyCache, "a KeyCache")
    to = encodings if to is None else to
    if cache.rotated_by != UNROTATED:
        check_rotated_by("encodings", rotation_fingerprint(encodings), cache.rotated_by)
    positions = _checked_positions(cache, key_positions)
    check_pinned("key_positions", positions, to)
    if cache.rotated_by == UNROTATED:
        return replace(cache, key_positions=positions)
    old, new = _rotation_of("encodings", encodings), _rotation_of("to", to)
    _check_same_vectors(old, new)
    operators = (_operator(old, cache.key_positions), _operator(new, positions))
    step = composed(operators[1], operators[0])
    values = old.call_field == "value_rotations"
    moved = _rotated(cache.v if values else cache.k, step)
    k, v = (cache.k, moved) if values else (moved, cache.v)
    return replace(cache, k=k, v=v, key_positions=positions, rotated_by=rotation_fingerprint(to))


def shifted_keys(cache: KeyCache, by: int, *, encodings: Encodings) -> KeyCache:
    """Move all tokens of a cache by so many positions.

    Args:
        cache: A cache of any keys.
        by: Positions to add; below 0 to move to the front.
        encodings: What rotated the cache.

    Returns:
        The cache at its new positions.

    Raises:
        TypeError: As for `rerotated`.
        ValueError: As for `rerotated`; or a token would stand below position 0.
    """
    by = validation.integer("by", by, -(2**52), 2**52)
    validation.instance("cache", cache, KeyCache, "a KeyCache")
    least = int(cache.key_positions.min()) if cache.key_positions.numel() else 0
    if least + by < 0:
        raise ValueError(
            f"by must leave every token at position 0 or above; got {by}, with a token at {least}. Use {-least}, or "
            "evict the first tokens."
        )
    return rerotated(cache, encodings=encodings, key_positions=cache.key_positions + by)


def evicted(cache: KeyCache, keep: Tensor, *, encodings: Encodings, close: bool) -> KeyCache:
    """Drop all tokens but some, as a window with sinks does, and close the gaps or leave them.

    Args:
        cache: A cache of any keys.
        keep: Indices of the tokens that stay, (n,), int64, rising.
        encodings: What rotated the cache.
        close: Whether the kept tokens move together, to one position after another from that of the first
            (StreamingLLM, context shift); else each keeps its position.

    Returns:
        The cache of the kept tokens.

    Raises:
        TypeError: As for `rerotated`.
        ValueError: As for `rerotated`; or indices are out of range or do not rise, or gaps are to be closed between
            positions of several coordinates.

    References:
        Xiao et al. 2024, arXiv:2309.17453, §3.2.
    """
    validation.instance("cache", cache, KeyCache, "a KeyCache")
    keep = checked_tokens("keep", keep, cache)
    if (keep.diff() < 0).any():
        raise ValueError(
            f"keep must rise, as tokens stay in their order; got {validation.shown(keep.tolist())}. Give "
            "keep.sort().values."
        )
    kept = cache.part(keep)
    if not validation.truth("close", close):
        return kept
    if cache.axes > 1:
        raise ValueError(
            f"close must be False for positions of {cache.axes} coordinates, which have no order; got True. Give "
            "rerotated the positions that you mean."
        )
    closed = kept.key_positions[..., :1] + torch.arange(kept.tokens, device=kept.k.device)
    return rerotated(kept, encodings=encodings, key_positions=closed)


def reused(chunks: Sequence[KeyCache], *, encodings: Encodings, start: int = 0) -> KeyCache:
    """Put cached chunks behind one another, each moved to where it now stands: reuse that does not depend on positions.

    Args:
        chunks: Caches of chunks, each with positions of one coordinate that rise by one.
        encodings: What rotated all of them.
        start: Position of the first token.

    Returns:
        One cache, at positions start, start+1, …

    Raises:
        TypeError: As for `rerotated`.
        ValueError: As for `rerotated`; or there is no chunk, chunks were rotated by different things, or a chunk's
            positions do not rise by one.

    Example:
        >>> import torch
        >>> from posenc import RoPE
        >>> from posenc.caches import key_cache
        >>> k, made = torch.randn(1, 2, 3, 8), {"encodings": [RoPE(dim=8)], "layout": "bhtd", "rotated": True}
        >>> chunk = key_cache(k, k, key_positions=torch.arange(3), **made)
        >>> reused([chunk, chunk], encodings=[RoPE(dim=8)]).key_positions.tolist()
        [0, 1, 2, 3, 4, 5]
    """
    if not isinstance(chunks, list | tuple) or not chunks:
        raise ValueError(f"chunks must be a list of one cache or more; got {validation.shown(chunks)}. Give caches.")
    place, whole = validation.integer("start", start, 0, 2**52), None
    for index, chunk in enumerate(chunks):
        validation.instance(f"chunks[{index}]", chunk, KeyCache, "a KeyCache")
        check_rotated_by(f"chunks[{index}]", chunk.rotated_by, chunks[0].rotated_by)
        if chunk.axes > 1 or (torch.diff(chunk.key_positions) != 1).any():
            raise ValueError(
                f"chunks[{index}] must have positions of one coordinate that rise by one; got "
                f"{validation.shown(chunk.key_positions)}. Give rerotated the positions that you mean."
            )
        first = chunk.key_positions[..., :1]
        moved = rerotated(chunk, encodings=encodings, key_positions=chunk.key_positions - first + place)
        place += chunk.tokens
        whole = moved if whole is None else whole.extended(moved)
    return whole  # type: ignore[return-value]


def _checked_positions(cache: KeyCache, key_positions: Array | None) -> Tensor:
    """New positions of a cache."""
    if key_positions is None:
        return cache.key_positions
    placed = checked(on_same_device("key_positions", key_positions, cache.k), "key_positions")
    positions: Tensor = placed.lib.signed(placed.array)  # so that later shifts neither wrap nor round
    if positions.shape != cache.key_positions.shape:
        raise ValueError(
            f"key_positions must have the shape of those of the cache, {tuple(cache.key_positions.shape)}; got "
            f"{tuple(positions.shape)}. Give one for each token."
        )
    if positions.is_cpu and positions.numel() and positions.min() < 0:
        raise ValueError(
            f"key_positions must be 0 or above; got {positions.min()}, with the cache from {cache.key_positions.min()}."
            " Shift by less, or evict the first tokens."
        )
    return positions


def _rotation_of(name: str, encodings: Encodings) -> HeldEncoding:
    """The one encoding that rotates keys or values."""
    rotating = [each for each in held_encodings(encodings)[0] if rotates_keys(each)]
    if len(rotating) != 1:
        raise ValueError(
            f"{name} must rotate keys or values once for them to be rotated anew; got {len(rotating)} that do. Keep "
            "keys as they are: key_cache(..., rotated=False)."
        )
    return rotating[0]


def _check_same_vectors(old: HeldEncoding, new: HeldEncoding) -> None:
    """Refuse to take a rotation of keys back by one of values, or the other way round."""
    if new.call_field != old.call_field:
        those = {"rotations": "keys", "value_rotations": "values"}
        raise ValueError(
            f"to must rotate {those[old.call_field]}, as encodings do; got {type(new.encoding).__name__}, which "
            f"rotates {those[new.call_field]}. Compute the cache again."
        )


def _operator(held: HeldEncoding, positions: Tensor) -> Operator:
    """Rotation of keys or values at their positions, with float64 tables."""
    role = held.encoding.roles[-1] if held.call_field == "rotations" else "value"
    params = None if held.params is None else {name: value.detach() for name, value in held.params.items()}
    operator: Operator = held.encoding.rotation(positions, params, role=role, dtype=torch.float64)
    return operator


@singledispatch
def composed(new: Operator, old: Operator) -> Operator:
    """Make one operator of `new` after the inverse of `old`.

    Args:
        new: Operator at the new positions.
        old: Operator that was applied.

    Returns:
        The operator, in the dtype of their tables.

    Raises:
        ValueError: The two do not rotate the same channels, differ in amplitude, or have no inverse.
    """
    raise ValueError(
        f"encodings must rotate pairs or blocks of channels, which can be taken back; got {type(new).__name__}. Keep "
        "keys as they are: key_cache(..., rotated=False)."
    )


@composed.register
def _(new: Rotation, old: Operator) -> Operator:
    if not isinstance(old, Rotation) or new.pairing != old.pairing or new.heads != old.heads:
        raise ValueError(
            f"to must rotate the pairs of channels of the cache, {getattr(old, 'pairing', old)!r}; got "
            f"{new.pairing!r}. Compute the cache again."
        )
    if new.factor is None or old.factor is None or new.factor != old.factor:
        raise ValueError(
            f"to must have the amplitude that the cache was rotated with, {_amplitude(old)}; got {_amplitude(new)}. "
            "Keep keys as they are, or compute the cache again."
        )
    square = old.cos * old.cos + old.sin * old.sin  # not quite factor², where tables are those of released models
    cosine = (new.cos * old.cos + new.sin * old.sin) / square
    sine = (new.sin * old.cos - new.cos * old.sin) / square
    return Rotation(cosine, sine, new.pairing, 1.0, new.heads)


@composed.register
def _(new: Rebased, old: Operator) -> Operator:
    if not isinstance(old, Rebased) or not torch.equal(new.basis, old.basis):
        raise ValueError("to must rotate in the space that the cache was rotated in; got another. Compute it again.")
    return Rebased(composed(new.rotation, old.rotation), new.basis)  # type: ignore[arg-type]


@composed.register
def _(new: Matrices, old: Operator) -> Operator:
    if not isinstance(old, Matrices) or new.matrix.shape != old.matrix.shape or new.heads != old.heads:
        raise ValueError("to must rotate the blocks that the cache was rotated in; got others. Compute it again.")
    return Matrices(new.matrix @ old.matrix.swapaxes(-1, -2), new.heads)


def _amplitude(rotation: Rotation) -> str:
    return "one that changes with the position" if rotation.factor is None else f"{rotation.factor:.6g}"


def _rotated(x: Tensor, step: Operator) -> Tensor:
    """Apply an operator of float64 tables, and round once.

    Keys of 32 bits are rotated in 64: a table rounded to float32 would be off by the same at each shift by the same
    distance, and the errors of n shifts would add up to n times as much, not to its root.
    """
    if isinstance(step, Rotation) and x.dtype in (torch.bfloat16, torch.float16):
        single = Rotation(step.cos.float(), step.sin.float(), step.pairing, 1.0, step.heads)
        return rotate_one(x, single, layout="bhtd")
    return step(x.double(), layout="bhtd").to(x.dtype)
