"""Encodings that act on queries and keys by another map than one rotation of pairs for all heads: a row each."""

from __future__ import annotations

from posenc.encodings.cayley_string import CayleySTRING
from posenc.encodings.comrope import ComRoPE
from posenc.encodings.fope import FoPE
from posenc.encodings.liere import LieRE
from posenc.encodings.multiplicative_grape import MultiplicativeGRAPE
from posenc.encodings.pope import PoPE
from posenc.encodings.rope_pp import RoPEPlusPlus
from posenc.encodings.spherical_rope import SphericalRoPE
from posenc.encodings.xd_rope import XDRoPE
from posenc.frequencies import NTKAware
from posenc.rows.row import Row

OPERATED: tuple[Row, ...] = (
    Row(
        CayleySTRING,
        (CayleySTRING(dim=4), CayleySTRING(dim=6, axes=2, base=100.0)),
        "Schenck et al. 2025, arXiv:2502.02562",
        ("Cayley-STRING", "STRING"),
        "For grids and point clouds whose planes of rotation training should find, still relative along every axis.",
    ),
    Row(
        MultiplicativeGRAPE,
        (MultiplicativeGRAPE(dim=5), MultiplicativeGRAPE(dim=4, rate=0.25)),
        "Zhang et al. 2025, arXiv:2512.07805",
        ("GRAPE-M",),
        "To spend one learned plane of a head on position and leave the rest of it to content.",
    ),
    Row(
        PoPE,
        (PoPE(dim=3, heads=2), PoPE(dim=4, heads=3, base=100.0, phase="uniform")),
        "Gopalakrishnan et al. 2025, arXiv:2509.10534",
        ("PolarEmbedding (x-transformers)", "PoPE-pytorch"),
        "For decoders that should look something up by what it is or by where it is, not by a mixture of both.",
    ),
    Row(
        FoPE,
        (FoPE(dim=4, heads=2, length=100), FoPE(dim=8, heads=3, length=64, base=100.0, padding="one", gain=0.6)),
        "Hua et al. 2024, arXiv:2412.17739",
        ("FourierRotaryEmbedding (vLLM)", "FourierEmbedding (OLMo fork)"),
        "For decoders that run longer than they were trained: no wave that was never seen whole, and each pair a mixture.",
    ),
    Row(
        RoPEPlusPlus,
        (RoPEPlusPlus(dim=4, heads=2), RoPEPlusPlus(dim=6, heads=4, base=100.0, pairing="adjacent")),
        "Liu et al. 2025, arXiv:2512.07525",
        ("RoPE++", "imag1 (EH)", "imag2 (EC)"),
        "For long contexts at half the cache, or at the same cache with twice the heads.",
    ),
    Row(
        LieRE,
        (LieRE(dim=4, heads=2, block=2), LieRE(dim=3, heads=2, block=3, axes=2)),
        "Ostmeier et al. 2024, arXiv:2406.10322",
        ("LierePositionEncoder",),
        "For images and volumes of one size, where training may find rotations that no grid of frequencies has.",
    ),
    Row(
        ComRoPE,
        (
            ComRoPE(dim=4, heads=2, block=2),
            ComRoPE(dim=6, heads=3, block=3, axes=2, commuting="partition", std=0.5),
        ),
        "Yu et al. 2025, arXiv:2506.03737",
        ("ComRoPELDAttention", "ComRoPEAPAttention"),
        "For images, as LieRE, where shifting the whole image must change nothing.",
    ),
    Row(
        SphericalRoPE,
        (SphericalRoPE(dim=9), SphericalRoPE(dim=6, base=10_000.0)),
        "van de Geijn et al. 2025, arXiv:2511.08368",
        ("Spherical_RoPE (CARE)",),
        "For images, to see whether slanting directions matter more than that scores depend on differences alone.",
    ),
    Row(
        XDRoPE,
        (
            XDRoPE(sections=(1, 2), base=100.0),
            XDRoPE(sections=(1, 1, 1), numerics="float32"),
            XDRoPE(sections=(2, 1, 1, 2), scaling=NTKAware(factor=1000.0)),
        ),
        "no paper: released code of HunYuan-VL; sections are those of Wang et al. 2024, arXiv:2409.12191",
        ("HunYuanVLRotaryEmbedding (transformers)", "mrope_section (HunYuan-VL)"),
        "To compute what transformers computes of HunYuan-VL; for a new model, take a rotation.",
    ),
)
