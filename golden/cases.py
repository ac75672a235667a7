"""What the golden vectors are of: a name, the encoding it stands for, and where it comes from."""

from __future__ import annotations

from typing import NamedTuple

from posenc import (
    ALiBi,
    AxialRoPE,
    DeBERTa,
    DualBaseRoPE,
    DynamicNTK,
    FourierFeatures,
    Linear,
    Llama3,
    LongRoPE,
    NTKAware,
    NTKByParts,
    NTKFixed,
    NTKMixed,
    Partial,
    Proportional,
    Resonance,
    RoPE,
    Sandwich,
    Sinusoidal,
    T5Bias,
    TimestepEmbedding,
    YaRN,
)
from posenc.core.doors import Encoding
from posenc.frequencies import attention_of


class Case(NamedTuple):
    """One entry of a family: its name in the files, the encoding, and what it is called or used by."""

    name: str
    encoding: Encoding
    about: str


#: Near, at the edges of trained lengths, and far.
POSITIONS = (0, 1, 2, 3, 7, 63, 100, 511, 1000, 2047, 4095, 4096, 8191, 32_768, 131_071, 524_289, 2**20 - 1, 2**20)
#: Time, height and width: text, two rows of a picture, text again, and far out.
PLACES = ((0, 0, 0), (1, 1, 1), (2, 2, 2), (2, 2, 3), (2, 2, 9), (2, 3, 2), (2, 3, 9), (10, 10, 10), (4095, 4095, 4095),
          (131_071, 17, 40), (2**20, 2**20 - 1, 524_289))  # fmt: skip
#: Between whole positions, for coordinates.
COORDINATES = (-1.0, -0.5, -0.1, 0.0, 0.25, 0.3, 0.7071, 1.0)
#: Steps of the key from the query.
DISTANCES = (
    *range(-140, 141),
    *(sign * far for far in (255, 256, 511, 512, 799, 801, 4096, 2**20) for sign in (-1, 1)),
)

HALVES = "halves"
FAMILIES = ("rotary", "sinusoidal", "slopes", "buckets", "distances")


def deepseek(dialect: str) -> YaRN:
    """mscale 0.707 alone, as three readers take it."""
    return YaRN(40.0, 4096, attention=attention_of(dialect, 40.0, 0.707, None))  # type: ignore[arg-type]


def longrope(length: int) -> LongRoPE:
    """Lists that grow along the pairs; those of released checkpoints belong to their files."""
    short = tuple(1.0 + pair / 64 for pair in range(32))
    return LongRoPE(short, tuple(1.0 + pair * pair / 16 for pair in range(32)), 4096, length, 32.0)


def blocks(*counts: int) -> tuple[int, ...]:
    """The axis of every pair where each axis has a run of them."""
    return tuple(axis for axis, count in enumerate(counts) for _ in range(count))


def interleaved(*counts: int) -> tuple[int, ...]:
    """Pair i reads axis i mod 3 up to three times that axis's count, and time beyond (mrope_interleaved)."""
    return tuple(pair % 3 if pair < 3 * counts[pair % 3] else 0 for pair in range(sum(counts)))


def own_frequencies(*counts: int) -> tuple[int, ...]:
    """The frequency index of every pair where each axis begins at the fastest."""
    return tuple(index for count in counts for index in range(count))


ALL = tuple(range(32))
#: Rotations over several axes: which coordinate each pair reads, in `axis`.
AXES = (
    Case(
        "picture_own_ladders",
        AxialRoPE(blocks(16, 16), own_frequencies(16, 16), 32),
        "two axes, each with its own frequencies",
    ),
    Case(
        "picture_halves",
        AxialRoPE(blocks(16, 16), own_frequencies(16, 16), 32, pairing=HALVES),
        "Qwen2-VL, Pixtral: vision",
    ),
    Case("sections", AxialRoPE(blocks(8, 12, 12), ALL, 64, 1e6, HALVES), "mrope_section in blocks: Qwen2-VL"),
    Case(
        "sections_interleaved", AxialRoPE(interleaved(12, 10, 10), ALL, 64, 5e6, HALVES), "mrope_interleaved: Qwen3-VL"
    ),
    Case("sections_yarn", AxialRoPE(blocks(8, 12, 12), ALL, 64, 1e6, HALVES, scaling=YaRN(4.0, 32_768)), "with YaRN"),
    Case(
        "video",
        AxialRoPE(blocks(12, 10, 10), own_frequencies(12, 10, 10), 24),
        "three axes, each from the highest of one set of frequencies",
    ),
)

ROTARY = (
    Case("plain", RoPE(64), "the paper"),
    Case("plain_halves", RoPE(64, pairing=HALVES), "GPT-NeoX, Llama in the files of Hugging Face"),
    Case("base_500000", RoPE(64, base=500_000.0, pairing=HALVES), "Llama 3"),
    Case("base_1000000", RoPE(64, base=1e6, pairing=HALVES), "Qwen, Mistral, CodeLlama"),
    Case("base_10000000", RoPE(64, base=1e7, pairing=HALVES), "Qwen3.5, Qwen3-30B of 2507"),
    Case("partial_quarter", Partial(RoPE(16, pairing=HALVES), 64), "GPT-NeoX, Pythia"),
    Case("partial_end", Partial(RoPE(16), 48, start=32), "the last channels rotate, as in multi-head latent attention"),
    Case("two_bases", DualBaseRoPE(64, pairing=HALVES), "fairseq2"),
    Case("linear_4", RoPE(64, pairing=HALVES, scaling=Linear(4.0)), "position interpolation"),
    Case("linear_8_base_1000000", RoPE(64, 1e6, HALVES, scaling=Linear(8.0)), "global layers of Gemma 3"),
    Case("ntk_aware_4", RoPE(64, pairing=HALVES, scaling=NTKAware(4.0)), "alpha of vLLM"),
    Case("ntk_fixed_4", RoPE(64, pairing=HALVES, scaling=NTKFixed(4.0)), "ntk of vLLM"),
    Case("ntk_mixed_4", RoPE(64, pairing=HALVES, scaling=NTKMixed(4.0, b=0.625)), "ntk of vLLM with mixed_b"),
    Case("ntk_by_parts_4", RoPE(64, pairing=HALVES, scaling=NTKByParts(4.0, 4096)), "the text of the YaRN paper"),
    Case("dynamic_inside", RoPE(64, pairing=HALVES, scaling=DynamicNTK(2.0, 4096, 4096)), "dynamic, not stretched yet"),
    Case("dynamic_beyond", RoPE(64, pairing=HALVES, scaling=DynamicNTK(2.0, 4096, 8192)), "dynamic, at 8192"),
    Case("yarn_4", RoPE(64, 1e6, HALVES, scaling=YaRN(4.0, 32_768)), "Qwen at 131072"),
    Case("yarn_16_betas", RoPE(64, 1e6, HALVES, scaling=YaRN(16.0, 16_384, 48.0, 2.0)), "other ends of the ramp"),
    Case("yarn_untruncated", RoPE(64, 150_000.0, HALVES, scaling=YaRN(32.0, 4096, truncate=False)), "gpt-oss"),
    Case("yarn_truncated", RoPE(64, 150_000.0, HALVES, scaling=YaRN(32.0, 4096)), "gpt-oss, misread"),
    Case("yarn_mscale_equal", RoPE(64, scaling=YaRN(40.0, 4096, mscale=1.0, mscale_all_dim=1.0)), "DeepSeek-V3"),
    Case("yarn_mscale_ratio", RoPE(64, scaling=YaRN(40.0, 4096, mscale=1.0, mscale_all_dim=0.5)), "both, unequal"),
    Case(
        "yarn_mscale_alone_transformers", RoPE(64, scaling=deepseek("transformers")), "mscale 0.707 alone: transformers"
    ),
    Case("yarn_mscale_alone_megatron", RoPE(64, scaling=deepseek("megatron")), "mscale 0.707 alone: Megatron, vLLM"),
    Case("yarn_mscale_alone_outside", RoPE(64, scaling=deepseek("outside")), "mscale 0.707 alone: torchtitan"),
    Case("yarn_attention_1", RoPE(64, scaling=YaRN(4.0, 4096, attention=1.0)), "attention factor switched off"),
    Case("llama3_8", RoPE(64, 500_000.0, HALVES, scaling=Llama3(8.0, 8192)), "Llama 3.1"),
    Case("llama3_32", RoPE(64, 500_000.0, HALVES, scaling=Llama3(32.0, 8192)), "Llama 3.2"),
    Case("llama3_no_band", RoPE(64, 500_000.0, scaling=Llama3(16.0, 8192, 1.0, 1.0)), "Llama 4 Scout"),
    Case("longrope_short", RoPE(64, pairing=HALVES, scaling=longrope(4096)), "Phi-3, inside the trained length"),
    Case("longrope_long", RoPE(64, pairing=HALVES, scaling=longrope(131_072)), "Phi-3, beyond it"),
    Case("proportional_quarter", RoPE(64, 1e6, HALVES, scaling=Proportional(0.25)), "global layers of Gemma 4"),
    Case("resonance", RoPE(64, pairing=HALVES, scaling=Resonance()), "whole wavelengths"),
    Case(
        "resonance_yarn", RoPE(64, pairing=HALVES, scaling=Resonance(YaRN(4.0, 4096))), "whole wavelengths after YaRN"
    ),
)

SINUSOIDAL = (
    Case("paper", Sinusoidal(16), "Vaswani et al. 2017"),
    Case("from_one", Sinusoidal(16, start=1), "tokens counted from 1"),
    Case("cosine_first", Sinusoidal(16, first="cosine"), "cosines on the even channels"),
    Case("concatenated", Sinusoidal(16, layout="concatenated"), "all sines, then all cosines"),
    Case("concatenated_cosine_first", Sinusoidal(16, layout="concatenated", first="cosine"), "all cosines first"),
    Case("half_exponent", Sinusoidal(16, exponent="i/d"), "exponent i/d, as many tutorials write it"),
    Case(
        "tensor2tensor", Sinusoidal(16, layout="concatenated", exponent="i/(d/2-1)"), "tensor2tensor, Whisper, fairseq"
    ),
    Case("odd_truncated", Sinusoidal(15, odd="truncate"), "an odd width without its last cosine"),
    Case(
        "odd_zero", Sinusoidal(15, odd="zero", layout="concatenated", exponent="i/(d/2-1)"), "an odd width ending in 0"
    ),
    Case("mlx", Sinusoidal(16, layout="concatenated", exponent="i/(d/2-1)", scale=0.125**0.5), "MLX"),
    Case("timestep_ddpm", TimestepEmbedding(16), "DDPM"),
    Case("timestep_adm", TimestepEmbedding(16, shift=0.0, flip=True), "ADM, Stable Diffusion, Flux"),
)

SLOPES = (
    *(
        Case(f"paper_{heads}", ALiBi(heads), "BLOOM, MPT, Falcon")
        for heads in (1, 3, 6, 8, 12, 16, 20, 32, 40, 71, 112)
    ),
    *(Case(f"geometric_{heads}", ALiBi(heads, rule="geometric"), "attention-gym, meliad") for heads in (12, 40)),
    *(Case(f"linear_{heads}", ALiBi(heads, rule="linear"), "foundation-model-stack") for heads in (12, 16)),
    Case("steepest_4", ALiBi(12, steepest=4.0), "alibi_bias_max 4 in MPT"),
)

BUCKETS = (
    Case("t5_both", T5Bias(heads=1), "T5 encoder"),
    Case("t5_past", T5Bias(heads=1, bidirectional=False), "T5 decoder"),
    Case("wavlm", T5Bias(heads=1, buckets=320, max_distance=800), "WavLM"),
    Case("t5_odd", T5Bias(heads=1, buckets=7, max_distance=16, bidirectional=False), "an odd number of buckets"),
    Case("deberta", DeBERTa(dim=4, heads=1, buckets=256, max_distance=512), "DeBERTa v2 and v3: rows of the table"),
)

DISTANCE = (
    Case("sandwich", Sandwich(heads=8, dim=32), "the bias of every head"),
    Case("alibi_signed", ALiBi(8, form="signed"), "the formula of the paper on both sides"),
    Case("alibi", ALiBi(8), "the bias of every head"),
)

COORDINATE = (
    Case("octaves", FourierFeatures(bands=4), "NeRF"),
    Case("linear_bands", FourierFeatures(4, "linear", 16.0, "concatenated", True), "Perceiver"),
)
