"""Encodings that bias the logits: a row each."""

from __future__ import annotations

from posenc.encodings.alibi import ALiBi
from posenc.encodings.bounded_alibi import BoundedALiBi
from posenc.encodings.dynamic_position_bias import DynamicPositionBias
from posenc.encodings.fire import FIRE
from posenc.encodings.graph_distance import GraphDistance
from posenc.encodings.kerple import KerpleLog, KerplePower
from posenc.encodings.log_cpb import LogCPB
from posenc.encodings.relative_bias import RelativeBias
from posenc.encodings.sandwich import Sandwich
from posenc.encodings.t5 import T5Bias
from posenc.encodings.window_bias import WindowBias
from posenc.rows.row import Row

BIASED: tuple[Row, ...] = (
    Row(
        ALiBi,
        (
            ALiBi(heads=8),
            ALiBi(heads=12),
            ALiBi(heads=3, steepest=4.0),
            ALiBi(heads=12, rule="geometric"),
            ALiBi(heads=5, rule="linear", form="signed"),
        ),
        "Press et al. 2022, arXiv:2108.12409",
        ("AlibiPositionalBias", "build_alibi_tensor (BLOOM)", "alibi_slopes (flash-attention)"),
        "For decoders that must run longer than they were trained, when nearer tokens matter more.",
    ),
    Row(
        T5Bias,
        (
            T5Bias(heads=3),
            T5Bias(heads=2, buckets=8, max_distance=20),
            T5Bias(heads=12, buckets=7, max_distance=16, bidirectional=False),
            T5Bias(heads=2, buckets=10, max_distance=30, scale=8.0),
        ),
        "Raffel et al. 2020, arXiv:1910.10683",
        ("relative_attention_bias (T5)", "RelativePositionBiases (T5X)", "RelativePositionBias"),
        "For encoders and decoders that learn how much each distance matters, precisely when near and roughly when far.",
    ),
    Row(
        BoundedALiBi,
        (BoundedALiBi(heads=8), BoundedALiBi(heads=3, per_head=True, initial_bound=0.25)),
        "no paper: google-research/meliad",
        ("BoundedALiBi (meliad)",),
        "For ALiBi whose far tokens must stay visible, at the price of one number or one a head.",
    ),
    Row(
        KerpleLog,
        (KerpleLog(heads=3),),
        "Chi et al. 2022, arXiv:2205.09921",
        ("ParallelKerpleLog (KERPLE)",),
        "For decoders that must run longer than they were trained and should learn how fast attention fades.",
    ),
    Row(
        KerplePower,
        (KerplePower(heads=3),),
        "Chi et al. 2022, arXiv:2205.09921",
        ("ParallelKerplePower (KERPLE)",),
        "For ALiBi with learned slopes and learned curvature.",
    ),
    Row(
        Sandwich,
        (Sandwich(heads=8), Sandwich(heads=3, dim=6, base=100.0)),
        "Chi et al. 2022, arXiv:2212.10356",
        ("generate_sandwich_bias (attention-gym)",),
        "For decoders that must run longer than they were trained, without parameters and bounded.",
    ),
    Row(
        FIRE,
        (FIRE(heads=3), FIRE(heads=2, width=5, threshold=4.0, initial_c=0.5, epsilon=0.0)),
        "Li et al. 2023, arXiv:2310.04418",
        ("FIRE",),
        "For decoders whose distances should count as shares of the context, so that longer ones look familiar.",
    ),
    Row(
        DynamicPositionBias,
        (
            DynamicPositionBias(heads=3, dim=8),
            DynamicPositionBias(heads=2, dim=4, depth=1, log_distance=True),
            DynamicPositionBias(heads=2, dim=5, depth=3, log_distance=True),
        ),
        "Wang et al. 2021, arXiv:2108.00154",
        ("DynamicPositionBias (x-transformers)", "DynamicPosBias (CrossFormer)"),
        "For encoders that should learn any smooth function of the distance.",
    ),
    Row(
        RelativeBias,
        (RelativeBias(heads=3), RelativeBias(heads=2, clip=3)),
        "Liu et al. 2021, arXiv:2103.14030",
        ("relative_position_bias_table (Swin, one axis)",),
        "For windows of a few dozen tokens, with enough data at every distance.",
    ),
    Row(
        WindowBias,
        (
            WindowBias(heads=3, window=(3, 4)),
            WindowBias(heads=2, window=(2, 3, 2)),
            WindowBias(heads=2, window=(2, 3), class_token=True),
        ),
        "Liu et al. 2021, arXiv:2103.14030",
        ("SwinRelativePositionBias", "RelPosBias (timm)", "BeitRelativePositionBias"),
        "For windows of an image, with enough data at every distance.",
    ),
    Row(
        LogCPB,
        (LogCPB(heads=3, window=(4, 5), width=8), LogCPB(heads=2, window=(2, 7, 3), width=5)),
        "Liu et al. 2022, arXiv:2111.09883",
        ("continuous_position_bias_mlp (Swin v2)", "RelPosMlp (timm)"),
        "For windows of an image that grow after training.",
    ),
    Row(
        GraphDistance,
        (GraphDistance(heads=3, nodes=3, rows=5), GraphDistance(heads=2, nodes=2)),
        "Ying et al. 2021, arXiv:2106.05234",
        ("spatial_pos_encoder (Graphormer)",),
        "For graphs, whose distances are counted in edges.",
    ),
)
