"""Positions and vectors in, rotated vectors or a sum out.

Turn or table is made on the way, by the kernel where it can.

Modules do this. Where many layers share positions, `posenc.torch.rotation` once and `rotate` in each layer do less.
"""

from __future__ import annotations

from functools import lru_cache

import torch

from posenc.core import arrays
from posenc.core.arrays import Array
from posenc.core.doors import AdditiveEncoding, Params, Role, RotaryEncoding
from posenc.core.rotation import Layout, Operator, Rotation
from posenc.kernels import native_embedding
from posenc.phase import fixed_frequencies_of, fixed_sinusoids_of
from posenc.torch.modules.learned_operator import with_operator
from posenc.torch.modules.vector_table import table
from posenc.torch.rotary_paths.angles import rotation
from posenc.torch.rotary_paths.apply_rotation import rotate, rotate_one

#: Numbers of a table that is remembered, at most, and how many positions it has at least: a few are made as fast.
REMEMBERED, MANY = 1 << 22, 32


def rotate_at(
    encoding: RotaryEncoding, params: Params | None, x: Array, positions: Array, role: Role, layout: Layout
) -> Array:
    """x rotated at its positions, as `encoding.rotation(positions, params, role=role)` does."""
    by = rotation_at(encoding, params, x, positions, role)
    return by(x, layout=layout) if _is_traced() else rotate_one(x, by, layout=layout)


def rotate_pair_at(
    encoding: RotaryEncoding, params: Params | None, q: Array, k: Array, positions: Array, layout: Layout
) -> tuple[Array, Array]:
    """q and k rotated at positions that they share: by one rotation, where it does not depend on the role."""
    same_type = q.dtype == k.dtype and q.device == k.device
    if not same_type or not one_rotation_serves(encoding):
        rotated = rotate_at(encoding, params, q, positions, "query", layout)
        return rotated, rotate_at(encoding, params, k, positions, "key", layout)
    by = rotation_at(encoding, params, q, positions, "both")
    if type(by) is Rotation and not _is_traced():
        return rotate(q, k, by, layout=layout)
    return by(q, layout=layout), by(k, layout=layout)


@arrays.host
def one_rotation_serves(encoding: RotaryEncoding) -> bool:
    """Whether neither the encoding nor one inside it treats queries and keys differently."""
    inside = (value for value in vars(encoding).values() if isinstance(value, RotaryEncoding))
    return not encoding.roles_differ and all(map(one_rotation_serves, inside))


def add_at(encoding: AdditiveEncoding, params: Params | None, x: Array, positions: Array) -> Array:
    """`encoding.attach(x, positions, params)`."""
    wide = arrays.library(x).wide_dtype(x.dtype)
    ready = (
        fixed_sinusoids_of(encoding) is not None
        and type(encoding).attach is AdditiveEncoding.attach
        and wide == torch.float32
    )
    if ready and not _is_traced() and x.shape[-2:] == (positions.shape[-1], encoding.width):
        return native_embedding.add(x, _table_at(encoding, params, positions))
    return encoding.attach(x, positions, params)


def rotation_at(encoding: RotaryEncoding, params: Params | None, x: Array, positions: Array, role: Role) -> Operator:
    """The rotation of these positions, as precise as x."""
    wide = arrays.library(x).wide_dtype(x.dtype)
    if fixed_frequencies_of(encoding) is None or _is_traced():
        one_operator = torch.compiler.is_compiling() and positions.is_cpu and encoding.shapes and not _is_traced()
        at = with_operator(positions) if one_operator else positions
        return encoding.rotation(at, params, role=role, dtype=wide)
    return rotation(encoding, positions, params, role=role, dtype=wide)


def _table_at(encoding: AdditiveEncoding, params: Params | None, positions: Array) -> Array:
    """The table of these positions: the same as in the step before, mostly, and as costly as half the sum."""
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
    """Whether the definition itself is wanted.

    Programs that are exported run without posenc, and transforms of functions see through PyTorch's own operators
    alone.
    """
    tracing = torch.compiler.is_exporting() or torch.jit.is_tracing()
    return bool(tracing or torch._C._are_functorch_transforms_active())
