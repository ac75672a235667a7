"""Rotations made by compiled code, and `Angles`, whose cosines and sines the kernels make as they rotate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch

from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import checked
from posenc.core.doors import ROLES, Params, Role, RotaryEncoding
from posenc.core.rotation import Rotation, of_pairs
from posenc.kernels import native
from posenc.kernels import native_cos_sin as kernel
from posenc.phase import FixedFrequencies, fixed_frequencies_of, frequency_limbs, frequency_words
from posenc.positions.grid import coordinates
from posenc.torch.rotary_paths.aliasing import (
    check_pair,
    copied,
    mark_written,
    rows_of_out,
    unsupported_pair,
    unsupported_positions,
)
from posenc.torch.tensor_arguments import plain_tensor

IMPLS = ("auto", "reference", "native")


@dataclass(frozen=True, eq=False)
class Angles:
    """Integer positions and a rotary encoding, in place of cosines and sines: the kernel makes these as it rotates.

    `angles` makes it, `rotate` takes it.

    Args:
        encoding: The encoding.
        fixed: Its exact frequencies.
        positions: As given, (*batch, n), with a last axis of coordinates where there are several.
        integer_positions: The same, (rows, n, axes), int64.
        limbs: The frequencies as the compiled kernel takes them, `posenc.phase.frequency_limbs`.
        words: The frequencies as the Triton kernel takes them, `posenc.phase.frequency_words`; None on the CPU for
            modules, which no Triton kernel serves.
        form: `posenc.kernels.native.packed_form` of the pairing.
    """

    encoding: RotaryEncoding
    fixed: FixedFrequencies
    positions: Array
    integer_positions: Array
    limbs: Array
    words: Array | None
    form: int

    @property
    def dim(self) -> int:
        """Channels of a head."""
        return self.fixed.pairing.dim

    def rotation(self, *, dtype: Any = None) -> Rotation:
        """Make the rotation of these positions by the encoding's own `rotation`.

        Args:
            dtype: Of cosines and sines; float32 for None.

        Returns:
            The rotation of these positions.
        """
        return of_pairs("encoding", self.encoding.rotation(self.positions, dtype=dtype))

    def compiled_rotation(self) -> Rotation:
        """Make the rotation of these positions in float32 by the compiled kernel.

        Returns:
            The rotation, of cosines and sines (rows, time, pairs).
        """
        cosine, sine = kernel.cos_sin(self.integer_positions, self.limbs, self.fixed.factor)
        return Rotation(cosine, sine, self.fixed.pairing, self.fixed.factor)


def angles(encoding: RotaryEncoding, positions: Array) -> Angles:
    """Make angles of whole positions, for `rotate` and `rotate_`.

    A kernel makes cosines and sines of them in its pass over queries and keys, the numbers of `encoding.rotation`;
    nothing is stored but positions, and backward keeps no more. Where no kernel is at hand, `rotate` makes the rotation
    at every call: then make it once, by `rotation`.

    Args:
        encoding: One whose every pair rotates by one coordinate times an exact frequency: RoPE with any scaling,
            AxialRoPE, DualBaseRoPE, `Partial` of them.
        positions: A tensor of whole numbers, (*batch, n), or (*batch, n, axes).

    Returns:
        The angles.

    Raises:
        TypeError: `encoding` does not rotate, or positions are no dense tensor of whole numbers.
        ValueError: `encoding` has `numerics="float32"`, learned frequencies or directions, or a position is out of
            range.

    Example:
        >>> import torch, posenc
        >>> q, k = torch.ones(1, 4, 3, 8), torch.ones(1, 2, 3, 8)
        >>> far = posenc.torch.angles(posenc.RoPE(dim=8), torch.arange(3) + 10_000_000)
        >>> posenc.torch.rotate(q, k, far, layout="bhtd")[0].shape
        torch.Size([1, 4, 3, 8])
    """
    validation.instance("encoding", encoding, RotaryEncoding, "an encoding that rotates, RoPE(dim=64), say")
    plain_tensor("positions", positions)
    fixed = fixed_frequencies_of(encoding)
    if fixed is None:
        raise ValueError(
            f"encoding must rotate each pair by a coordinate times an exact frequency; got {encoding!r}. "
            "Use posenc.torch.rotation."
        )
    if arrays.kind(positions) != "integer":
        raise TypeError(
            f"positions must be whole numbers; got {arrays.dtype_name(positions.dtype)}. Use posenc.torch.rotation."
        )
    lib = arrays.library(positions)
    limbs, words = lib.constant(frequency_limbs(fixed)), lib.constant(frequency_words(fixed))
    form = native.packed_form(fixed.pairing)
    return Angles(encoding, fixed, positions, _integer_positions(positions, fixed), limbs, words, form)


def rotation(
    encoding: RotaryEncoding,
    positions: Array,
    params: Params | None = None,
    *,
    role: Role = "both",
    dtype: Any = None,
    out: tuple[Array, Array] | None = None,
    impl: Literal["auto", "reference", "native"] = "auto",
) -> Rotation:
    """Make `encoding.rotation(positions)`, by compiled code where it can: the same numbers, correctly rounded.

    The kernel takes whole positions on the CPU, float32, and the encodings that `angles` takes.

    Args:
        encoding: An encoding that rotates.
        positions: A tensor, (*batch, n), or (*batch, n, axes), as for `encoding.rotation`.
        params: What the encoding learns; None if nothing.
        role: "query", "key" or "both", as for `encoding.rotation`.
        dtype: Of cosines and sines; float32 for None.
        out: Memory for cosines and for sines, (*batch, n, pairs) each, which the rotation then holds: of the dtype of
            the rotation, on the device of positions, that needs no gradient and shares no number with the other or with
            positions.
        impl: "reference" is `encoding.rotation`; "native" the kernel of posenc-kernels; "auto" is that where it can,
            else the reference.

    Returns:
        The rotation.

    Raises:
        TypeError: An argument is of another kind than stated, or the encoding rotates no pairs of channels.
        ValueError: `out` cannot take the rotation, the encoding does not have a position, or the `impl` that is named
            cannot make this rotation.

    Example:
        >>> import torch, posenc
        >>> positions, encoding = torch.arange(3), posenc.RoPE(dim=8)
        >>> torch.equal(rotation(encoding, positions).cos, encoding.rotation(positions).cos)
        True
    """
    validation.choice("impl", impl, IMPLS)
    validation.instance("encoding", encoding, RotaryEncoding, "an encoding that rotates, RoPE(dim=64), say")
    plain_tensor("positions", positions)
    if out is not None and (not isinstance(out, tuple) or len(out) != 2):
        raise TypeError(
            f"out must be a pair of tensors, for cosines and sines; got {validation.shown(out)}. Give (cos, sin)."
        )
    fixed = fixed_frequencies_of(encoding)
    reason = native.MISSING or _unsupported_reason(encoding, fixed, positions, dtype, out)
    if impl == "native" and reason is not None:
        raise ValueError(f"impl must be one that can make this rotation; got 'native', but {reason}. Use 'auto'.")
    if impl == "reference" or reason is not None or fixed is None:
        by_reference = of_pairs("encoding", encoding.rotation(positions, params, role=role, dtype=dtype))
        if out is None:
            return by_reference
        check_pair(out, tuple(by_reference.cos.shape), by_reference.cos.dtype, positions)
        cosine, sine = (copied(*parts) for parts in zip((by_reference.cos, by_reference.sin), out, strict=True))
        return Rotation(cosine, sine, by_reference.pairing, by_reference.factor, by_reference.heads)
    encoding.checked(params)
    validation.choice("role", role, ROLES)
    whole, limbs = _integer_positions(positions, fixed), arrays.library(positions).constant(frequency_limbs(fixed))
    batch = positions.shape if fixed.axes == 1 else positions.shape[:-1]
    shape = (*batch, fixed.frequencies.pairs)
    if out is None:
        cosine, sine = (part.reshape(shape) for part in kernel.cos_sin(whole, limbs, fixed.factor))
        return Rotation(cosine, sine, fixed.pairing, fixed.factor)
    check_pair(out, shape, torch.float32, positions)
    kernel.cos_sin_into(whole.reshape((1, -1, fixed.axes)), limbs, fixed.factor, *map(rows_of_out, out))
    mark_written(*out)
    return Rotation(*out, fixed.pairing, fixed.factor)


def _integer_positions(positions: Array, fixed: FixedFrequencies) -> Array:
    """Positions as kernels take them: (rows, n, axes), int64, of magnitude at most 2^53 where that can be seen."""
    if fixed.axes > 1:
        coordinates("positions", positions, fixed.axes)
    elif positions.ndim < 1:
        raise ValueError(
            f"positions must have shape (*batch, n); got {tuple(positions.shape)}. Give one axis at least."
        )
    else:
        positions = checked(positions).array
    tail = 1 if fixed.axes == 1 else 2
    rows, count = positions.shape[:-tail].numel(), positions.shape[-tail]
    return positions.to(torch.int64).reshape((rows, count, fixed.axes)).contiguous()


def _unsupported_reason(
    encoding: RotaryEncoding, fixed: FixedFrequencies | None, positions: Array, dtype: Any, out: Any
) -> str | None:
    """Why the kernel cannot make this rotation; None where it can."""
    if fixed is None:
        return f"{type(encoding).__name__} rotates in another way than by a coordinate times an exact frequency"
    reason = unsupported_positions(positions, dtype)
    return reason if reason or out is None else unsupported_pair(out)
