"""Encodings that rotate queries and keys: a row each."""

from __future__ import annotations

from posenc.encodings.axial_rope import AxialRoPE
from posenc.encodings.directional_rope import DirectionalRoPE
from posenc.encodings.dual_base import DualBaseRoPE
from posenc.encodings.headwise_rope import HeadwiseRoPE
from posenc.encodings.learned_rope import LearnedRoPE
from posenc.encodings.mixed_rope import MixedRoPE
from posenc.encodings.rope import RoPE
from posenc.encodings.temperature import LogNTemperature, StepTemperature
from posenc.encodings.value_rotation import ValueRotation
from posenc.encodings.xpos import XPos
from posenc.frequencies import Geometric, InTurns, Linear
from posenc.rows.row import Row

ROTATED: tuple[Row, ...] = (
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
        XPos,
        (XPos(dim=8), XPos(dim=6, base=100.0, scale_base=64.0, gamma=1.0, centre=3, pairing="halves")),
        "Sun et al. 2023, arXiv:2212.10554",
        ("LeX", "use_xpos (rotary-embedding-torch)", "rotary_xpos (x-transformers)", "scale_base (flash-attention)"),
        "For decoders whose far tokens should matter less, without giving up a rotation.",
    ),
    Row(
        DualBaseRoPE,
        (
            DualBaseRoPE(dim=8),
            DualBaseRoPE(dim=12, base=500.0, second_base=2e6, pairing="halves"),
            DualBaseRoPE(dim=8, numerics="float32"),
        ),
        "no paper: released code; the rotation is Su et al. 2021, arXiv:2104.09864",
        ("DualRotaryEncoder (fairseq2)",),
        "To give near and far tokens a ladder each within one head.",
    ),
    Row(
        LearnedRoPE,
        (LearnedRoPE(dim=8), LearnedRoPE(dim=6, base=100.0, pairing="halves")),
        "Su et al. 2021, arXiv:2104.09864",
        ("learned_freq (rotary-embedding-torch)",),
        "To let training choose the wavelengths; watch the gradient, which grows with position.",
    ),
    Row(
        AxialRoPE,
        (
            AxialRoPE(axis=(0, 0, 1, 1), rung=(0, 1, 0, 1), ladder=4, base=100.0),
            AxialRoPE(axis=(0, 1, 2, 0), rung=(0, 1, 2, 3), ladder=8, pairing="halves", scaling=Linear(factor=4.0)),
            AxialRoPE(axis=(0, 0, 1, 1), rung=(0, 1, 0, 1), ladder=4, pairing="halves", blocks=2, numerics="float32"),
            AxialRoPE(axis=(0, 1), rung=(1, 2), ladder=InTurns(Geometric(dim=6, base=100.0))),
        ),
        "Wang et al. 2024, arXiv:2409.12191",
        ("M-RoPE", "RotaryEmbeddingCat (timm)", "get_axial_freqs (rotary-embedding-torch)", "MRotaryEmbedding (vLLM)"),
        "For images, video and mixed media: each pair turns by one coordinate, which you choose.",
    ),
    Row(
        DirectionalRoPE,
        (
            DirectionalRoPE(direction=(0.0, 0.25, 0.5, 0.75), rung=(0, 1, 0, 1), ladder=4, base=100.0),
            DirectionalRoPE(direction=(0.0, 0.61, -0.78), rung=(0, 1, 2), ladder=6, pairing="halves"),
        ),
        "Liu et al. 2026, arXiv:2602.03227",
        ("Spiral RoPE", "GoldenGateRoPENd (article)"),
        "For images whose slanting neighbours should be told apart as well as those in a row.",
    ),
    Row(
        MixedRoPE,
        (MixedRoPE(dim=8), MixedRoPE(dim=4, base=100.0, pairing="halves")),
        "Heo et al. 2024, arXiv:2403.13298",
        ("RoPE-Mixed (rope-vit)", "RotaryEmbeddingMixed (timm)"),
        "For vision transformers trained long enough to find their own directions and wavelengths.",
    ),
    Row(
        LogNTemperature,
        (LogNTemperature(dim=8, length=3), LogNTemperature(dim=4, length=5, start=0)),
        "Su 2021, kexue.fm/archives/8823",
        ("use_logn_attn (Qwen)", "log-n scaling"),
        "Beside a rotation, so that attention over more keys than were trained on stays as sharp.",
    ),
    Row(
        StepTemperature,
        (StepTemperature(dim=8, floor=4), StepTemperature(dim=4, scale=0.5, floor=3, start=0)),
        "no paper: released code of Llama 4 and Ministral 3; after Nakanishi 2025, arXiv:2501.19399",
        ("attn_temperature_tuning (Llama 4)", "llama_4_scaling_beta (Ministral 3)"),
        "On layers without a rotation, whose attention would flatten over long contexts.",
    ),
    Row(
        HeadwiseRoPE,
        (
            HeadwiseRoPE(dim=4, heads=4, shares=(1, 2), pairing="adjacent"),
            HeadwiseRoPE(dim=6, heads=6, shares=(1, 2, 3), base=100.0),
        ),
        "Huang et al. 2025, arXiv:2510.23095",
        ("MHRoPE", "Multi-Head RoPE"),
        "For mixed media whose every coordinate should be told by all frequencies, each in heads of its own.",
    ),
    Row(
        ValueRotation,
        (ValueRotation(encoding=RoPE(dim=8)), ValueRotation(encoding=LearnedRoPE(dim=4))),
        "no paper: an article on VO-RoPE; the rotation is Su et al. 2021, arXiv:2104.09864",
        ("VO-RoPE", "inverse rotary on the output (DeepSeek-V4)"),
        "Beside a rotation of queries and keys, or without one, so that what is mixed carries its distance.",
    ),
)
