"""Calls of modules: make the rotation or table of the positions, and apply it to the vectors, in one step.

Modules make the rotation or the table on the way, by the compiled kernel where it can. Where many layers share
positions, `posenc.torch.rotation` once and `rotate` in each layer do less.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch.autograd import forward_ad

from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import LARGEST_POSITION, Positions, checked
from posenc.core.doors import AdditiveEncoding, Params, Role, RotaryEncoding, fits_batch
from posenc.core.rotation import Layout, Operator, Rotation
from posenc.kernels import native, native_embedding
from posenc.phase import FixedFrequencies, fixed_frequencies_of, fixed_sinusoids_of, frequency_limbs
from posenc.torch.modules.learned_operator import with_operator
from posenc.torch.modules.vector_table import table
from posenc.torch.rotary_paths import fast_path
from posenc.torch.rotary_paths.angles import Angles, rotation
from posenc.torch.rotary_paths.apply_rotation import rotate, rotate_checked, rotate_one

#: Numbers of a table that is remembered, at most, and how many positions it has at least: a few are made as fast.
REMEMBERED, MANY = 1 << 22, 32
#: The argument that holds the positions of vectors, by their role.
POSITIONS_OF = dict.fromkeys(("query", "output"), "query_positions") | dict.fromkeys(("key", "value"), "key_positions")


@dataclass(frozen=True, eq=False)
class _RotaryFacts:
    """Kernel inputs that depend on a rotary encoding alone, cached: making them takes longer than rotating a token."""

    fixed: FixedFrequencies
    limbs: np.ndarray
    form: int


def rotate_at(
    encoding: RotaryEncoding, params: Params | None, x: Array, positions: Array | Positions, role: Role, layout: Layout
) -> Array:
    """Rotate x at its positions, as `encoding.rotation(positions, params, role=role)` does."""
    by = _kernel_angles(encoding, params, x, positions, POSITIONS_OF.get(role, "positions"))
    if by is not None:
        rotated = fast_path.rotate_one_untraced(x, by, layout)
        return rotate_one(x, by.compiled_rotation(), layout=layout) if rotated is None else rotated
    operator = rotation_at(encoding, params, x, _plain(positions), role)
    return operator(x, layout=layout) if _is_traced() else rotate_one(x, operator, layout=layout)


def rotate_pair_at(
    encoding: RotaryEncoding, params: Params | None, q: Array, k: Array, positions: Array | Positions, layout: Layout
) -> tuple[Array, Array]:
    """Rotate q and k at positions that they share, by one rotation where it does not depend on the role."""
    same_type = q.dtype == k.dtype and q.device == k.device
    by = _kernel_angles(encoding, params, q, positions, "query_positions") if same_type else None
    if by is not None:
        both: tuple[Array, Array] | None = fast_path.rotate(q, k, by, layout, "auto")
        return rotate_checked(q, k, by, layout, "auto") if both is None else both
    if not same_type or not one_rotation_serves(encoding):
        rotated = rotate_at(encoding, params, q, positions, "query", layout)
        return rotated, rotate_at(encoding, params, k, positions, "key", layout)
    operator = rotation_at(encoding, params, q, _plain(positions), "both")
    if type(operator) is Rotation and not _is_traced():
        return rotate(q, k, operator, layout=layout)
    return operator(q, layout=layout), operator(k, layout=layout)


def _plain(positions: Array | Positions) -> Array:
    """Tensor of positions, whether these are a plain tensor or a checked `Positions`."""
    return positions.array if isinstance(positions, Positions) else positions


def _kernel_angles(
    encoding: RotaryEncoding, params: Params | None, x: Array, positions: Array | Positions, name: str
) -> Angles | None:
    """Angles, if the compiled kernel can make cosines and sines as it rotates; None if a rotation must be made first.

    A rotation is made first in traced or compiled programs, without a kernel, and for other positions than int64.
    """
    if native.MISSING is not None or params is not None or torch.compiler.is_dynamo_compiling():
        return None
    in_range = isinstance(positions, Positions) and positions.bounds is not None
    positions = _plain(positions)
    if type(positions) is not torch.Tensor or positions.dtype is not torch.int64 or not positions.is_cpu:
        return None
    if x.dtype not in native.DTYPES or torch._C._get_tracing_state() or torch._C._are_functorch_transforms_active():
        return None
    facts = _facts(encoding)
    if facts is None or not positions.numel():
        return None
    if not in_range and max(-positions.min().item(), positions.max().item()) > LARGEST_POSITION:
        checked(positions, name)  # raises the error that names them
    rows = positions[None, ..., None] if positions.ndim == 1 else positions[..., None]
    # Autograd keeps positions for backward: a copy, since the next step may write to these.
    rows = rows.clone() if torch.is_grad_enabled() else rows.contiguous()
    return Angles(encoding, facts.fixed, positions, rows, torch.from_numpy(facts.limbs), None, facts.form)


def _facts(encoding: RotaryEncoding) -> _RotaryFacts | None:
    """Cached facts of an encoding of one coordinate that rotates queries and keys alike; None for others."""
    try:
        return _remembered_facts(encoding)
    except TypeError:  # an encoding of a user with a field that has no hash
        return None


@lru_cache(maxsize=256)
def _remembered_facts(encoding: RotaryEncoding) -> _RotaryFacts | None:
    fixed = fixed_frequencies_of(encoding)
    if fixed is None or encoding.axes > 1 or not one_rotation_serves(encoding):
        return None
    return _RotaryFacts(fixed, frequency_limbs(fixed), native.packed_form(fixed.pairing))


@arrays.host
def one_rotation_serves(encoding: RotaryEncoding) -> bool:
    """Whether neither the encoding nor one inside it treats queries and keys differently."""
    inside = (value for value in vars(encoding).values() if isinstance(value, RotaryEncoding))
    return not encoding.roles_differ and all(map(one_rotation_serves, inside))


#: Sums of fewer numbers are never too large.
MOST_NUMBERS = validation.LARGEST_BYTES // 8


def add_at(encoding: AdditiveEncoding, params: Params | None, x: Array, positions: Array) -> Array:
    """Return `encoding.attach(x, positions, params)`, with a table and a fast sum where the encoding is sinusoidal."""
    wide = arrays.library(x).wide_dtype(x.dtype)
    ready = (
        fixed_sinusoids_of(encoding) is not None
        and type(encoding).attach is AdditiveEncoding.attach
        and wide == torch.float32
    )
    # Shapes are compared last: a tracer would make each comparison a condition of its program.
    if ready and not _is_traced() and positions.ndim and _fits(encoding, x, positions):
        if x.numel() > MOST_NUMBERS:
            arrays.library(x).check_size("x", x.numel(), x.dtype, x)
        return native_embedding.add(x, _table_at(encoding, params, positions))
    return encoding.attach(x, positions, params)


def _fits(encoding: AdditiveEncoding, x: Array, positions: Array) -> bool:
    """Whether x (*batch, n, width) has a vector for each of the positions, (n,) or (batch, n)."""
    alike = x.shape[-2:] == (positions.shape[-1], encoding.width)
    return alike and fits_batch(x.shape[:-2], positions.shape[:-1])


def rotation_at(encoding: RotaryEncoding, params: Params | None, x: Array, positions: Array, role: Role) -> Operator:
    """Make the rotation of these positions, in float64 for float64 x, else in float32."""
    wide = arrays.library(x).wide_dtype(x.dtype)
    if fixed_frequencies_of(encoding) is None or _is_traced():
        one_operator = torch.compiler.is_compiling() and positions.is_cpu and encoding.shapes and not _is_traced()
        at = with_operator(positions) if one_operator else positions
        return encoding.rotation(at, params, role=role, dtype=wide)
    return rotation(encoding, positions, params, role=role, dtype=wide)


def _table_at(encoding: AdditiveEncoding, params: Params | None, positions: Array) -> Array:
    """Table of these positions; 1-D int64 ones on the CPU are remembered, as steps mostly repeat them."""
    count = positions.shape[-1]
    plain = (
        not torch.compiler.is_compiling()
        and type(positions) is torch.Tensor
        and positions.is_cpu
        and positions.dtype == torch.int64
    )
    if plain and positions.ndim == 1 and count >= MANY and count * encoding.width <= REMEMBERED and params is None:
        return _remembered(encoding, positions.numpy().tobytes())
    return table(encoding, positions, params)


@lru_cache(maxsize=4)
def _remembered(encoding: AdditiveEncoding, positions: bytes) -> Array:
    with torch.inference_mode(False):  # a table of inference mode would be refused outside of it
        return table(encoding, torch.frombuffer(bytearray(positions), dtype=torch.int64))


def _is_traced() -> bool:
    """Whether a program is exported, traced or transformed, so that only PyTorch's own operators may run.

    Programs that are exported run without posenc, and transforms of functions see through PyTorch's own operators
    alone.
    """
    tracing = torch.compiler.is_exporting() or torch.jit.is_tracing()
    return bool(tracing or torch._C._are_functorch_transforms_active())


#: What adds two numbers in float32 at least and rounds once, as the definition does.
NARROW_DTYPES = (torch.bfloat16, torch.float16)
LOOKUP_DTYPES = (torch.float32, torch.float64, *NARROW_DTYPES)


def looked_up(table: Any, x: Any, positions: Any) -> Any:
    """Add rows of a learned table in two operations, x + table[positions]; None where the definition must decide.

    It decides where a program is traced, a derivative goes forward, arguments are of several kinds or do not fit, or a
    position has no row, which PyTorch refuses before it reads. Checks take longer than the sum of a token.
    """
    if torch.compiler.is_compiling() or type(x) is not torch.Tensor or type(positions) is not torch.Tensor:
        return None
    if (
        not _is_plain_lookup(table, x, positions)
        or torch._C._are_functorch_transforms_active()
        or torch._C._get_tracing_state()
        or forward_ad._current_level >= 0
    ):
        return None
    recorded = torch.is_grad_enabled() and table.requires_grad
    try:
        if recorded and table.dtype in NARROW_DTYPES:
            return _RowsAdded.apply(table, x, positions)
        return x + torch.embedding(table, positions)
    except IndexError:  # the definition says which position it is
        return None


class _RowsAdded(torch.autograd.Function):  # type: ignore[misc]
    """x + table[positions] in 16 bits; gradients of a row are summed in float32, without a table of such sums."""

    @staticmethod
    def forward(ctx: Any, table: Any, x: Any, positions: Any) -> Any:
        ctx.save_for_backward(positions)
        ctx.shape = table.shape
        return x + torch.embedding(table, positions)

    @staticmethod
    def backward(ctx: Any, incoming: Any) -> tuple[Any, Any, None]:
        (positions,) = ctx.saved_tensors
        if not ctx.needs_input_grad[0]:
            return None, incoming, None
        rows, place = positions.unique(return_inverse=True)
        each = incoming.reshape((-1, *incoming.shape[-2:])).float().sum(0)
        sums = each.new_zeros((len(rows), ctx.shape[-1])).index_add(0, place, each)
        return incoming.new_zeros(ctx.shape).index_put((rows,), sums.to(incoming.dtype)), incoming, None


def _is_plain_lookup(table: Any, x: Any, positions: Any) -> bool:
    """Whether all lie in memory of the CPU in one dtype, a position for each vector."""
    dtype, shape = x.dtype, x.shape
    return bool(
        (table.is_cpu and x.is_cpu and positions.is_cpu)
        and (table.dtype is dtype and dtype in LOOKUP_DTYPES and positions.dtype is torch.int64)
        and (type(table) is torch.nn.Parameter or type(table) is torch.Tensor)
        and (x.layout is torch.strided and not x.is_nested)
        and (positions.ndim == 1 and len(shape) > 1)
        and (shape[-1] == table.shape[-1] and shape[-2] == positions.shape[0])
    )
