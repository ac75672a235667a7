"""The encodings that a comparison takes when none are named, for a model of any size."""

from __future__ import annotations

from posenc.compose import LearnedScale, Partial, Sum
from posenc.core.doors import Encoding
from posenc.encodings.adds.learned import Learned
from posenc.encodings.adds.nope import NoPE
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.biases.fire import FIRE
from posenc.encodings.biases.kerple import KerpleLog
from posenc.encodings.biases.t5 import T5Bias
from posenc.encodings.rotates.rope import RoPE
from posenc.encodings.rotates.xpos import XPos


def for_transformers_model(
    width: int, heads: int, head_dim: int, length: int, *, causal: bool, rotates: bool
) -> tuple[Encoding, ...]:
    """The six for a model of transformers, without rotary where its own positions are that."""
    every = six(width, heads, length, causal=causal)
    return tuple(
        RoPE(dim=head_dim, pairing="halves") if isinstance(each, RoPE) else each
        for each in every
        if not (rotates and isinstance(each, RoPE))
    )


def three(width: int, heads: int) -> tuple[Encoding, ...]:
    """None, rotary and ALiBi."""
    return NoPE(dim=width), RoPE(dim=width // heads), ALiBi(heads=heads)


def six(width: int, heads: int, length: int, *, causal: bool) -> tuple[Encoding, ...]:
    """None, sinusoidal, learned, rotary, ALiBi and T5. The learned table has `length` rows, the last used beyond."""
    return (
        NoPE(dim=width),
        Sinusoidal(dim=width),
        Learned(dim=width, length=length, outside="clamp"),
        RoPE(dim=width // heads),
        ALiBi(heads=heads),
        T5Bias(heads=heads, bidirectional=not causal),
    )


def many(width: int, heads: int, length: int, *, causal: bool) -> tuple[Encoding, ...]:
    """The six, further biases, rotations of other bases and of half the channels, and hybrids."""
    head, sinusoidal = width // heads, Sinusoidal(dim=width)
    return (
        *six(width, heads, length, causal=causal),
        KerpleLog(heads=heads),
        FIRE(heads=heads),
        *((XPos(dim=head),) if causal else ()),
        RoPE(dim=head, base=100.0),
        RoPE(dim=head, base=1e6),
        Partial(RoPE(dim=head // 4 * 2), head),
        LearnedScale(sinusoidal),
        Sum((sinusoidal, Learned(dim=width, length=length, outside="clamp"))),
    )
