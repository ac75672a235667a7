"""Catalog rows of RoPE with frequencies scaled for a longer context, one row for each scaling."""

from __future__ import annotations

from posenc.core.row import Row
from posenc.encodings.rotates.rope import RoPE
from posenc.frequencies import (
    Clipped,
    DynamicNTK,
    Linear,
    Llama3,
    LongRoPE,
    NTKAware,
    NTKByParts,
    NTKFixed,
    NTKMixed,
    Proportional,
    Resonance,
    RIFLEx,
    YaRN,
)


def _row(paper: str, elsewhere: tuple[str, ...], use: str, *samples: RoPE) -> Row:
    return Row(RoPE, samples, paper, elsewhere, use, title=type(samples[0].scaling).__name__)


ROWS: tuple[Row, ...] = (
    _row(
        "Chen et al. 2023, arXiv:2306.15595",
        ("linear", "position interpolation", "interpolation_factor", "rope_scale"),
        "For a slightly longer context after some training; without training, prefer YaRN.",
        RoPE(dim=8, scaling=Linear(factor=4.0)),
        RoPE(dim=12, pairing="halves", numerics="float32", scaling=Linear(factor=2.5)),
    ),
    _row(
        "bloc97 2023, in Peng et al. 2023, arXiv:2309.00071, §3.1",
        ("base_rescale_factor (x-transformers)", "theta_rescale_factor", "alpha (vLLM, HunYuan)"),
        "For a longer context without training, with one number to choose.",
        RoPE(dim=8, scaling=NTKAware(factor=4.0)),
        RoPE(dim=8, numerics="float32", scaling=NTKAware(factor=3.0)),
    ),
    _row(
        "emozilla 2023, in Peng et al. 2023, arXiv:2309.00071, §3.3",
        ("dynamic",),
        "For a model whose config says dynamic, at the length that it will serve.",
        RoPE(dim=8, scaling=DynamicNTK(factor=2.0, original=64, length=200)),
        RoPE(dim=8, numerics="float32", scaling=DynamicNTK(factor=4.0, original=2048, length=5000)),
    ),
    _row(
        "Su 2023, kexue.fm/archives/9706",
        ("ntk (vLLM)",),
        "To compare with NTKAware: it slows the fastest pair too.",
        RoPE(dim=8, scaling=NTKFixed(factor=4.0)),
    ),
    _row(
        "Su 2023, kexue.fm/archives/9706",
        ("ntk with mixed_b (vLLM)",),
        "To choose how much each pair is slowed.",
        RoPE(dim=8, scaling=NTKMixed(factor=4.0, b=0.75)),
    ),
    _row(
        "Peng et al. 2023, arXiv:2309.00071, §3.2",
        ("YaRN in the ramp of its paper",),
        "To get what the paper of YaRN describes; its released code differs.",
        RoPE(dim=8, scaling=NTKByParts(factor=4.0, original=64, alpha=0.5, beta=8.0)),
        RoPE(dim=16, scaling=NTKByParts(factor=8.0, original=4096)),
    ),
    _row(
        "Peng et al. 2023, arXiv:2309.00071, §3.4",
        ("yarn", "deepseek_yarn (vLLM)", "YarnRotaryEmbedding (Megatron)"),
        "For a long context with little training, and for most open models with an extended context.",
        RoPE(dim=8, scaling=YaRN(factor=4.0, original=64, beta_fast=8.0)),
        RoPE(dim=16, base=150_000.0, scaling=YaRN(factor=32.0, original=4096, truncate=False)),
        RoPE(dim=8, scaling=YaRN(factor=40.0, original=4096, mscale=1.0, mscale_all_dim=0.5)),
        RoPE(dim=8, scaling=YaRN(factor=4.0, original=512, attention=1.0)),
        RoPE(dim=12, pairing="halves", numerics="float32", scaling=YaRN(factor=4.0, original=512, beta_slow=2.0)),
    ),
    _row(
        "Grattafiori et al. 2024, arXiv:2407.21783, and the code released with it",
        ("llama3", "scale_factor (torchtune)"),
        "For the models of the Llama 3 and 4 families.",
        RoPE(dim=8, scaling=Llama3(factor=4.0, original=256)),
        RoPE(dim=8, scaling=Llama3(factor=4.0, original=600, low=1.0, high=1.0)),
        RoPE(dim=12, base=500_000.0, pairing="halves", numerics="float32", scaling=Llama3()),
    ),
    _row(
        "Ding et al. 2024, arXiv:2402.13753",
        ("longrope", "su", "rope_factors_long.weight (GGUF)"),
        "For models that come with such lists, for example Phi.",
        RoPE(
            dim=6,
            scaling=LongRoPE(short=(1.0, 1.0, 1.5), long=(1.0, 3.25, 40.0), original=64, length=65, factor=4.0),
        ),
        RoPE(
            dim=6,
            numerics="float32",
            scaling=LongRoPE(
                short=(1.0, 1.1, 1.5), long=(1.0, 3.0, 40.0), original=64, length=64, factor=4.0, attention=1.25
            ),
        ),
    ),
    _row(
        "Barbero et al. 2024, arXiv:2410.06205",
        ("proportional", "p-RoPE"),
        "To keep the slow pairs free for content.",
        RoPE(dim=8, scaling=Proportional(fraction=0.5)),
        RoPE(dim=12, pairing="halves", numerics="float32", scaling=Proportional(fraction=0.25, factor=8.0)),
    ),
    _row(
        "Wang et al. 2024, arXiv:2403.00071",
        ("Resonance RoPE", "Resonance YaRN"),
        "For a longer context in which pairs that completed a full revolution in training meet no new angle.",
        RoPE(dim=8, scaling=Resonance()),
        RoPE(dim=8, scaling=Resonance(scaling=YaRN(factor=4.0, original=64, beta_fast=8.0))),
    ),
    _row(
        "Zhao et al. 2025, arXiv:2502.15894",
        ("RIFLEx", "get_1d_rotary_pos_embed_riflex"),
        "For videos longer than those of training: slow the one pair of time whose revolutions make them repeat.",
        RoPE(dim=8, scaling=RIFLEx(pair=1, length=200)),
        RoPE(dim=12, pairing="halves", numerics="float32", scaling=RIFLEx(pair=2, length=500, share=1.0)),
    ),
    _row(
        "Li et al. 2026, arXiv:2602.05258",
        ("CoPE (clipped RoPE)", "HardClip", "clip_low_n"),
        "For a longer context after some training, when the slowest pairs rotate too little to be learned.",
        RoPE(dim=12, scaling=Clipped(count=4)),
        RoPE(dim=8, scaling=Clipped(count=2, soft=False, scaling=Llama3(factor=4.0, original=256))),
        RoPE(dim=12, pairing="halves", numerics="float32", scaling=Clipped(count=3)),
    ),
)
