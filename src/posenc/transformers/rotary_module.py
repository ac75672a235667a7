"""An encoding in the place of the rotary module of a Hugging Face model."""

from __future__ import annotations

from typing import final

import torch

from posenc.core import arrays
from posenc.core.arrays import Array
from posenc.core.checked_positions import checked
from posenc.core.doors import RotaryEncoding
from posenc.core.rotation import of_pairs
from posenc.torch.modules.encoding_module import EncodingModule
from posenc.torch.modules.one_call import rotation_at
from posenc.torch.tensor_arguments import on_same_device, plain_tensor
from posenc.transformers.refusals import check_rotary_module


@final
class HuggingFaceRotary(EncodingModule):
    """Cosines and sines as `apply_rotary_pos_emb` of transformers takes them: `model.model.rotary_emb = …`.

    Args:
        encoding: Rotary encoding that pairs halves from channel 0, takes one coordinate and has no parameters.
            `numerics="float32"` gives the model's own numbers bit for bit, "exact" better ones.

    Raises:
        TypeError: `encoding` is no rotary encoding.
        ValueError: `encoding` has parameters or several coordinates, or pairs channels in another way.

    Example:
        >>> import torch
        >>> from posenc import RoPE
        >>> cos, sin = HuggingFaceRotary(RoPE(dim=4, pairing="halves"))(torch.zeros(1), torch.tensor([[0, 1]]))
        >>> sin
        tensor([[[0.0000, 0.0000, 0.0000, 0.0000],
                 [0.8415, 0.0100, 0.8415, 0.0100]]])
    """

    encoding: RotaryEncoding

    def __init__(self, encoding: RotaryEncoding) -> None:
        check_rotary_module(encoding)
        super().__init__(encoding, 0)

    def forward(self, x: Array, position_ids: Array) -> tuple[Array, Array]:
        """Compute the tables of some positions.

        Args:
            x: Tensor whose dtype and device the tables get; its values are not read.
            position_ids: Positions (batch, n), on the device of x.

        Returns:
            Cosines and sines (batch, n, width), each frequency twice; with `Partial`, width is what is rotated.

        Raises:
            ValueError: `position_ids` are on another device, or are no positions of the encoding.
        """
        arrays.floats("x", plain_tensor("x", x))
        positions = checked(on_same_device("position_ids", position_ids, x), "position_ids").array
        if positions.ndim < (2 if self.encoding.axes == 1 else 3):
            raise ValueError(
                f"position_ids must have shape (batch, n); got {tuple(positions.shape)}. Give a row for each sequence."
            )
        rotation = of_pairs("encoding", rotation_at(self.encoding, None, x, positions, "both"))
        cos, sin = (torch.cat((part, part), -1).to(x.dtype) for part in (rotation.cos, rotation.sin))
        return cos, sin
