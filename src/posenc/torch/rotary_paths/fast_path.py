"""Single-call path for inference: no autograd, no tracing. Decoding takes it once for every layer.

The operators take tensors and tables in whatever layout and check them before they write. What they do not take goes
the slower, checked path, which says what is wrong with it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from posenc.core.rotation import Rotation
from posenc.kernels import native, plain_torch
from posenc.kernels.native import PACKED_LAYOUTS, PAGED, packed_form
from posenc.torch.rotary_paths.angles import Angles

IMPLS = ("auto", "native", "torch")
HEADS_AXIS = {"bhtd": 1, "bthd": 2}
#: What operators raise where they do not take something, and the names above where they do not know it.
UNSUPPORTED = (RuntimeError, TypeError, KeyError, OverflowError)
# Looked up once: a look-up takes as long as many a check.
_is_compiling = torch.compiler.is_dynamo_compiling
_is_inferring = torch.is_inference_mode_enabled
_is_recording, _has_function_mode = torch.is_grad_enabled, torch._C._is_torch_function_mode_enabled
_is_transforming = torch._C._are_functorch_transforms_active
_increment_version = torch._C._increment_version
_rotate, _rotate_, _by_angles, _by_angles_, _into_cache_, _cos_sin = map(
    native.operator,
    (
        "rotate_untraced",
        "rotate_untraced_",
        "rotate_by_angles_untraced",
        "rotate_by_angles_untraced_",
        "rotate_into_cache_untraced_",
        "cos_sin",
    ),
)


def rotate(q: Any, k: Any, rotation: Any, layout: Any, impl: Any) -> Any:
    """Rotate q and k into new memory; return None where `rotate_checked` must do it."""
    if _is_compiling() or type(impl) is not str or impl not in IMPLS:
        return None
    if impl == "torch" or native.MISSING is not None:
        fits = _fits_token(q, k, rotation, layout, impl)
        return plain_torch.rotate_token(q, k, rotation, HEADS_AXIS[layout]) if fits else None
    try:
        if type(rotation) is Rotation:
            if _is_untraced(q, k, rotation.cos, rotation.sin):
                return _rotate(
                    q,
                    k,
                    rotation.cos,
                    rotation.sin,
                    packed_form(rotation.pairing, rotation.heads) | PACKED_LAYOUTS[layout],
                )
        elif type(rotation) is Angles and _is_untraced(q, k, rotation.integer_positions, rotation.limbs):
            form = rotation.form | PACKED_LAYOUTS[layout]
            return _by_angles(q, k, rotation.integer_positions, rotation.limbs, rotation.fixed.factor, form)
    except UNSUPPORTED:
        pass
    return None


def rotate_one_untraced(x: Any, angles: Angles, layout: Any) -> Any:
    """Rotate x by angles into new memory; return None where the checked path must do it."""
    if native.MISSING is not None or layout not in HEADS_AXIS or x.ndim != 4:
        return None
    # The kernel rotates two tensors; a second one without heads costs nothing.
    no_heads = x[:, :0] if layout == "bhtd" else x[:, :, :0]
    both = rotate(x, no_heads, angles, layout, "native")
    return None if both is None else both[0]


def rotate_(q: Any, k: Any, rotation: Any, layout: Any, impl: Any) -> bool:
    """Rotate q and k in place where this path can, and return whether it did."""
    if _is_compiling() or type(impl) is not str or impl not in IMPLS:
        return False
    if impl == "torch" or native.MISSING is not None:
        if not (_fits_token(q, k, rotation, layout, impl) and _are_writable(q, k) and _are_separate(q, k)):
            return False
        plain_torch.rotate_token_in_place(q, k, rotation, HEADS_AXIS[layout])
        return True
    try:
        if type(rotation) is Rotation:
            if not (_is_untraced(q, k, rotation.cos, rotation.sin) and _are_writable(q, k)):
                return False
            _rotate_(
                q, k, rotation.cos, rotation.sin, packed_form(rotation.pairing, rotation.heads) | PACKED_LAYOUTS[layout]
            )
        elif (
            type(rotation) is Angles
            and _is_untraced(q, k, rotation.integer_positions, rotation.limbs)
            and _are_writable(q, k)
        ):
            form = rotation.form | PACKED_LAYOUTS[layout]
            _by_angles_(q, k, rotation.integer_positions, rotation.limbs, rotation.fixed.factor, form)
        else:
            return False
    except UNSUPPORTED:
        return False
    _increment_version((q, k))
    return True


def rotate_into_cache_(rotation: Any, slots: Any, layout: Any, paged: Any, impl: Any, tensors: tuple[Any, ...]) -> bool:
    """Rotate q, k and v of `tensors` (q, k, v, k_cache, v_cache) into place if this path can; return whether it did."""
    if (
        native.MISSING is not None
        or _is_compiling()
        or type(impl) is not str
        or impl not in IMPLS[:2]
        or type(paged) is not bool
    ):
        return False
    q, k, v, k_cache, v_cache = tensors
    try:
        if type(rotation) is Rotation:
            cosine, sine, form = rotation.cos, rotation.sin, packed_form(rotation.pairing, rotation.heads)
        elif type(rotation) is Angles and _is_untraced(q, k, rotation.integer_positions, rotation.limbs):
            cosine, sine = _cos_sin(rotation.integer_positions, rotation.limbs, rotation.fixed.factor)
            form = rotation.form
        else:
            return False
        tensors_are_plain = _is_untraced(q, k, cosine, sine) and _is_untraced(v, slots, k_cache, v_cache)
        if not (tensors_are_plain and _are_writable(q, k_cache, v_cache)):
            return False
        form |= PACKED_LAYOUTS[layout] | (PAGED if paged else 0)
        _into_cache_(q, k, v, cosine, sine, k_cache, v_cache, slots, form)
    except UNSUPPORTED:
        return False
    _increment_version((q, k_cache, v_cache))
    return True


def _fits_token(q: Any, k: Any, rotation: Any, layout: Any, impl: Any) -> bool:
    """Whether q and k are single untraced tokens that plain PyTorch rotates in few calls."""
    return (
        impl != "native"
        and type(rotation) is Rotation
        and layout in ("bhtd", "bthd")
        and _is_untraced(q, k, rotation.cos, rotation.sin)
        and not _is_transforming()
        and plain_torch.fits_token(q, k, rotation, HEADS_AXIS[layout])
    )


def _are_writable(*tensors: Any) -> bool:
    """Whether PyTorch lets these be written: outside inference mode, inference tensors cannot be."""
    return _is_inferring() or not any(x.is_inference() for x in tensors)


def _are_separate(q: Any, k: Any) -> bool:
    """Whether q and k are contiguous, hold their values in memory, and do not overlap."""
    if not all(x.is_contiguous() and not x.is_neg() and not x._is_zerotensor() for x in (q, k)):
        return False
    distance = q.data_ptr() - k.data_ptr()
    return bool(distance >= k.nbytes or -distance >= q.nbytes)


def _is_untraced(q: Any, k: Any, first: Any, second: Any) -> bool:
    """Whether all are plain tensors, q on the CPU, that no autograd, forward mode or function mode must record."""
    return (
        type(q) is type(k) is type(first) is type(second) is Tensor
        and q.is_cpu
        and not (first.requires_grad or second.requires_grad)
        and not (_is_recording() and (q.requires_grad or k.requires_grad))
        and forward_ad._current_level < 0
        and not _has_function_mode()
    )
