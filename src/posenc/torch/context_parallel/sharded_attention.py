"""Entry points to attention over a sequence that ranks share: on a process group, and simulated in one process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor
from torch import distributed as dist

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.checked_attention import (
    Window,
    check_fits,
    check_heads_suffice,
    checked_hidden,
    checked_scale,
    checked_vectors,
    checked_window,
    number_of_axes,
    token_positions,
)
from posenc.core.doors import AttentionScore, Encoding
from posenc.core.rotation import Layout
from posenc.positions.shards import Sharding
from posenc.torch.attention_paths.arguments import HeldEncoding, held_encodings
from posenc.torch.context_parallel.collectives import run_on_group, run_together
from posenc.torch.context_parallel.rank_program import RankCall, program_of_rank
from posenc.torch.modules.encoding_module import EncodingModule
from posenc.torch.tensor_arguments import check_alike, on_same_device


@dataclass(frozen=True, eq=False)
class _Given:
    """Arguments that all ranks are given alike."""

    sharding: Sharding
    encodings: Sequence[Encoding | EncodingModule]
    causal: bool
    window: Window | None
    sliding_window: int | None
    scale: float | None


def sharded_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    sharding: Sharding,
    layout: Layout,
    encodings: Sequence[Encoding | EncodingModule] = (),
    positions: Array | None = None,
    causal: bool = False,
    window: Window | None = None,
    sliding_window: int | None = None,
    hidden: Array | None = None,
    scale: float | None = None,
    group: Any = None,
) -> Tensor:
    """Attend over a row of tokens that the ranks of a process group share, each with its own tokens.

    With "contiguous" and "zigzag" every rank gathers the keys and values of all, which any encoding allows, and attends
    with its own queries; with "ulysses" ranks exchange tokens for heads and back. Gradients go the way back. Those of
    learned parameters are each rank's share: add them up over the group, as gradients of the model's weights.

    Args:
        q: Queries of this rank's tokens, (batch, heads, tokens / ranks, d) for layout "bhtd".
        k: Keys of this rank's tokens, (batch, key heads, tokens / ranks, d).
        v: Values of this rank's tokens.
        sharding: Division of the row among as many ranks as the group has.
        layout: Order of the axes of q, k and v, "bhtd" or "bthd".
        encodings: As for `attention`.
        positions: Of this rank's tokens, (tokens / ranks,) or (batch, tokens / ranks), with a last axis of coordinates
            for encodings that have several; None for positions that begin at 0 in each document.
        causal: Whether a query sees no token behind it. It never sees another document.
        window: As for `attention`, beside `causal=True` alone.
        sliding_window: As for `attention`.
        hidden: Inputs of the layer at this rank's tokens, (batch, tokens / ranks, model_dim), for encodings that read
            them.
        scale: As for `attention`.
        group: Process group of torch.distributed; None for the default one.

    Returns:
        The output for this rank's tokens, in the dtype and the layout of q.

    Raises:
        TypeError: As for `attention`.
        ValueError: As for `attention`; or the group has another number of ranks than `sharding`, tensors have another
            number of tokens, or an encoding needs all heads at once where ranks have some.

    References:
        Gathered keys: Dubey et al. 2024, arXiv:2407.21783, §3.3.2. Ulysses: Jacobs et al. 2023, arXiv:2309.14509.
    """
    validation.instance("sharding", sharding, Sharding, "a Sharding of posenc.positions")
    if not dist.is_initialized():
        raise ValueError(
            "group must be a process group of torch.distributed; got none, since init_process_group was not called. "
            "Start the ranks with torchrun, or use simulated_attention in one process."
        )
    if group is not None:
        validation.instance("group", group, dist.ProcessGroup, "a process group of torch.distributed, or None")
    ranks = dist.get_world_size(group)
    if ranks != sharding.ranks:
        raise ValueError(
            f"group must have as many ranks as sharding, {sharding.ranks}; got {ranks}. Make the sharding for this "
            "group."
        )
    given = _Given(sharding, encodings, causal, window, sliding_window, scale)
    call = _attention_call(given, dist.get_rank(group), (q, k, v), positions, hidden, layout)
    output = run_on_group(program_of_rank(call), group)
    return output if layout == "bhtd" else output.transpose(1, 2)


def simulated_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    sharding: Sharding,
    layout: Layout,
    encodings: Sequence[Encoding | EncodingModule] = (),
    positions: Array | None = None,
    causal: bool = False,
    window: Window | None = None,
    sliding_window: int | None = None,
    hidden: Array | None = None,
    scale: float | None = None,
) -> Tensor:
    """Attend as `sharded_attention` does, with any number of ranks in one process, and put the outputs together.

    Each rank runs the program that it runs on a process group; the exchanges are made in memory, and gradients flow
    through them. So an encoding, a sharding and a model can be tried without a second process.

    Args:
        q: Queries of the whole row, (batch, heads, tokens, d) for layout "bhtd".
        k: Keys of the whole row.
        v: Values of the whole row.
        sharding: As for `sharded_attention`, for any number of ranks.
        layout: As for `sharded_attention`.
        encodings: As for `sharded_attention`.
        positions: Of all tokens of the row; None for positions that begin at 0 in each document.
        causal: As for `sharded_attention`.
        window: As for `sharded_attention`.
        sliding_window: As for `sharded_attention`.
        hidden: Inputs of the layer at all tokens.
        scale: As for `sharded_attention`.

    Returns:
        The output for the whole row, in the dtype and the layout of q.

    Raises:
        TypeError: As for `sharded_attention`.
        ValueError: As for `sharded_attention`.

    Example:
        >>> import torch
        >>> from posenc import RoPE
        >>> from posenc.positions import Sharding
        >>> from posenc.torch import attention
        >>> q, k, at = torch.randn(1, 4, 16, 8), torch.randn(1, 2, 16, 8), torch.arange(16)
        >>> options = {"encodings": [RoPE(dim=8)], "causal": True, "layout": "bhtd"}
        >>> shared = simulated_attention(q, k, k, sharding=Sharding(16, ranks=4, scheme="zigzag"), **options)
        >>> torch.allclose(shared, attention(q, k, k, query_positions=at, key_positions=at, **options), atol=1e-6)
        True
    """
    validation.instance("sharding", sharding, Sharding, "a Sharding of posenc.positions")
    given = _Given(sharding, encodings, causal, window, sliding_window, scale)
    row = replace(sharding, ranks=1, scheme="contiguous")
    whole = _attention_call(replace(given, sharding=row), 0, (q, k, v), positions, hidden, layout)
    tokens, axes, positions = 2 if layout == "bhtd" else 1, whole.axes, whole.positions
    programs = []
    for rank in range(sharding.ranks):
        vectors = sharding.shard(q, rank, axis=tokens), sharding.shard(k, rank, axis=tokens)
        placed = None if positions is None else sharding.shard(positions, rank, axis=-1 if axes == 1 else -2)
        read = None if hidden is None else sharding.shard(hidden, rank, axis=1)
        call = _attention_call(given, rank, (*vectors, sharding.shard(v, rank, axis=tokens)), placed, read, layout)
        programs.append(program_of_rank(call))
    output = sharding.unshard(run_together(programs), axis=2)
    return output if layout == "bhtd" else output.transpose(1, 2)


def _attention_call(
    given: _Given, rank: int, vectors: tuple[Tensor, Tensor, Tensor], positions: Any, hidden: Any, layout: Layout
) -> RankCall:
    """Arguments of a rank, checked before anything is exchanged, so that a mistake stops every rank at once."""
    sharding = given.sharding
    check_alike(**dict(zip("qkv", vectors, strict=True)))
    q, k, v = checked_vectors(*vectors, layout)
    for name, x in (("q", q), ("k", k)):
        if x.shape[2] != sharding.tokens_of_rank:
            what, advice = f"{sharding.tokens} tokens, as sharding has", "Make the sharding for this row"
            if sharding.ranks > 1:
                what = f"the tokens of one rank, {sharding.tokens_of_rank} of {sharding.tokens}"
                advice = f"Give those at sharding.indices({rank})"
            raise ValueError(f"{name} must have {what}; got {x.shape[2]} ({layout}). {advice}.")
    held, shared = held_encodings(given.encodings)
    if shared:
        raise TypeError("encodings must be encodings and modules of one; got a shared bias, which is a whole matrix.")
    encodings = [each.encoding for each in held]
    axes = number_of_axes(encodings)
    for encoding in encodings:
        check_fits(encoding, q, v)
    before, after = checked_window(given.window, given.sliding_window, causal=validation.truth("causal", given.causal))
    if not given.causal and (before, after) != (None, None):
        raise ValueError(
            f"window must stand beside causal=True where ranks share the row; got {given.window!r} with causal=False."
        )
    if axes > 1 and positions is None:
        raise ValueError(f"positions must be given for encodings of {axes} coordinates; got None. Give those of q.")
    if positions is not None:
        positions = token_positions("positions", on_same_device("positions", positions, q), q, axes).array
    _check_heads(held, sharding, q)
    return RankCall(
        q,
        k,
        v,
        sharding,
        rank,
        positions,
        held,
        given.causal,
        before,
        checked_scale(given.scale, q),
        _own_hidden(hidden, encodings, q),
        axes,
    )


def _own_hidden(hidden: Any, encodings: Sequence[Encoding], q: Tensor) -> Any:
    """Check the layer's inputs at the tokens of a rank, which serve both its queries and its keys."""
    both = any(getattr(encoding, "reads", None) == "both" for encoding in encodings)
    if hidden is not None and both and getattr(hidden, "ndim", 0) == 3:
        checked_hidden(hidden.repeat(1, 2, 1), encodings, q, q, Tensor, "a tensor")
        return hidden
    return checked_hidden(hidden, encodings, q, q, Tensor, "a tensor")


def _check_heads(held: Sequence[HeldEncoding], sharding: Sharding, q: Tensor) -> None:
    """Refuse, under "ulysses", encodings that need all heads at once."""
    if sharding.scheme != "ulysses":
        return
    sharding.heads(0, q.shape[1])
    scores = [each.encoding for each in held if isinstance(each.encoding, AttentionScore)]
    own = [each.encoding for each in held if each.call_field == "rotations" and getattr(each.encoding, "heads", None)]
    check_heads_suffice(scores, own, q.shape[1] // sharding.ranks, q.shape[1])
