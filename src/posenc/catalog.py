"""Every encoding, a row each: what is listed here is exported, tested, documented, explained and drawn.

A row names the class, sample records in which every field matters, the paper, what the encoding is called elsewhere,
and when to use it. Tests, docs, the command line and the lab walk this list and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

from posenc.doors import Encoding
from posenc.encodings.alibi import ALiBi
from posenc.encodings.nope import NoPE
from posenc.encodings.rope import RoPE
from posenc.encodings.sinusoidal import Sinusoidal


@dataclass(frozen=True)
class Row:
    """One encoding: its class, samples, source, names abroad and use."""

    encoding: type[Encoding]
    samples: tuple[Encoding, ...]
    paper: str
    elsewhere: tuple[str, ...]
    use: str

    @property
    def name(self) -> str:
        return self.encoding.__name__


CATALOG: tuple[Row, ...] = (
    Row(
        NoPE,
        (NoPE(dim=8),),
        "Kazemnejad et al. 2023, arXiv:2305.19466",
        ("NoPE",),
        "As the control of a comparison, or in layers that should not see position.",
    ),
    Row(
        Sinusoidal,
        (
            Sinusoidal(dim=8),
            Sinusoidal(dim=16, base=100.0, start=1, scale=0.5),
            Sinusoidal(dim=12, layout="concatenated", exponent="i/(d/2-1)"),
            Sinusoidal(dim=10, exponent="i/d", first="cosine"),
            Sinusoidal(dim=7, odd="truncate"),
            Sinusoidal(dim=9, odd="zero", layout="concatenated"),
            Sinusoidal(dim=8, numerics="float32"),
        ),
        "Vaswani et al. 2017, arXiv:1706.03762",
        ("SinePositionEncoding (Keras)", "PositionalEncoding1D", "SinusoidalPositionalEncoding (MLX)"),
        "For models of varying length that should cost no parameters.",
    ),
    Row(
        RoPE,
        (
            RoPE(dim=8),
            RoPE(dim=12, base=500_000.0, pairing="halves"),
            RoPE(dim=8, numerics="float32"),
        ),
        "Su et al. 2021, arXiv:2104.09864",
        ("LlamaRotaryEmbedding", "RotaryPositionalEmbeddings (torchtune)", "RotaryEmbedding"),
        "For decoders: relative, without parameters, works with every fast attention.",
    ),
    Row(
        ALiBi,
        (ALiBi(heads=8), ALiBi(heads=12), ALiBi(heads=3, steepest=4.0)),
        "Press et al. 2022, arXiv:2108.12409",
        ("AlibiPositionalBias", "build_alibi_tensor (BLOOM)", "alibi_slopes (flash-attention)"),
        "For decoders that must run longer than they were trained, when nearer tokens matter more.",
    ),
)


def row(name: str) -> Row:
    """The row of an encoding by its class name."""
    for candidate in CATALOG:
        if candidate.name == name:
            return candidate
    raise ValueError(f"name must be one of {', '.join(r.name for r in CATALOG)}; got {name!r}. Choose one of these.")
