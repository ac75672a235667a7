"""Encodings that score content against position: a row each."""

from __future__ import annotations

from posenc.encodings.additive_grape import AdditiveGRAPE
from posenc.encodings.alibi import ALiBi
from posenc.encodings.contextual_grape import ContextualGRAPE
from posenc.encodings.cope import CoPE
from posenc.encodings.dape import DAPE
from posenc.encodings.dape_v2 import DAPEv2
from posenc.encodings.deberta import DeBERTa
from posenc.encodings.decomposed import Decomposed
from posenc.encodings.distance_bank import DistanceBank
from posenc.encodings.forgetting import ForgettingGate
from posenc.encodings.gated_bias import GatedBias
from posenc.encodings.kerple import KerpleLog
from posenc.encodings.path import PaTH
from posenc.encodings.path_grape import PathGRAPE
from posenc.encodings.row_gate import RowGate
from posenc.encodings.selective_rope import SelectiveRoPE
from posenc.encodings.shaw import Shaw
from posenc.encodings.t5 import T5Bias
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
        (
            "FoX",
            "forgetting_attn (flash-linear-attention)",
            "DataDependentAlibi (x-transformers)",
            "CABLE, arXiv:2503.08067 (W and c with the other sign)",
        ),
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
    Row(
        SelectiveRoPE,
        (
            SelectiveRoPE(dim=4, heads=2, model_dim=12, rank=8),
            SelectiveRoPE(dim=2, heads=3, model_dim=12, rank=2, taps=2, base=100.0, gated=True, epsilon=1e-5),
        ),
        "Movahedi et al. 2025, arXiv:2511.17388",
        ("SelectiveRoPE (selective-rope)",),
        "For decoders whose tokens should decide how far apart they are, as gates do, by angles in place of decay.",
    ),
    Row(
        ContextualGRAPE,
        (
            ContextualGRAPE(dim=4, heads=2, model_dim=6, initial=1.0),
            ContextualGRAPE(
                dim=2, heads=3, model_dim=4, base=100.0, own_clocks=True, own_frequencies=True, initial=0.5
            ),
        ),
        "Zhang et al. 2025, arXiv:2512.07805",
        ("GRAPE-M contextual", "MSGRAPEContextType1 (GRAPE)"),
        "For decoders whose tokens should decide how far apart they are by one clock for all planes, not an angle for each.",
    ),
    Row(
        PaTH,
        (
            PaTH(dim=4, heads=3, model_dim=6, rank=2),
            PaTH(dim=3, heads=2, model_dim=5, rank=4, taps=2, epsilon=0.01),
        ),
        "Yang et al. 2025, arXiv:2505.16381",
        ("PaTHAttention (flash-linear-attention)",),
        "For decoders that must follow state along a text, such as who holds what, in place of a rotation.",
    ),
    Row(
        DAPE,
        (
            DAPE(ALiBi(heads=3), dim=4, width=5),
            DAPE(KerpleLog(heads=2), dim=3),
        ),
        "Zheng et al. 2024, arXiv:2405.14722",
        ("AliBi_DAPE", "ParallelKerpleLog_DAPE", "FIRE_DAPE (whose FIRE leaks)"),
        "For decoders that must run longer than they were trained, where content should correct a fixed bias.",
    ),
    Row(
        DAPEv2,
        (
            DAPEv2(ALiBi(heads=3), dim=4, width=5),
            DAPEv2(T5Bias(heads=2, buckets=6, max_distance=9), dim=3, width=3, kernel=5),
        ),
        "Zheng et al. 2024, arXiv:2410.04798",
        ("Alibi_DAPEV2", "Kerple_DAPEV2", "FIRE_DAPEV2"),
        "For DAPE where a pattern of neighbouring keys matters, as in copying.",
    ),
    Row(
        GatedBias,
        (
            GatedBias(T5Bias(heads=3, buckets=8, max_distance=20), dim=2),
            GatedBias(ALiBi(heads=2), dim=1),
        ),
        "Chen et al. 2021, arXiv:2110.13900",
        ("gru_rel_pos_linear (WavLM)", "gru_rel_pos_const (WavLM)", "grep_linear (unilm)"),
        "For speech encoders in which a frame should say how much its surroundings matter.",
    ),
    Row(
        AdditiveGRAPE,
        (
            AdditiveGRAPE(dim=4, heads=3),
            AdditiveGRAPE(dim=3, heads=2, gates="query", normalised=False),
            AdditiveGRAPE(dim=3, heads=2, gates="key"),
        ),
        "Zhang et al. 2025, arXiv:2512.07805",
        ("QueryKeyGatedAdditiveBias (GRAPE)", "QueryGatedAdditiveBias", "KeyGatedAdditiveBias"),
        "For ALiBi whose slopes the tokens themselves should set.",
    ),
    Row(
        PathGRAPE,
        (
            PathGRAPE(heads=3, model_dim=6, width=4),
            PathGRAPE(heads=2, model_dim=4, width=2, epsilon=0.01),
        ),
        "Zhang et al. 2025, arXiv:2512.07805",
        ("GRAPE-AP", "GRAPE additive, path integral"),
        "For decoders whose queries should say what of the way to a key counts, as a gate for each row does.",
    ),
    Row(
        RowGate,
        (RowGate(heads=3, model_dim=6, width=2), RowGate(heads=2, model_dim=3, width=4)),
        "no paper: x-transformers, after Lin et al. 2025, arXiv:2503.02130",
        ("PerRowDataDependentAlibi (x-transformers)",),
        "For a forgetting gate in which each query should decide what it forgets.",
    ),
    Row(
        Decomposed,
        (Decomposed(dim=4, size=(3, 4)), Decomposed(dim=3, size=(2, 3, 2))),
        "Li et al. 2022, arXiv:2112.01526",
        ("rel_pos_h, rel_pos_w (ViTDet, SAM)", "cal_rel_pos_spatial (MViTv2)"),
        "For large grids, where a table of all distances would be too large and the query should choose.",
    ),
)
