"""Encodings made of encodings: a row each."""

from __future__ import annotations

from posenc.compose import Backward, Concatenated, LearnedScale, Partial, Scaled, Sum
from posenc.encodings.learned import Learned
from posenc.encodings.rope import RoPE
from posenc.encodings.sinusoidal import Sinusoidal
from posenc.frequencies import YaRN
from posenc.rows.row import Row

COMPOSED: tuple[Row, ...] = (
    Row(
        Sum,
        (
            Sum((Sinusoidal(dim=8), Learned(dim=8, length=16))),
            Sum((Sinusoidal(dim=6), Sinusoidal(dim=6, base=100.0), Sinusoidal(dim=6, base=7.0, layout="concatenated"))),
        ),
        "no paper: a usual hybrid; its parts are of Vaswani et al. 2017, arXiv:1706.03762",
        ("fixed and learned together", "hybrid embedding"),
        "To give a fixed table a learned correction, or positions of several kinds a vector together.",
    ),
    Row(
        Scaled,
        (Scaled(Sinusoidal(dim=6), 0.5), Scaled(Learned(dim=4, length=9), -3.0)),
        "no paper: released code; what is scaled is of Vaswani et al. 2017, arXiv:1706.03762",
        ("scale (SinusoidalPositionalEncoding of MLX)",),
        "To set how loud position is beside embeddings of another size.",
    ),
    Row(
        LearnedScale,
        (LearnedScale(Sinusoidal(dim=6), initial=0.25), LearnedScale(Learned(dim=4, length=9, std=1.0), initial=0.5)),
        "Li et al. 2019, arXiv:1809.08895",
        ("ScaledSinusoidalEmbedding (x-transformers)", "ScaledPositionalEncoding (ESPnet)"),
        "To let training choose how loud position is, for one number.",
    ),
    Row(
        Concatenated,
        (Concatenated(Sinusoidal(dim=4)), Concatenated(Learned(dim=3, length=7))),
        "no paper: the notes' first idea, a feature beside the others",
        ("position as a feature",),
        "To keep position and content in channels of their own, at the price of a wider model.",
    ),
    Row(
        Partial,
        (
            Partial(RoPE(dim=4, pairing="halves"), dim=10),
            Partial(RoPE(dim=6, scaling=YaRN(factor=8.0, original=128)), dim=10, start=3),
        ),
        "Black et al. 2022, arXiv:2204.06745",
        ("partial_rotary_factor", "rotary_pct (GPT-NeoX)", "rotary_dim (GPT-J)", "qk_rope_head_dim (DeepSeek)"),
        "To leave channels of a head free of position: the first ones turn, or the last ones.",
    ),
    Row(
        Backward,
        (
            Backward(RoPE(dim=6, pairing="halves")),
            Backward(RoPE(dim=4, base=100.0, scaling=YaRN(factor=8.0, original=128))),
        ),
        "no paper: released code of NanoChat; the rotation is Su et al. 2021, arXiv:2104.09864",
        ("NanoChatRotaryEmbedding", "rotate_half of (b, -a)"),
        "To run weights that were trained with the other sign.",
    ),
)
