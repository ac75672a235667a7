"""An encoding in the place of the rotary module of a Hugging Face model."""

from __future__ import annotations

from typing import final

import torch

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.doors import RotaryEncoding
from posenc.core.rotation import of_pairs
from posenc.torch.modules.encoding_module import EncodingModule
from posenc.torch.modules.one_call import rotation_at
from posenc.torch.tensor_arguments import on_same_device


@final
class HuggingFaceRotary(EncodingModule):
    """cos and sin as `apply_rotary_pos_emb` of Hugging Face transformers takes them: `model.model.rotary_emb = …`.

    Args:
        encoding: A rotation that pairs halves from channel 0 and learns nothing; with `Partial`, cos and sin have the
            rotated width alone. forward(x, position_ids): position_ids (batch, n); cos and sin (batch, n, width) in the
            dtype of x, each frequency twice. numerics="float32" gives the model's own numbers bit for bit, "exact"
            better ones.

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
        super().__init__(validation.instance("encoding", encoding, RotaryEncoding, "an encoding that rotates"), 0)
        if encoding.shapes:
            raise ValueError(f"encoding must have no parameters here; got {encoding!r}. Use posenc.torch.Rotate.")
        if encoding.axes > 1:
            raise ValueError(
                f"encoding must take one coordinate, as position_ids are; got {encoding!r}. Use posenc.torch.Rotate."
            )
        pairing = of_pairs("encoding", encoding.rotation([0])).pairing
        if (pairing.layout, pairing.start, pairing.blocks) != ("halves", 0, 1):
            raise ValueError(
                f"encoding must pair halves from channel 0, as apply_rotary_pos_emb does; got {encoding!r}. "
                "Say pairing='halves'."
            )

    def forward(self, x: Array, position_ids: Array) -> tuple[Array, Array]:
        positions = on_same_device("position_ids", position_ids, x)
        rotation = of_pairs("encoding", rotation_at(self.encoding, None, x, positions, "both"))
        cos, sin = (torch.cat((part, part), -1).to(x.dtype) for part in (rotation.cos, rotation.sin))
        return cos, sin
