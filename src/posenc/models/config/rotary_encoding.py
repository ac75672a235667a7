"""The rotary encoding of a layer, from what its config says."""

from __future__ import annotations

from posenc.compose import Partial
from posenc.core.doors import RotaryEncoding
from posenc.core.rotation import PairLayout
from posenc.encodings.rotates.axial_rope import AxialRoPE
from posenc.encodings.rotates.rope import RoPE
from posenc.encodings.rotates.xd_rope import XDRoPE
from posenc.frequencies import Geometric, InRevolutions, Rescaled, Scaling
from posenc.models.config.fields import Fields
from posenc.models.config.head_rules import Head
from posenc.models.config.pair_axes import PairAxes
from posenc.models.config.rope_parameters import RopeParameters
from posenc.models.config.rope_scaling import scaling_of
from posenc.models.model_positions import Value
from posenc.phase import Numerics


def rotary_encoding(
    fields: Fields, rope: RopeParameters, head: Head, pairing: PairLayout, axes: PairAxes | None, longest: Value | None
) -> RotaryEncoding:
    """Build the encoding of a rotation, as a Partial where not all channels of the head rotate."""
    if rope.get("rope_theta") is None:
        raise ValueError(
            "rope_theta must be known; neither the file nor the class has it. State it: stated={'rope_theta': …}."
        )
    base, numerics = rope.real("rope_theta"), fields.options.numerics
    scaling = scaling_of(rope, longest, fields.options.length)
    encoding: RotaryEncoding
    if axes is None:
        encoding = RoPE(head.width, base, pairing, numerics, scaling)
    elif axes.sections:
        encoding = XDRoPE(axes.sections, base, numerics, scaling)
    else:
        encoding = _over_axes(axes, base, pairing, numerics, scaling)
    return encoding if head.width == head.dim else Partial(encoding, head.dim, head.start)


def _over_axes(
    axes: PairAxes, base: float, pairing: PairLayout, numerics: Numerics, scaling: Scaling | None
) -> AxialRoPE:
    """Build the AxialRoPE whose pairs rotate by several coordinates of a position."""
    if not axes.in_revolutions:
        return AxialRoPE(
            axes.axis, axes.frequency_index, axes.frequency_dim, base, pairing, axes.blocks, numerics, scaling
        )
    if scaling is not None and scaling.attention_factor != 1.0:
        raise ValueError(
            "rope_type must have no attention factor where frequencies are whole revolutions; got "
            f"{scaling.attention_factor:.6g} of {scaling!r:.100}. Use 'default'."
        )
    unscaled = Geometric(axes.frequency_dim, base)
    frequencies = InRevolutions(unscaled if scaling is None else Rescaled(unscaled, scaling))
    return AxialRoPE(
        axes.axis, axes.frequency_index, frequencies, pairing=pairing, blocks=axes.blocks, numerics=numerics
    )
