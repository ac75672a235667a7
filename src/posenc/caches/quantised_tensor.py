"""Tensors in 8 or 4 bits, with a scale for each token or for each channel of a block of tokens."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor

from posenc.core import validation

#: Numbers that share a scale: the channels of a token, or the tokens of a block in one channel.
Group = Literal["token", "channel"]
GROUPS = ("token", "channel")


@dataclass(frozen=True, eq=False)
class QuantisedTensor:
    """Codes of vectors, x ≈ low + code·step, each rounded to the nearest of 2^bits values between a group's extremes.

    Attributes:
        codes: (batch, heads, blocks, block, width), uint8; half the width for 4 bits, two codes in a byte.
        low: Least number of each group, (batch, heads, blocks, block, 1) or (batch, heads, blocks, 1, width).
        step: Distance of neighbouring values, in the same shape; both float32, or float64 for float64 vectors.
        bits: 8 or 4.
        dtype: Type of the vectors.
    """

    codes: Tensor
    low: Tensor
    step: Tensor
    bits: int
    dtype: Any

    @property
    def bytes(self) -> int:
        """Bytes that codes and scales take."""
        return sum(x.numel() * x.element_size() for x in (self.codes, self.low, self.step))

    def restored(self) -> Tensor:
        """Compute the vectors.

        Returns:
            (batch, heads, m, width), in their dtype.
        """
        codes = self.codes
        if self.bits == 4:
            codes = torch.stack([codes & 15, codes >> 4], -1).flatten(-2)
        wide = self.low + codes.to(self.low.dtype) * self.step
        return wide.flatten(2, 3).to(self.dtype)

    def joined(self, other: QuantisedTensor) -> QuantisedTensor:
        """Append blocks.

        Args:
            other: Blocks of the same size.

        Returns:
            Blocks of both.

        Raises:
            TypeError: `other` is no QuantisedTensor.
            ValueError: `other` has other bits, groups, heads, widths or blocks.
        """
        validation.instance("other", other, QuantisedTensor, "a QuantisedTensor")
        ours, theirs = (
            (x.bits, x.dtype, *((*part.shape[:2], *part.shape[3:]) for part in (x.codes, x.low))) for x in (self, other)
        )
        if ours != theirs:
            raise ValueError(f"other must have blocks of the same kind, {ours}; got {theirs}. Quantise both alike.")
        codes, low, step = (
            torch.cat(pair, 2) for pair in ((self.codes, other.codes), (self.low, other.low), (self.step, other.step))
        )
        return replace(self, codes=codes, low=low, step=step)


def quantised(x: Tensor, *, bits: Literal[8, 4], group: Group, block: int) -> QuantisedTensor:
    """Round vectors to 8 or 4 bits.

    No number moves by more than half a step of its group, and one rounding to the dtype of the vectors.

    Args:
        x: Vectors, (batch, heads, m, width), where block divides m.
        bits: 8 or 4.
        group: "token": the channels of a token share a scale; "channel": the tokens of a block do, in each channel.
        block: Tokens of a block.

    Returns:
        The codes with their scales.

    Raises:
        TypeError: An argument is of another kind than stated.
        ValueError: An argument is out of range, tokens do not fill blocks, or 4 bits meet an odd width.

    References:
        Liu et al. 2024, arXiv:2402.02750 (KIVI): keys by channel, values by token.

    Example:
        >>> x = torch.randn(1, 1, 32, 8)
        >>> small = quantised(x, bits=8, group="channel", block=32)
        >>> bool(((small.restored() - x).abs() <= small.step.amax() / 2 * 1.0001).all())
        True
    """
    validation.instance("x", x, Tensor, "a tensor (batch, heads, m, width)")
    if type(bits) is not int or bits not in (8, 4):
        raise ValueError(f"bits must be 8 or 4; got {validation.shown(bits)}. Use one of them.")
    validation.choice("group", group, GROUPS)
    block = validation.integer("block", block, 1, 1 << 20)
    if x.ndim != 4 or not x.is_floating_point() or x.shape[2] % block:
        raise ValueError(
            f"x must hold floats (batch, heads, m, width), with m a multiple of block = {block}; got {x.dtype}, "
            f"{tuple(x.shape)}. Quantise full blocks."
        )
    validation.size("x", x.numel(), 1)
    if bits == 4 and x.shape[3] % 2:
        raise ValueError(f"x must have an even width for 4 bits; got {x.shape[3]}. Use 8 bits.")
    blocks = x.detach().to(torch.float64 if x.dtype == torch.float64 else torch.float32).unflatten(2, (-1, block))
    axis = -1 if group == "token" else -2
    low, high = blocks.amin(axis, keepdim=True), blocks.amax(axis, keepdim=True)
    step = (high - low) / (2**bits - 1)
    codes = ((blocks - low) / torch.where(step > 0, step, torch.ones_like(step))).round()
    codes = codes.clamp(0, 2**bits - 1).to(torch.uint8)
    if bits == 4:
        codes = codes[..., 0::2] | (codes[..., 1::2] << 4)
    return QuantisedTensor(codes, low, step, bits, x.dtype)
