"""What attention is asked for, checked before any path is taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from posenc import _array, _check
from posenc.checked_content import of_documents
from posenc.checked_positions import checked
from posenc.doors import Adds, Documents, Encoding, Rotates, Scores
from posenc.torch.modules import Bias, Rotate, RotateValues, Score, module
from posenc.torch.record_module import Held, beside
from posenc.turn import LAYOUTS, Layout

Window = tuple[int | None, int | None]


@dataclass(frozen=True, eq=False)
class Arguments:
    """Attention as it is asked for: q, k and v as (batch, heads, tokens, width), and the encodings by their doors.

    window: how many keys before and after its own index a query sees, None for all.   mask: True where it may see a key,
    four axes that broadcast to (batch, heads, n, m), or None.   documents: those of the queries (batch or 1, n) and of the
    keys (batch or 1, m), or None.
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
    def modules(self) -> tuple[Held, ...]:
        return (*self.rotations, *self.value_rotations, *self.biases, *self.scores)

    @property
    def recorded(self) -> bool:
        """Whether autograd records what is computed."""
        tensors = (
            self.q,
            self.k,
            self.v,
            self.hidden,
            *(x for held in self.modules for x in (held.params or {}).values()),
        )
        return torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in tensors)


def collected(
    q: Any,
    k: Any,
    v: Any,
    *,
    query: Any,
    key: Any,
    encodings: Sequence[Encoding | Held],
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
    q, k, v = _by_heads(q, k, v, layout)
    held = _held(encodings)
    axes = _axes(held)
    same = query is key
    query = _positions("query", query, q, axes)
    key = query if same and q.shape[2] == k.shape[2] else _positions("key", key, k, axes)
    for each in held:
        _check_fits(each.record, q, v)
    scores = tuple(each for each in held if isinstance(each, Score))
    return Arguments(
        q,
        k,
        v,
        query,
        key,
        tuple(each for each in held if isinstance(each, Rotate)),
        tuple(each for each in held if isinstance(each, RotateValues)),
        tuple(each for each in held if isinstance(each, Bias)),
        scores,
        _causal(causal, q, k),
        _window(window),
        _mask(mask, q, k),
        _documents(documents, q, k),
        _hidden(hidden, scores, q, k),
        q.shape[-1] ** -0.5 if scale is None else _check.real("scale", scale, 0.0, 1e6, above=True),
        _dropout(dropout),
    )


def _by_heads(q: Any, k: Any, v: Any, layout: Layout) -> tuple[Any, Any, Any]:
    _check.choice("layout", layout, LAYOUTS)
    for name, x in (("q", q), ("k", k), ("v", v)):
        _check.instance(name, x, torch.Tensor, "a PyTorch tensor")
        if x.ndim != 4 or not x.is_floating_point():
            raise ValueError(
                f"{name} must hold floats with four axes, {layout!r}; got {_array.dtype_name(x.dtype)} of shape "
                f"{tuple(x.shape)}. Add the missing axes."
            )
        if (x.dtype, x.device) != (q.dtype, q.device):
            raise ValueError(
                f"{name} must have the dtype and device of q, {_array.dtype_name(q.dtype)} on {q.device}; got "
                f"{_array.dtype_name(x.dtype)} on {x.device}. Convert it."
            )
    if layout == "bthd":
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    if k.shape[:3] != v.shape[:3] or k.shape[0] != q.shape[0] or k.shape[3] != q.shape[3]:
        raise ValueError(
            f"k must have the batch and head width of q, and the heads and length of v; got {tuple(k.shape)} for q "
            f"{tuple(q.shape)} and v {tuple(v.shape)} (bhtd). Check the layout."
        )
    if not k.shape[1] or q.shape[1] % k.shape[1]:
        raise ValueError(
            f"k must have a number of heads that divides that of q, {q.shape[1]}; got {k.shape[1]}. Check the layout."
        )
    return q, k, v


def _held(encodings: Any) -> tuple[Any, ...]:
    """The encodings as modules, in their order."""
    if not isinstance(encodings, list | tuple):
        raise TypeError(
            f"encodings must be a list of records and modules of posenc; got {_check.shown(encodings)}. Put it in a list."
        )
    held = []
    for each in encodings:
        record = each.record if isinstance(each, Held) else each
        _check.instance("encodings", record, Encoding, "a list of records and modules of posenc")
        if isinstance(record, Adds):
            raise TypeError(
                f"encodings must act inside attention; got {type(record).__name__}, which adds to its input. Call "
                "posenc.torch.module(record)(x, positions) before attention."
            )
        if record is each and record.shapes:
            raise TypeError(
                f"encodings must hold the parameters of what is learned; got the record {record!r}, which learns "
                f"{sorted(record.shapes)}. Make posenc.torch.module(record) once, and give that."
            )
        held.append(module(record) if record is each else each)
    return tuple(held)


def _axes(held: tuple[Held, ...]) -> int:
    found = {each.record.axes for each in held}
    if len(found) > 1:
        raise ValueError(
            f"encodings must have one number of coordinates a position, which they share; got {sorted(found)}. Use records of one."
        )
    return found.pop() if found else 1


def _positions(name: str, positions: Any, x: Any, axes: int) -> Any:
    positions = checked(beside(name, positions, x), name).array
    row = (x.shape[2],) if axes == 1 else (x.shape[2], axes)
    if tuple(positions.shape) not in (row, (1, *row), (x.shape[0], *row)):
        raise ValueError(
            f"{name} must have shape {row} or {(x.shape[0], *row)}, a position for each token of "
            f"{'q' if name == 'query' else 'k'}; got {tuple(positions.shape)}. Give the positions of these tokens."
        )
    return positions


def _check_fits(record: Any, q: Any, v: Any) -> None:
    """Refuse a record that was made for other heads or another width."""
    heads = getattr(record, "heads", None)
    if heads is not None and heads != q.shape[1]:
        raise ValueError(
            f"encodings must have as many heads as q, {q.shape[1]}; got {record!r}. Build the record for these heads."
        )
    of_values = isinstance(record, Rotates) and "value" in record.roles
    width = record.head_dim if isinstance(record, Rotates) else getattr(record, "dim", None)
    x, name = (v, "v") if of_values else (q, "q")
    if isinstance(record, Rotates | Scores) and width is not None and width != x.shape[-1]:
        raise ValueError(
            f"encodings must have the head width of {name}, {x.shape[-1]}; got {record!r}. Build the record for this width."
        )


def _causal(causal: Any, q: Any, k: Any) -> bool:
    if _check.truth("causal", causal) and k.shape[2] < q.shape[2]:
        raise ValueError(
            f"causal needs at least as many keys as queries, {q.shape[2]}; got {k.shape[2]}. Give the keys of the cache too."
        )
    return bool(causal)


def _window(window: Any) -> Window:
    if window is None:
        return None, None
    if not isinstance(window, tuple | list) or len(window) != 2:
        raise TypeError(
            f"window must be (keys before, keys after), each a number or None; got {_check.shown(window)}. A sliding window of w "
            "keys that ends at the query is (w - 1, 0)."
        )
    before, after = (
        None if side is None else _check.integer(f"window[{index}]", side, 0, 2**53)
        for index, side in enumerate(window)
    )
    return before, after


def _mask(mask: Any, q: Any, k: Any) -> Any:
    if mask is None:
        return None
    _check.instance("mask", mask, torch.Tensor, "a tensor of truth values, True where a query may see a key")
    full = (q.shape[0], q.shape[1], q.shape[2], k.shape[2])
    if mask.dtype != torch.bool or mask.device != q.device:
        raise TypeError(
            f"mask must hold truth values on {q.device}; got {_array.dtype_name(mask.dtype)} on {mask.device}. A bias "
            "belongs in encodings."
        )
    if mask.ndim != 4 or any(own not in (1, whole) for own, whole in zip(mask.shape, full, strict=True)):
        raise ValueError(
            f"mask must have four axes that broadcast to (batch, heads, n, m), {full}; got {tuple(mask.shape)}. Padding of keys "
            "is mask[:, None, None, :]."
        )
    return mask


def _documents(documents: Documents, q: Any, k: Any) -> tuple[Any, Any] | None:
    """The documents of the queries and of the keys, two axes each."""
    if documents is None:
        return None
    library, both = _array.library(q), []
    found = of_documents(documents, *(checked(library.arange(int(x.shape[2]))) for x in (q, k)))
    for positions in found:
        numbers = beside("documents", positions.documents, q)
        numbers = numbers if numbers.ndim == 2 else numbers[None]
        if numbers.ndim != 2 or numbers.shape[0] not in (1, q.shape[0]):
            raise ValueError(
                f"documents must have one row, or one for each of {q.shape[0]} sequences; got shape {tuple(numbers.shape)}. Give "
                "the document of each token."
            )
        both.append(numbers)
    return both[0], both[1]


def _hidden(hidden: Any, scores: tuple[Score, ...], q: Any, k: Any) -> Any:
    """The inputs of the layer, for the records that read them; an error where none does, or none is given."""
    readers: list[Any] = [each.record for each in scores if each.record.reads is not None]
    if hidden is None:
        if readers:
            raise ValueError(
                f"hidden must hold the input of the layer for {type(readers[0]).__name__}; got None. Give the vectors that q and k "
                "are made of."
            )
        return None
    if not readers:
        raise ValueError(
            "hidden must be None where no encoding reads it; got a value. Leave it out, or check encodings."
        )
    _check.instance("hidden", hidden, torch.Tensor, "a PyTorch tensor")
    for record in readers:
        wanted = (q.shape[0], record.places_read(q.shape[2], k.shape[2]), record.model_dim)
        if tuple(hidden.shape) != wanted:
            raise ValueError(
                f"hidden must have shape {wanted} for {type(record).__name__}; got {tuple(hidden.shape)}. Give the vectors that q "
                "and k are made of."
            )
    return hidden


def _dropout(dropout: Any) -> float:
    return _check.real("dropout", dropout, 0.0, 1.0)
