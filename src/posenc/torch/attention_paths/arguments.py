"""Arguments of attention, checked before any path is taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.checked_attention import (
    Window,
    check_causal,
    check_fits,
    check_head_count,
    check_inside,
    check_learns_nothing,
    check_list,
    check_mask_axes,
    checked_hidden,
    checked_keys_rotated,
    checked_scale,
    checked_vectors,
    checked_window,
    documents_of_tokens,
    needed_order_guard,
    number_of_axes,
    token_positions,
)
from posenc.core.checked_positions import Positions
from posenc.core.doors import AttentionBias, Documents, Params, RotaryEncoding
from posenc.core.rotation import Layout
from posenc.torch.attention_paths.shared_bias import SharedBias, check_shared
from posenc.torch.modules.encoding_module import EncodingModule
from posenc.torch.tensor_arguments import check_alike, on_same_device


@dataclass(frozen=True, eq=False)
class AttentionArguments:
    """Arguments of `attention` as they are given, before any check.

    Args:
        q: Queries, in `layout`.
        k: Keys, in `layout`.
        v: Values, in `layout`.
        query_positions: Positions of the queries.
        key_positions: Positions of the keys.
        layout: Order of the axes.
        encodings: Encodings that act inside attention, modules, and shared biases.
        causal: Whether a query sees no key behind its own index.
        window: Keys before and after its own index that a query sees.
        sliding_window: Keys that a query sees up to its own, which counts.
        mask: True where a query may see a key.
        documents: Document numbers of the queries and of the keys.
        hidden: Inputs of the layer, for encodings that read them.
        scale: Factor of the products; 1/√d for None.
        dropout: Share of weights that is dropped.
        keys_rotated: Whether k and v come from `rotate_keys`.
    """

    q: Array
    k: Array
    v: Array
    query_positions: Array
    key_positions: Array
    layout: Layout
    encodings: Sequence[Any] = ()
    causal: bool = False
    window: Window | None = None
    sliding_window: int | None = None
    mask: Array | None = None
    documents: Documents = None
    hidden: Array | None = None
    scale: float | None = None
    dropout: float = 0.0
    keys_rotated: bool = False


@dataclass(frozen=True, eq=False)
class HeldEncoding:
    """An encoding of attention, and its parameters, None where nothing is learned."""

    encoding: Any
    params: Params | None

    @property
    def call_field(self) -> str:
        """Name of the `AttentionCall` field for it: "rotations", "value_rotations", "biases" or "scores"."""
        if isinstance(self.encoding, RotaryEncoding):
            return "value_rotations" if "value" in self.encoding.roles else "rotations"
        return "biases" if isinstance(self.encoding, AttentionBias) else "scores"


@dataclass(frozen=True, eq=False)
class AttentionCall:
    """Checked arguments of attention: q, k and v as (batch, heads, tokens, width), and the encodings by their doors.

    Args:
        query: Positions of the queries, checked, with their bounds; `query_positions` is their tensor.
        key: Those of the keys.
        shared: Biases that are matrices already.
        window: How many keys before and after its own index a query sees, None for all.
        mask: True where it may see a key, four axes that broadcast to (batch, heads, n, m), or None.
        documents: Those of the queries (batch or 1, n) and of the keys (batch or 1, m), or None.
        keys_rotated: Whether k and v come rotated.
        guard: What is added to the output, NaN where positions contradict a mask by index; None where they agree.
        queries: How many tokens q has.
        keys: How many tokens k and v have.
    """

    q: Any
    k: Any
    v: Any
    query: Positions
    key: Positions
    rotations: tuple[HeldEncoding, ...]
    value_rotations: tuple[HeldEncoding, ...]
    biases: tuple[HeldEncoding, ...]
    scores: tuple[HeldEncoding, ...]
    shared: tuple[SharedBias, ...]
    causal: bool
    window: Window
    mask: Any
    documents: tuple[Any, Any] | None
    hidden: Any
    scale: float
    dropout: float
    keys_rotated: bool
    guard: Any
    queries: int
    keys: int

    @property
    def query_positions(self) -> Any:
        """Positions of the queries."""
        return self.query.array

    @property
    def key_positions(self) -> Any:
        """Positions of the keys."""
        return self.key.array

    @property
    def hides(self) -> bool:
        """Whether some query may not see some key."""
        by_index = (self.causal and self.queries > 1) or self.window != (None, None)
        return by_index or self.mask is not None or self.documents is not None

    @property
    def held(self) -> tuple[HeldEncoding, ...]:
        """The encodings of all doors."""
        return (*self.rotations, *self.value_rotations, *self.biases, *self.scores)

    @property
    def recorded(self) -> bool:
        """Whether autograd records what is computed."""
        if not torch.is_grad_enabled():
            return False
        learned = (x for each in self.held for x in (each.params or {}).values())
        tensors = (self.q, self.k, self.v, self.hidden, *(each.matrix for each in self.shared), *learned)
        return any(x is not None and x.requires_grad for x in tensors)


def attention_call(given: AttentionArguments) -> AttentionCall:
    """Check the arguments of `attention`; raise a TypeError or ValueError that names the wrong one."""
    check_alike(q=given.q, k=given.k, v=given.v)
    q, k, v = checked_vectors(given.q, given.k, given.v, given.layout)
    held, shared = held_encodings(given.encodings)
    encodings = [each.encoding for each in held]
    axes = number_of_axes([*encodings, *(encoding for each in shared for encoding in each.encodings)])
    at, to = _checked_positions(given, q, k, axes)
    causal = check_causal(given.causal, q.shape[2], k.shape[2])
    window = checked_window(given.window, given.sliding_window, causal=causal)
    documents = documents_of_tokens(given.documents, q, k)
    for encoding in encodings:
        check_fits(encoding, q, v)
    for each in shared:
        check_head_count(each, q)
        check_shared(each, q, k, at.array, to.array, causal)
    doors: dict[str, list[HeldEncoding]] = {door: [] for door in ("rotations", "value_rotations", "biases", "scores")}
    for one in held:
        doors[one.call_field].append(one)
    return AttentionCall(
        q,
        k,
        v,
        at,
        to,
        **{door: tuple(found) for door, found in doors.items()},
        shared=shared,
        causal=causal,
        window=window,
        mask=tensor_mask(given.mask, q, k),
        documents=documents,
        hidden=checked_hidden(given.hidden, encodings, q, k, torch.Tensor, "a tensor"),
        scale=checked_scale(given.scale, q),
        dropout=validation.real("dropout", given.dropout, 0.0, 1.0),
        keys_rotated=checked_keys_rotated(given.keys_rotated, encodings),
        guard=needed_order_guard(
            at, to, axes, causal=causal, window=window, masked=given.mask is not None, documents=documents
        ),
        queries=q.shape[2],
        keys=k.shape[2],
    )


def _checked_positions(given: AttentionArguments, q: Any, k: Any, axes: int) -> tuple[Positions, Positions]:
    """Positions of the queries and of the keys; one tensor for both is checked once."""
    at = token_positions("query_positions", on_same_device("query_positions", given.query_positions, q), q, axes)
    if given.key_positions is given.query_positions and q.shape[2] == k.shape[2]:
        return at, at
    return at, token_positions("key_positions", on_same_device("key_positions", given.key_positions, k), k, axes)


def held_encodings(encodings: Any) -> tuple[tuple[HeldEncoding, ...], tuple[SharedBias, ...]]:
    """Split a list of encodings, modules and shared biases into encodings with parameters, and shared biases."""
    check_list(encodings, "encodings and modules of posenc")
    held, shared = [], []
    for each in encodings:
        if isinstance(each, SharedBias):
            shared.append(each)
            continue
        if isinstance(each, HeldEncoding):
            held.append(each)
            continue
        encoding = each.encoding if isinstance(each, EncodingModule) else each
        check_inside(encoding, "posenc.torch.module(encoding)(x, positions)")
        if encoding is each:
            check_learns_nothing(encoding, "posenc.torch.module(encoding)")
        held.append(HeldEncoding(encoding, None if encoding is each else each.params))
    return tuple(held), tuple(shared)


def tensor_mask(mask: Any, q: Any, k: Any) -> Any:
    """A mask, checked against queries and the keys or values that it hides; None where none is given."""
    if mask is None:
        return None
    validation.instance("mask", mask, torch.Tensor, "a tensor of truth values, True where a query may see a key")
    if mask.dtype != torch.bool or mask.device != q.device:
        raise TypeError(
            f"mask must hold truth values on {q.device}; got {arrays.dtype_name(mask.dtype)} on {mask.device}. A bias "
            "belongs in encodings."
        )
    check_mask_axes(mask, q, k)
    return mask
