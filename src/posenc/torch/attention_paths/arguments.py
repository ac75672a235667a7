"""What attention is asked for, checked before any path is taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from posenc.core import arrays, validation
from posenc.core.checked_attention import (
    Window,
    check_causal,
    check_fits,
    check_heads,
    check_inside,
    check_learns_nothing,
    check_list,
    check_mask_axes,
    checked_hidden,
    checked_scale,
    checked_vectors,
    checked_window,
    documents_of_tokens,
    guard_of_order,
    number_of_axes,
    token_positions,
)
from posenc.core.doors import AttentionScore, Documents, Encoding
from posenc.core.rotation import Layout
from posenc.torch.attention_paths.shared_bias import SharedBias, check_shared
from posenc.torch.modules.encoding_module import EncodingModule
from posenc.torch.modules.modules import Bias, Rotate, RotateValues, Score, module
from posenc.torch.tensor_arguments import check_alike, on_same_device


@dataclass(frozen=True, eq=False)
class Arguments:
    """Attention as it is asked for: q, k and v as (batch, heads, tokens, width), and the encodings by their doors.

    Args:
        shared: Biases that are matrices already.
        window: How many keys before and after its own index a query sees, None for all.
        mask: True where it may see a key, four axes that broadcast to (batch, heads, n, m), or None.
        documents: Those of the queries (batch or 1, n) and of the keys (batch or 1, m), or None.
        keys_rotated: Whether k and v come rotated.
        guard: What is added to the output, NaN where positions contradict a mask by index; None where they agree.
    """

    q: Any
    k: Any
    v: Any
    query_positions: Any
    key_positions: Any
    rotations: tuple[Rotate, ...]
    value_rotations: tuple[RotateValues, ...]
    biases: tuple[Bias, ...]
    shared: tuple[SharedBias, ...]
    scores: tuple[Score, ...]
    causal: bool
    window: Window
    mask: Any
    documents: tuple[Any, Any] | None
    hidden: Any
    scale: float
    dropout: float
    keys_rotated: bool
    guard: Any

    @property
    def queries(self) -> int:
        return int(self.q.shape[2])

    @property
    def keys(self) -> int:
        return int(self.k.shape[2])

    @property
    def hides(self) -> bool:
        """Whether some query may not see some key."""
        return (
            (self.causal and self.queries > 1)
            or self.window != (None, None)
            or self.mask is not None
            or self.documents is not None
        )

    @property
    def modules(self) -> tuple[EncodingModule, ...]:
        return (*self.rotations, *self.value_rotations, *self.biases, *self.scores)

    @property
    def recorded(self) -> bool:
        """Whether autograd records what is computed."""
        tensors = (
            self.q,
            self.k,
            self.v,
            self.hidden,
            *(each.matrix for each in self.shared),
            *(x for modules in self.modules for x in (modules.params or {}).values()),
        )
        return torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in tensors)


def collected(
    q: Any,
    k: Any,
    v: Any,
    *,
    query_positions: Any,
    key_positions: Any,
    encodings: Sequence[Encoding | EncodingModule | SharedBias],
    layout: Layout,
    causal: bool,
    window: Window | None,
    mask: Any,
    documents: Documents,
    hidden: Any,
    scale: float | None,
    dropout: float,
    keys_rotated: bool,
) -> Arguments:
    """The arguments of `attention`, checked, or the TypeError or ValueError that names one of them."""
    check_alike(q=q, k=k, v=v)
    q, k, v = checked_vectors(q, k, v, layout)
    modules, shared = as_modules(encodings)
    records = [each.encoding for each in modules]
    axes, same = (
        number_of_axes([*records, *(encoding for each in shared for encoding in each.encodings)]),
        query_positions is key_positions,
    )
    at = token_positions("query_positions", on_same_device("query_positions", query_positions, q), q, axes)
    to = (
        at
        if same and q.shape[2] == k.shape[2]
        else token_positions("key_positions", on_same_device("key_positions", key_positions, k), k, axes)
    )
    causal, window = check_causal(causal, q.shape[2], k.shape[2]), checked_window(window)
    stated = mask is not None or documents is not None
    for each in modules:
        check_fits(each.encoding, q, v)
    for each in shared:
        check_heads(each, q)
        check_shared(each, q, k, at.array, to.array, causal)
    return Arguments(
        q,
        k,
        v,
        at.array,
        to.array,
        tuple(each for each in modules if isinstance(each, Rotate)),
        tuple(each for each in modules if isinstance(each, RotateValues)),
        tuple(each for each in modules if isinstance(each, Bias)),
        shared,
        tuple(each for each in modules if isinstance(each, Score)),
        causal,
        window,
        _mask(mask, q, k),
        documents_of_tokens(documents, q, k),
        checked_hidden(hidden, records, q, k, torch.Tensor, "a tensor"),
        checked_scale(scale, q),
        validation.real("dropout", dropout, 0.0, 1.0),
        _keys_rotated(keys_rotated, records),
        guard_of_order(at, to, axes, causal=causal, window=window, stated=stated),
    )


def _keys_rotated(keys_rotated: Any, encodings: list[Any]) -> bool:
    scores = [encoding for encoding in encodings if isinstance(encoding, AttentionScore)]
    if validation.truth("keys_rotated", keys_rotated) and scores:
        raise ValueError(
            f"keys_rotated must be False for {type(scores[0]).__name__}, which reads keys as they are before any "
            "rotation; got True. Keep them so."
        )
    return bool(keys_rotated)


def as_modules(encodings: Any) -> tuple[tuple[Any, ...], tuple[SharedBias, ...]]:
    """The encodings as modules, in their order, and the biases that are made already."""
    check_list(encodings, "encodings and modules of posenc")
    modules, shared = [], tuple(each for each in encodings if isinstance(each, SharedBias))
    for each in encodings:
        if isinstance(each, SharedBias):
            continue
        encoding = each.encoding if isinstance(each, EncodingModule) else each
        check_inside(encoding, "posenc.torch.module(encoding)(x, positions)")
        if encoding is each:
            check_learns_nothing(encoding, "posenc.torch.module(encoding)")
        modules.append(module(encoding) if encoding is each else each)
    return tuple(modules), shared


def _mask(mask: Any, q: Any, k: Any) -> Any:
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
