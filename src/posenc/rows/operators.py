"""Encodings that act on queries and keys by another map than a rotation of pairs of channels: a row each."""

from __future__ import annotations

from posenc.encodings.cayley_string import CayleySTRING
from posenc.encodings.multiplicative_grape import MultiplicativeGRAPE
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
)
