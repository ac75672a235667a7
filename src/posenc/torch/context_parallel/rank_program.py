"""Attention of one rank: its queries against the keys of all, or all tokens with its heads."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from posenc.core.arrays import Array
from posenc.core.checked_attention import repeated
from posenc.encodings._wrapped import BiasOfSomeHeads, split_by_head
from posenc.positions.sequences import packed
from posenc.positions.shards import Sharding, TokenRun
from posenc.torch.attention_paths.arguments import AttentionArguments, HeldEncoding
from posenc.torch.attention_paths.attend import attended
from posenc.torch.attention_paths.attention_layer import rotate_keys
from posenc.torch.context_parallel.collectives import ExchangeRequest, GatherRequest, RankProgram, Request
from posenc.torch.modules.one_call import rotate_at


@dataclass(frozen=True, eq=False)
class RankCall:
    """Checked arguments of one rank, (batch, heads, its tokens, width).

    Args:
        positions: Those of its tokens, in the shape that `attention` takes; None for positions within documents.
        held: Encodings with their parameters.
        before: Keys before its own that a query sees, None for all; beside `causal` alone.
        axes: Coordinates of a position.
        hidden: Inputs of the layer at its tokens, or None.
    """

    q: Tensor
    k: Tensor
    v: Tensor
    sharding: Sharding
    rank: int
    positions: Array | None
    held: tuple[HeldEncoding, ...]
    causal: bool
    before: int | None
    scale: float
    hidden: Tensor | None
    axes: int

    @property
    def reads(self) -> str | None:
        """Tokens at which a score reads the layer's input: "query", "key" or "both"; None where none does."""
        return next((read for each in self.held if (read := getattr(each.encoding, "reads", None))), None)


def program_of_rank(call: RankCall) -> RankProgram:
    """Return the program of one rank: some heads of all tokens for "ulysses", else all heads of its own queries."""
    return _of_some_heads(call) if call.sharding.scheme == "ulysses" else _of_own_queries(call)


def _of_own_queries(call: RankCall) -> RankProgram:
    """Gather the keys and values of all ranks, and attend with the queries of this one."""
    sharding, at_keys = call.sharding, None
    early = _rotates_keys_first(call)
    vectors = call.k, call.v
    if early:  # each key once, and not again by every rank
        vectors = rotate_keys(*vectors, key_positions=_own_positions(call), encodings=list(call.held), layout="bhtd")
    k = sharding.unshard((yield GatherRequest(vectors[0])), axis=2)
    v = sharding.unshard((yield GatherRequest(vectors[1])), axis=2)
    if call.reads in ("key", "both") and call.hidden is not None:
        at_keys = sharding.unshard((yield GatherRequest(call.hidden)), axis=1)
    positions = yield from _positions_of_row(call)
    keys = RowOfKeys(k, v, positions, at_keys, early)
    at_queries = call.hidden if call.reads in ("query", "both") else None
    return _attended_runs(call, keys, at_queries, sharding.runs(call.rank))


def _rotates_keys_first(call: RankCall) -> bool:
    """Whether each rank can rotate its keys before they are gathered: no score reads them, and heads rotate alike."""
    doors = {each.call_field for each in call.held}
    own = (getattr(each.encoding, "heads", None) for each in call.held if "rotations" in each.call_field)
    return "scores" not in doors and bool(doors & {"rotations", "value_rotations"}) and not any(own)


@dataclass(frozen=True, eq=False)
class RowOfKeys:
    """Keys and values of all tokens, rotated or not, their positions, and the layer's input there where it is read."""

    k: Tensor
    v: Tensor
    positions: Tensor
    hidden: Tensor | None
    rotated: bool


def _attended_runs(call: RankCall, keys: RowOfKeys, at_queries: Tensor | None, runs: Sequence[TokenRun]) -> Tensor:
    """Attend with each run of consecutive queries by itself.

    The keys that a run sees end at its last token, so that masks by index hold as they are and none is written out.
    """
    parts: list[Tensor] = []
    done = 0
    for run in runs:
        own = slice(done, done + run.stop - run.start)
        seen = slice(run.document_start, run.stop if call.causal else run.document_stop)
        read = [x[:, some] for x, some in ((at_queries, own), (keys.hidden, seen)) if x is not None]
        given = AttentionArguments(
            call.q[:, :, own],
            keys.k[:, :, seen],
            keys.v[:, :, seen],
            _of_tokens(keys.positions, slice(run.start, run.stop), call.axes),
            _of_tokens(keys.positions, seen, call.axes),
            "bhtd",
            list(call.held),
            causal=call.causal,
            window=None if call.before is None else (call.before, 0),
            hidden=torch.cat(read, 1) if read else None,
            scale=call.scale,
            keys_rotated=keys.rotated,
        )
        parts.append(attended(given, "auto"))
        done = own.stop
    return torch.cat(parts, 2) if parts else call.q[..., :1] * keys.v[:, :1, :1]


def _of_some_heads(call: RankCall) -> RankProgram:
    """Exchange tokens for heads, attend with all tokens and some heads, and exchange back."""
    sharding, heads, rank = call.sharding, call.q.shape[1], call.rank
    own, several = sharding.heads(rank, heads), sharding.ranks
    early, inside = split_by_head(call.held)
    rotated = _rotated_before(call, early, inside) if early else call
    key_heads = rotated.k.shape[1]
    k, v = rotated.k, rotated.v
    if key_heads % several:
        k, v = repeated(k, heads), repeated(v, heads)
    whole = []
    for x in (rotated.q, k, v):
        parts = yield ExchangeRequest(x.unflatten(1, (several, -1)).unbind(1))
        whole.append(sharding.unshard(parts, axis=2))
    positions = yield from _positions_of_row(rotated)
    of_heads = replace(rotated, q=whole[0], held=tuple(_with_some_heads(each, own) for each in inside))
    documents = Sharding(sharding.lengths, ranks=1, scheme="contiguous", each_document=False).runs(0)
    output = _attended_runs(of_heads, RowOfKeys(whole[1], whole[2], positions, None, rotated=False), None, documents)
    back = yield ExchangeRequest([sharding.shard(output, other, axis=2) for other in range(several)])
    output = torch.cat(back, 1)
    for each in early[::-1]:
        if each.call_field == "value_rotations":
            output = rotate_at(each.encoding, each.params, output, _own_positions(call), "output", "bhtd")
    return output


def _rotated_before(call: RankCall, early: Sequence[HeldEncoding], inside: Sequence[HeldEncoding]) -> RankCall:
    """Apply rotations now, while this rank has all heads; those `inside` are applied inside attention."""
    q, k, v, positions = (
        call.q,
        repeated(call.k, call.q.shape[1]),
        repeated(call.v, call.q.shape[1]),
        _own_positions(call),
    )
    for each in early:
        if each.call_field == "value_rotations":
            v = rotate_at(each.encoding, each.params, v, positions, "value", "bhtd")
        else:
            q = rotate_at(each.encoding, each.params, q, positions, "query", "bhtd")
            k = rotate_at(each.encoding, each.params, k, positions, "key", "bhtd")
    left = {} if inside else {"positions": None, "axes": 1}  # nothing inside asks where tokens are
    return replace(call, q=q, k=k, v=v, held=tuple(inside), **left)  # type: ignore[arg-type]


def _with_some_heads(held: HeldEncoding, own: slice) -> HeldEncoding:
    """Restrict a bias to the heads of this rank; other encodings stay as they are."""
    if held.call_field != "biases":
        return held
    return replace(held, encoding=BiasOfSomeHeads(own.stop - own.start, held.encoding, own.start))


def _positions_of_row(call: RankCall) -> Generator[Request, list[Tensor], Tensor]:
    """Position of each token of the row: in its document, or as the ranks were given them."""
    if call.positions is None:
        return torch.from_numpy(packed(call.sharding.lengths)).to(call.q.device)  # type: ignore[arg-type]
    parts = yield GatherRequest(call.positions)
    return call.sharding.unshard(parts, axis=call.positions.ndim - min(call.axes, 2))


def _own_positions(call: RankCall) -> Tensor:
    """Positions of the tokens of this rank."""
    if call.positions is not None:
        return call.positions
    return torch.from_numpy(call.sharding.positions(call.rank)).to(call.q.device)


def _of_tokens(positions: Any, some: slice, axes: int) -> Any:
    """Positions of some tokens."""
    return positions[..., some, :] if axes > 1 else positions[..., some]
