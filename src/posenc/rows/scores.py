"""Encodings that score content against position: a row each."""

from __future__ import annotations

from posenc.encodings.cope import CoPE
from posenc.encodings.deberta import DeBERTa
from posenc.encodings.distance_bank import DistanceBank
from posenc.encodings.forgetting import ForgettingGate
from posenc.encodings.shaw import Shaw
from posenc.encodings.transformer_xl import TransformerXL
from posenc.rows.row import Row

SCORED: tuple[Row, ...] = (
    Row(
        Shaw,
        (Shaw(dim=4), Shaw(dim=6, clip=2)),
        "Shaw et al. 2018, arXiv:1803.02155",
        ("relative_key", "RelativeKeyPosition", "max_relative_position (tensor2tensor)"),
        "For short sequences whose near neighbours differ in meaning, at the price of a score and a value for each.",
    ),
    Row(
        TransformerXL,
        (TransformerXL(dim=4, heads=3, model_dim=8), TransformerXL(dim=6, heads=2, model_dim=10, base=100.0)),
        "Dai et al. 2019, arXiv:1901.02860",
        ("RelPartialLearnableMultiHeadAttn", "XLNetRelativeAttention", "RelPositionMultiHeadedAttention (Conformer)"),
        "For models with a memory of earlier segments, and speech encoders.",
    ),
    Row(
        DeBERTa,
        (
            DeBERTa(dim=4, heads=3, buckets=8, max_distance=20),
            DeBERTa(dim=3, heads=2, buckets=4, max_distance=None, terms="p2c"),
            DeBERTa(dim=4, heads=12, buckets=6, max_distance=9, terms="c2p"),
        ),
        "He et al. 2021, arXiv:2006.03654",
        ("DisentangledSelfAttention", "position_buckets (DeBERTa v2, v3)", "pos_att_type"),
        "For encoders that should weigh what a word means and how far away it stands apart from each other.",
    ),
    Row(
        CoPE,
        (CoPE(dim=4, rows=5), CoPE(dim=3)),
        "Golovneva et al. 2024, arXiv:2405.18719",
        ("CoPE (x-transformers)", "attn_use_cope"),
        "For decoders that must count words or sentences, not tokens.",
    ),
    Row(
        ForgettingGate,
        (ForgettingGate(heads=3, model_dim=6), ForgettingGate(heads=2, model_dim=1)),
        "Lin et al. 2025, arXiv:2503.02130",
        ("FoX", "forgetting_attn (flash-linear-attention)", "DataDependentAlibi (x-transformers)"),
        "For decoders in which the text itself should say what may be forgotten.",
    ),
    Row(
        DistanceBank,
        (
            DistanceBank(heads=3, model_dim=5, basis=2, extent=4),
            DistanceBank(heads=2, model_dim=3, basis=1, extent=7),
        ),
        "no paper: released code of Inkling; query-dependent as Shaw et al. 2018, arXiv:1803.02155",
        ("InklingRelativeLogits", "RelativeProjPositionalBias (x-transformers)"),
        "For decoders without a rotation whose tokens should choose how far they look.",
    ),
)
