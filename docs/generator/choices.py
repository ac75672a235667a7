"""What each peer chose where the papers leave a choice, and how posenc writes it: the rows of docs/conventions.md.

A row with a figure is measured by tests/parity; one without says where it was read.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Choice:
    """One peer's choice.

    theirs: what it computes.   ours: how posenc says the same, or what it does instead.
    figure: the name of a measured figure in docs/conventions.json, with `size` the words around it, {} its place;
    without a figure `size` says what is known, and `source` where from.
    """

    topic: str
    peer: str
    theirs: str
    ours: str
    size: str
    figure: str = ""
    source: str = ""


PAIRS, ANGLES, WIDTHS = "Which channels pair", "Precision of the angle", "How many channels turn"
LONG, SINES, GRIDS, TABLES = "Longer than trained", "Sinusoids", "Grids", "Learned tables"
BIAS, CONTENT, KEPT = "Biases", "Scores that read content", "What a checkpoint holds"

CHOICES: tuple[Choice, ...] = (
    Choice(PAIRS, "transformers (Llama and most), equinox, Keras, vLLM by default", "channels i and i + d/2", '`pairing="halves"`',
           "{:.2f} between the two, of a head of ones", "pairing"),
    Choice(PAIRS, "torchtune, x-transformers, rotary-embedding-torch, GPT-J, Meta's Llama", "channels 2i and 2i + 1",
           '`pairing="adjacent"`, the default, as in the paper', "bit-equal with `numerics=\"float32\"`", source="tests/parity, live"),
    Choice(PAIRS, "flash-attention", "the module pairs halves, `flash_attn_with_kvcache` pairs neighbours, both by default",
           "the field is always of the record", "as above where the two meet", source="flash_attn/layers/rotary.py, flash_attn_interface.py"),
    Choice(PAIRS, "diffusers", "neighbours (`use_real_unbind_dim=-1`) or halves (-2), by argument, in two functions that must agree",
           "`pairing`, once", "bit-equal either way", source="tests/parity, live"),
    Choice(ANGLES, "transformers, torchtune, x-transformers, rotary-embedding-torch, timm", "position times frequency in float32",
           '`numerics="float32"` repeats it bit for bit; the default is exact', "cosine off by {:.4f} before position 131,072",
           "float32 angle at 131072"),
    Choice(ANGLES, "the same", "the same, further out", "exact at every position", "cosine off by {:.3f} before 1,000,000",
           "float32 angle at 1000000"),
    Choice(ANGLES, "diffusers", "float32 by default, float64 where Flux asks for it", "exact, whatever the model's dtype",
           "{:.3f} between the two before 1,000,000", "diffusers float64"),
    Choice(ANGLES, "transformers", "`module.to(bfloat16)` rounds the frequencies too", "no buffer that a cast could reach",
           "cosine off by {:.2f} before position 1,000", "bfloat16 buffer at 1000"),
    Choice(ANGLES, "transformers", "the same", "the same", "cosine off by {:.2f} before 8,000, of 2 at most", "bfloat16 buffer at 8000"),
    Choice(ANGLES, "x-transformers", "`module.bfloat16()` rounds the frequencies", "the same", "cosine off by {:.2f} before 8,000",
           "bfloat16 of x-transformers"),
    Choice(ANGLES, "rotary-embedding-torch", "the frequencies are a parameter and are rounded with the model", "the same",
           "a turned head of ones off by {:.2f} before 8,000", "bfloat16 of rotary-embedding-torch"),
    Choice(ANGLES, "transformers in bfloat16", "cos, sin, both products and the sum rounded to bfloat16", "formed in float32, rounded once",
           "{:.4f} between the two, of normal numbers", "table in bfloat16"),
    Choice(ANGLES, "equinox", "tables kept by width and dtype, not by base: a second module turns by the base of the first",
           "no table is kept", "{:.2f} for base 500,000 after base 10,000, of vectors of ones", "equinox cache"),
    Choice(ANGLES, "ggml", "frequencies multiplied up pair by pair", "each from its own power", "cosine off by {:.3f} before 1,000,000 (128 channels)",
           figure="multiplied up", source="computed from the formula of ggml-cpu/ops.cpp"),
    Choice(WIDTHS, "transformers `partial_rotary_factor`, GPT-NeoX", "exponents over the turned width", "`Partial(RoPE(dim=16), dim=64)`",
           "bit-equal", source="tests/parity, live"),
    Choice(WIDTHS, 'transformers `rope_type="proportional"` (Gemma)', "exponents over the whole head, the slower pairs still",
           "`scaling=Proportional(fraction=…)`", "a pair's frequency differs by up to {:.1%} from the row above", "partial width"),
    Choice(WIDTHS, "x-transformers", "half of the head by default", "`dim` is what turns, `Partial` says of how much",
           "{:.0f} of 64 channels", "x-transformers width"),
    Choice(WIDTHS, "DeepSeek", "the last channels of the head", "`Partial(…, start=…)`", "another slice altogether",
           source="transformers, models/deepseek_v4"),
    Choice(LONG, "transformers `dynamic`", "the base follows the longest row of the batch, at run time",
           "`DynamicNTK(length=…)`: a stated length in a frozen record",
           "the cosines of one row change by {:.2f} when a longer row joins its batch", "dynamic beside a longer row"),
    Choice(LONG, "posenc", "the same two batches", "a record has no batch", "change by {:.0f}", "dynamic in a record"),
    Choice(LONG, "transformers `longrope`", "short or long list by the longest row of the batch", "`LongRoPE(length=…)` chooses once",
           "change by {:.2f}, the attention factor included", "longrope beside a longer row"),
    Choice(LONG, "every release of YaRN", "a ramp linear in the channel", "`YaRN`; the ramp of the paper, linear in rotations, is `NTKByParts`",
           "a frequency exceeds the paper's by up to {:.0%} (128 channels, 16 × 4096)", "yarn ramp"),
    Choice(LONG, "transformers, vLLM, ggml against gpt-oss", "ends of the ramp rounded to whole pairs, or not", "`YaRN(truncate=…)`",
           "{:.0%} of one pair's frequency (64 channels, base 150,000, 32 × 4096)", "yarn truncate"),
    Choice(LONG, "transformers, vLLM, Megatron", "YaRN's factor within cos and sin", "`attention_factor`, in the Turn",
           "every logit × {:.2f} at 16 times the length", "yarn in the logits", source="computed from the two formulas"),
    Choice(LONG, "torchtitan", "the factor outside, in the scale of the softmax", '`attention_of("outside", …)`', "the same logits, another place",
           source="torchtitan/models/common/rope.py"),
    Choice(LONG, "transformers against Megatron and vLLM", "`mscale` alone: ignored, or used with `mscale_all_dim` = 0",
           "`attention_of(dialect, …)` asks which", "factor differs by × {:.3f} for mscale 0.707, 40 times", "yarn mscale alone", source="computed from the two formulas"),
    Choice(LONG, "transformers", "the same file", '`attention_of("transformers", …)`', "attention factor {:.4f}", "yarn mscale of transformers"),
    Choice(LONG, "diffusers `ntk_factor`", "base × factor, without the exponent d/(d-2)", "`RoPE(base=base·factor)`; the rule is `NTKAware`",
           "up to {:.0%} of a frequency (32 channels, 8 times)", "diffusers ntk"),
    Choice(LONG, "vLLM `ntk`", "every channel slower besides, by s^(-2/d)", "`NTKFixed`", "first channel × {:.3f} (8 times, 128 channels)",
           figure="ntk fixed", source="computed from the formula of vllm, ntk_scaling_rope.py"),
    Choice(LONG, "Keras `dynamic`", "all frequencies ÷ s^(d/(d-2)), which is no NTK rule", "`Linear`, of that factor", "÷ 8^(128/126) on every channel (8 times, 128 channels)",
           source="keras_hub, rotary_embedding.py"),
    Choice(LONG, "rotary-embedding-torch, x-transformers, flash-attention: xPos", "centre at half of the length of the moment",
           "`XPos(centre=…)`, a field, so cached keys stay right", "logit of a key cached at 100 and a query at 4,095 × {:.2f}", "xpos cache"),
    Choice(SINES, "Whisper, M2M-100, MusicGen, MaxText, MLX", "exponent i/(d/2-1)", '`exponent="i/(d/2-1)"`',
           "{:.2f} from the paper's 2i/d (512 channels, 512 positions)", "exponent"),
    Choice(SINES, "MusicGen, meliad, diffusers `flip_sin_to_cos`", "cosines first", '`first="cosine"`', "{:.2f} from sines first", "cosine first"),
    Choice(SINES, "the paper, SpeechT5, positional-encodings", "sine and cosine by turns", '`layout="interleaved"`, the default',
           "{:.2f} from all sines, then all cosines", "interleaved"),
    Choice(SINES, "positional-encodings", "an odd width is the next even one, cut", 'odd widths are refused unless `odd="truncate"` or `"zero"`, over the width itself',
           "{:.2f} at 7 channels", "odd width"),
    Choice(SINES, "positional-encodings", "the module casts its frequencies with the model", "exact, rounded once at the end",
           "{:.2f} in bfloat16 before 8,000", "bfloat16 of positional-encodings"),
    Choice(SINES, "x-transformers", "times a learned number", "`LearnedScale(Sinusoidal(…), initial=…)`", "× {:.3f} at 64 channels, before training",
           "x-transformers scale"),
    Choice(SINES, "MLX", "times √(2/d)", "`scale=`", "× √(2/d)", source="mlx, nn/layers/positional_encoding.py"),
    Choice(SINES, "meliad", "positions times π", "multiply the positions", "another function", source="meliad, transformer/position.py"),
    Choice(SINES, "diffusers `get_timestep_embedding`", "shift 1 by default, 0 in Stable Diffusion", "`TimestepEmbedding(shift=…)`",
           "{:.2f} between the two (320 channels, 1,000 times)", "timestep shift"),
    Choice(SINES, "diffusers `Timesteps`", "cosines first where `flip_sin_to_cos`", "`TimestepEmbedding(flip=…)`", "{:.2f} between the two", "timestep flip"),
    Choice(SINES, "Perceiver against NeRF", "bands evenly spaced against doubled", '`FourierFeatures(spacing="linear")` or `"octaves"`',
           "the second of six bands is {:.2f} times the first (resolution 16), not 2", "second band of the Perceiver"),
    Choice(GRIDS, "diffusers, the authors of MAE", "the column's channels first", "`GridSinusoidal(order=(1, 0))`; the row first by default, as in transformers",
           "{:.2f} between the two (7 × 7 places, 24 channels)", "column first"),
    Choice(GRIDS, "timm", "the sines of both axes, then the cosines", '`GridSinusoidal(layout="gathered")`', "{:.2f} from axis by axis", "gathered"),
    Choice(GRIDS, "DETR", "places counted from 1, over what is no padding", "`positions.grid_from_mask`", "{:.2f} from counting from 0", "counted from one"),
    Choice(GRIDS, "positional-encodings in three dimensions", "three equal slices, cut to the width", "`GridSinusoidal(dims=…, ladder=…)` says how wide each is",
           "with 8 channels a step along the third axis changes the table by {:.0f}", "third axis"),
    Choice(GRIDS, "diffusers `get_2d_sincos_pos_embed`", "coordinates stretched to a base size of 16", "the positions are the caller's", "coordinates × 16/side", source="tests/parity, live"),
    Choice(GRIDS, "Qwen2-VL against Qwen3-VL", "sections of pairs one after another, or interleaved", '`axial("qwen2-vl", …)` or `axial("qwen3-vl", …)`',
           "{:.0f} of 64 pairs read another coordinate, sections (24, 20, 20)", "sections", source="computed; both are bit-equal to transformers in tests/parity"),
    Choice(GRIDS, "transformers, HunYuan-VL", "sections cut through the channels of a pair; the authors' first code and vLLM (xdrope.py) deal out pairs",
           '`XDRoPE(…)`; the rotation is `axial("qwen2-vl", …)`', "{:.2f} between the two, of a head of ones on an image of 16 × 16; 0 in text",
           "sections over channels", source="measured; both tables were read, transformers' is bit-equal in tests/parity"),
    Choice(GRIDS, "Llama 4's vision", "rows and columns counted from 1", "the positions are the caller's", "one step each", source="transformers, models/llama4"),
    Choice(TABLES, "OPT", "the first place is row 2", "add 2 to the positions", "row {:.0f}", "offset of OPT"),
    Choice(TABLES, "BART, MVP, BioGPT", "the same", "the same", "row {:.0f}", "offset of BART"),
    Choice(TABLES, "RoBERTa, XLM-R, M2M-100", "row padding_idx + 1, counted over what is no padding", "positions of your own", "row {:.0f}", "offset of RoBERTa"),
    Choice(TABLES, "timm against transformers", "bicubic resizing with antialias, or without", "`resize_table(antialias=…)`, always stated",
           "{:.2f} of a table from N(0, 1), 14×14 to 7×7", "antialias"),
    Choice(TABLES, "Gemma, Marian, BART", "token embeddings × √d before anything is added", "the model's own doing", "× √d",
           source="transformers, models/gemma"),
    Choice(BIAS, "BLOOM, MPT, x-transformers, flash-attention: slopes for 12 heads", "the paper's rule, the odd slopes of 16 heads last",
           '`ALiBi(rule="paper")`, the default', "{:.0e} of a slope", "alibi of BLOOM"),
    Choice(BIAS, "attention-gym, meliad", "2^(-8(h+1)/H) for any H", '`ALiBi(rule="geometric")`', "a slope of 12 differs by up to {:.2f}", "alibi geometric", source="computed from the two formulas"),
    Choice(BIAS, "foundation-model-stack", "exponents evenly from -1 to -8", '`ALiBi(rule="linear")`', "a slope of 12 differs by up to {:.2f}", "alibi linear", source="computed from the two formulas"),
    Choice(BIAS, "Falcon", "slope times place rounded to bfloat16", "exact, rounded once", "up to {:.2%} of the bias", "alibi of Falcon"),
    Choice(BIAS, "Falcon", "(q·k + bias)/√d", "the bias comes after the scale, as in the paper", "÷ 8 at heads of 64",
           source="transformers, models/falcon"),
    Choice(BIAS, "BLOOM, MPT", "slope times key: right only behind a causal mask", '`form="symmetric"` by default, `"signed"` by name',
           "{:.0f} for a key 29 ahead, of slope 1/2", "alibi without a mask"),
    Choice(BIAS, "x-transformers", "T5's bias × √(channels of a head)", "`T5Bias(scale=…)`", "× {:.0f} at heads of 64", "t5 scale"),
    Choice(BIAS, "T5", "content logits are not divided by √d", "`attention(…, scale=1.0)`", "× {:.0f}", "t5 content scale"),
    Choice(BIAS, "FIRE in the code of DAPE", "threshold L/2", "`FIRE(threshold=…)`", "half the length", source="the authors' positional_embeddings.py"),
    Choice(BIAS, "timm `RelPosMlp`", "a hidden layer of its own width", "`LogCPB(width=…)`", "{:.0f} channels against the paper's 512", "log-CPB width"),
    Choice(CONTENT, "x-transformers CoPE", "a fixed number of rows", "`CoPE(rows=…)`", "{:.0f} rows when nothing is said", "cope rows"),
    Choice(CONTENT, "DeBERTa", "the key's term reads the row of m - n, where the paper writes n - m", "as released", "another row of the table",
           source="tests/parity, live"),
    Choice(CONTENT, "FoPE: the authors' code against vLLM", "sine of a left-out frequency is 1, or 0", "`FoPE(padding=\"one\")` or `\"zero\"`",
           "{:.2f} of a turned head of ones (64 channels, length 512)", "fope padding", source="computed from both, after the authors' olmo/model.py and vllm's fope.py"),
    Choice(KEPT, "x-transformers", "frequencies in the state dict", "nothing but what is learned", "{:.0f} tensor", "kept by x-transformers"),
    Choice(KEPT, "positional-encodings", "the same", "the same", "{:.0f} tensor", "kept by positional-encodings"),
    Choice(KEPT, "rotary-embedding-torch", "frequencies as a parameter, frozen or not", "`LearnedRoPE` where they should learn", "{:.0f} tensor", "kept by rotary-embedding-torch"),
    Choice(KEPT, "posenc", "a sinusoid's module", "no buffers at all", "{:.0f} tensors", "kept by posenc"),
)  # fmt: skip
