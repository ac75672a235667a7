"""One call of the compiled kernel for tensors that nobody follows, as decoding makes for every layer.

Its operators take all as it is given and look at it themselves, before they write. What they do not take is looked at again,
more slowly, by those who can say what is wrong with it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from posenc.kernels import native, torch_decode
from posenc.torch.angles import Angles
from posenc.turn import Turn

IMPLS = ("auto", "native", "torch")
#: What a layout adds to `Pairing.form`, what caches in pages do, and how far left the number of heads of a table is.
LAYOUTS = {"bhtd": 0, "bthd": 2}
PAGED, HEADS = 4, 51
HEADS_AXIS = {"bhtd": 1, "bthd": 2}
#: What operators raise where they do not take something, and the names above where they do not know it.
UNFIT = (RuntimeError, TypeError, KeyError, OverflowError)
# Asked for once: looking a function up takes as long as many a check.
_compiling = torch.compiler.is_dynamo_compiling
_recording, _overridden = torch.is_grad_enabled, torch._C._is_torch_function_mode_enabled
_transformed = torch._C._are_functorch_transforms_active
_written = torch._C._increment_version
_rotate, _rotate_, _by_angles, _by_angles_, _into_cache_, _waves = map(
    native.operator,
    ("rotate", "rotate_", "rotate_by_angles", "rotate_by_angles_", "rotate_into_cache_", "waves"),
)


def rotated(q: Any, k: Any, turn: Any, layout: Any, impl: Any) -> Any:
    """q and k turned into new memory; None where that is left to others."""
    if _compiling() or impl not in IMPLS:
        return None
    if impl == "torch" or native.MISSING is not None:
        return torch_decode.into_new(q, k, turn, HEADS_AXIS[layout]) if _token(q, k, turn, layout, impl) else None
    try:
        if type(turn) is Turn:
            if _unfollowed(q, k, turn.cos, turn.sin):
                return _rotate(q, k, turn.cos, turn.sin, _form(turn) | LAYOUTS[layout])
        elif type(turn) is Angles and _unfollowed(q, k, turn.places, turn.rates):
            steady = turn.steady
            return _by_angles(q, k, turn.places, turn.rates, steady.factor, steady.pairing.form | LAYOUTS[layout])
    except UNFIT:
        pass
    return None


def rotated_(q: Any, k: Any, turn: Any, layout: Any, impl: Any) -> bool:
    """Whether q and k have been turned where they are."""
    if _compiling() or impl not in IMPLS:
        return False
    if impl == "torch" or native.MISSING is not None:
        if not (_token(q, k, turn, layout, impl) and _beyond(q, k)):
            return False
        torch_decode.in_place(q, k, turn, HEADS_AXIS[layout])
        return True
    try:
        if type(turn) is Turn:
            if not _unfollowed(q, k, turn.cos, turn.sin):
                return False
            _rotate_(q, k, turn.cos, turn.sin, _form(turn) | LAYOUTS[layout])
        elif type(turn) is Angles and _unfollowed(q, k, turn.places, turn.rates):
            steady = turn.steady
            _by_angles_(q, k, turn.places, turn.rates, steady.factor, steady.pairing.form | LAYOUTS[layout])
        else:
            return False
    except UNFIT:
        return False
    _written((q, k))
    return True


def rotated_into_cache_(turn: Any, slots: Any, layout: Any, paged: Any, impl: Any, tensors: tuple[Any, ...]) -> bool:
    """Whether q has been turned where it is, k into its cache, and v copied. tensors: q, k, v and both caches."""
    if native.MISSING is not None or _compiling() or impl not in IMPLS[:2] or type(paged) is not bool:
        return False
    q, k, v, k_cache, v_cache = tensors
    try:
        if type(turn) is Turn:
            cosine, sine, form = turn.cos, turn.sin, _form(turn)
        elif type(turn) is Angles and _unfollowed(q, k, turn.places, turn.rates):
            cosine, sine = _waves(turn.places, turn.rates, turn.steady.factor)
            form = turn.steady.pairing.form
        else:
            return False
        if not (_unfollowed(q, k, cosine, sine) and _unfollowed(v, slots, k_cache, v_cache)):
            return False
        form |= LAYOUTS[layout] | (PAGED if paged else 0)
        _into_cache_(q, k, v, cosine, sine, k_cache, v_cache, slots, form)
    except UNFIT:
        return False
    _written((q, k_cache, v_cache))
    return True


def _token(q: Any, k: Any, turn: Any, layout: Any, impl: Any) -> bool:
    """Whether plain PyTorch is to turn them, and they are one token a row that nobody follows."""
    return (
        impl != "native"
        and type(turn) is Turn
        and layout in ("bhtd", "bthd")
        and _unfollowed(q, k, turn.cos, turn.sin)
        and not _transformed()
        and torch_decode.fit(q, k, turn, HEADS_AXIS[layout])
    )


def _beyond(q: Any, k: Any) -> bool:
    """Whether each is a piece of memory of its own."""
    if not (q.is_contiguous() and k.is_contiguous()):
        return False
    apart = q.data_ptr() - k.data_ptr()
    return bool(apart >= k.nbytes or -apart >= q.nbytes)


def _form(turn: Turn) -> int:
    """The pairing as one number, and the heads of the tables where each turns in its own way."""
    return turn.pairing.form if turn.heads is None else turn.pairing.form | (turn.heads or -1) << HEADS


def _unfollowed(q: Any, k: Any, first: Any, second: Any) -> bool:
    """Whether all are tensors of PyTorch itself, and no gradient, derivative forward or mode has to know of them. Of tracers,
    transforms and modes of the dispatcher operators know by themselves."""
    return (
        type(q) is type(k) is type(first) is type(second) is Tensor
        and q.is_cpu
        and not (first.requires_grad or second.requires_grad)
        and not (_recording() and (q.requires_grad or k.requires_grad))
        and forward_ad._current_level < 0
        and not _overridden()
    )
