"""What attention is asked for, checked before any path is taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from posenc import _array, _check
from posenc.checked_attention import (
    Window,
    by_heads,
    check_causal,
    check_fits,
    check_inside,
    check_learns_nothing,
    check_mask_axes,
    checked_hidden,
    checked_window,
    documents_of_tokens,
    number_of_axes,
    token_positions,
)
from posenc.doors import Documents, Encoding
from posenc.torch.modules import Bias, Rotate, RotateValues, Score, module
from posenc.torch.plain_tensor import plain_tensor
from posenc.torch.record_module import RecordModule, on_same_device
from posenc.turn import Layout


@dataclass(frozen=True, eq=False)
class Arguments:
    """Attention as it is asked for: q, k and v as (batch, heads, tokens, width), and the encodings by their doors.

    window: how many keys before and after its own index a query sees, None for all.   mask: True where it may see a
    key, four axes that broadcast to (batch, heads, n, m), or None.   documents: those of the queries (batch or 1, n)
    and of the keys (batch or 1, m), or None.
    """

    q: Any
    k: Any
    v: Any
    query: Any
    key: Any
    rotations: tuple[Rotate, ...]
    value_rotations: tuple[RotateValues, ...]
    biases: tuple[Bias, ...]
    scores: tuple[Score, ...]
    causal: bool
    window: Window
    mask: Any
    documents: tuple[Any, Any] | None
    hidden: Any
    scale: float
    dropout: float

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
    def modules(self) -> tuple[RecordModule, ...]:
        return (*self.rotations, *self.value_rotations, *self.biases, *self.scores)

    @property
    def recorded(self) -> bool:
        """Whether autograd records what is computed."""
        tensors = (
            self.q,
            self.k,
            self.v,
            self.hidden,
            *(x for modules in self.modules for x in (modules.params or {}).values()),
        )
        return torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in tensors)


def collected(
    q: Any,
    k: Any,
    v: Any,
    *,
    query: Any,
    key: Any,
    encodings: Sequence[Encoding | RecordModule],
    layout: Layout,
    causal: bool,
    window: Window | None,
    mask: Any,
    documents: Documents,
    hidden: Any,
    scale: float | None,
    dropout: float,
) -> Arguments:
    """The arguments of `attention`, checked, or the TypeError or ValueError that names one of them."""
    _tensors(q, k, v)
    q, k, v = by_heads(q, k, v, layout)
    modules = _as_modules(encodings)
    records = [each.record for each in modules]
    axes, same = number_of_axes(records), query is key
    query = token_positions("query", on_same_device("query", query, q), q, axes)
    key = query if same and q.shape[2] == k.shape[2] else token_positions("key", on_same_device("key", key, k), k, axes)
    for each in modules:
        check_fits(each.record, q, v)
    return Arguments(
        q,
        k,
        v,
        query,
        key,
        tuple(each for each in modules if isinstance(each, Rotate)),
        tuple(each for each in modules if isinstance(each, RotateValues)),
        tuple(each for each in modules if isinstance(each, Bias)),
        tuple(each for each in modules if isinstance(each, Score)),
        check_causal(causal, q.shape[2], k.shape[2]),
        checked_window(window),
        _mask(mask, q, k),
        documents_of_tokens(documents, q, k),
        checked_hidden(hidden, records, q, k, torch.Tensor, "a tensor"),
        q.shape[-1] ** -0.5 if scale is None else _check.real("scale", scale, 0.0, 1e6, above=True),
        _check.real("dropout", dropout, 0.0, 1.0),
    )


def _tensors(q: Any, k: Any, v: Any) -> None:
    """Refuse what is no tensor, or of another dtype or device than q."""
    for name, x in (("q", q), ("k", k), ("v", v)):
        plain_tensor(name, x)
        if (x.dtype, x.device) != (q.dtype, q.device):
            raise ValueError(
                f"{name} must have the dtype and device of q, {_array.dtype_name(q.dtype)} on {q.device}; got "
                f"{_array.dtype_name(x.dtype)} on {x.device}. Convert it."
            )


def _as_modules(encodings: Any) -> tuple[Any, ...]:
    """The encodings as modules, in their order."""
    if not isinstance(encodings, list | tuple):
        raise TypeError(
            f"encodings must be a list of records and modules of posenc; got {_check.shown(encodings)}. "
            "Put it in a list."
        )
    modules = []
    for each in encodings:
        record = each.record if isinstance(each, RecordModule) else each
        check_inside(record, "posenc.torch.module(record)(x, positions)")
        if record is each:
            check_learns_nothing(record, "posenc.torch.module(record)")
        modules.append(module(record) if record is each else each)
    return tuple(modules)


def _mask(mask: Any, q: Any, k: Any) -> Any:
    if mask is None:
        return None
    _check.instance("mask", mask, torch.Tensor, "a tensor of truth values, True where a query may see a key")
    if mask.dtype != torch.bool or mask.device != q.device:
        raise TypeError(
            f"mask must hold truth values on {q.device}; got {_array.dtype_name(mask.dtype)} on {mask.device}. A bias "
            "belongs in encodings."
        )
    check_mask_axes(mask, q, k)
    return mask
