"""Every positional encoding that the survey of the field found, and where posenc has it: the rows of docs/coverage.md.

`where` names what gives it: a row of the catalog, a field as `Class.field`, or a function as `posenc.module.name`. What
is left out says why in `said`.
"""

from __future__ import annotations

from dataclasses import dataclass

#: The survey's items: letters of its parts, and how many each has.
PARTS = {
    "A": ("Added to the embedding", 15),
    "B": ("Biases and scores of the logits", 22),
    "C": ("Rotary: core and layout", 21),
    "D": ("Rotary: longer than trained", 14),
    "E": ("Rotary: images, video, mixed media", 24),
    "F": ("Positions", 8),
}


@dataclass(frozen=True)
class Item:
    """One item of the survey."""

    key: str
    name: str
    where: tuple[str, ...] = ()
    said: str = ""


ITEMS: tuple[Item, ...] = (
    Item("A1", "sinusoidal, interleaved", ("Sinusoidal",), "The default layout."),
    Item("A2", "sinusoidal of tensor2tensor, and cosines first", ("Sinusoidal.layout", "Sinusoidal.exponent", "Sinusoidal.first", "Sinusoidal.odd"),
         "MLX's factor is `scale`."),
    Item("A3", "sinusoidal, concatenated, 2i/d, with a learned scale", ("Sinusoidal.layout", "LearnedScale")),
    Item("A4", "sinusoidal in two dimensions", ("GridSinusoidal", "posenc.positions.grid", "posenc.positions.grid_from_mask"),
         "DETR's normalisation is `positions.grid_from_mask`."),
    Item("A5", "sinusoidal in three dimensions", ("GridSinusoidal",)),
    Item("A6", "learned absolute", ("Learned",), "Offsets of 2 or padding_idx + 1 are positions of the caller's."),
    Item("A7", "learned in two dimensions, resized", ("GridLearned", "GridLearned.resized", "posenc.resize_table", "FactorisedLearned"),
         "Bicubic or bilinear, with or without antialias; TiledTokenPositionalEmbedding's gates are a model's."),
    Item("A8", "axial learned", ("AxialLearned",)),
    Item("A9", "Fourier features, NeRF and the Perceiver", ("FourierFeatures",)),
    Item("A10", "random Fourier features", ("RandomFourierFeatures",)),
    Item("A11", "timestep embedding", ("TimestepEmbedding",)),
    Item("A12", "Time2Vec, FLOATER, convolutions", ("Time2Vec",),
         "Convolutions (CPE, wav2vec 2.0) and FLOATER's differential equation are layers over features, not functions of positions."),
    Item("A13", "none, in all layers or some", ("NoPE", "posenc.compose.PerLayer")),
    Item("A14", "DroPE", ("NoPE", "posenc.compose.PerLayer"), "A recipe of training: RoPE in every layer, then none."),
    Item("A15", "hybrids", ("Sum", "Scaled", "Concatenated", "Partial", "posenc.compose.PerLayer")),
    Item("B1", "T5 buckets", ("T5Bias", "T5Bias.scale", "GatedBias"), "The last is WavLM's, with its gate."),
    Item("B2", "Swin's table", ("WindowBias", "WindowBias.window"), "Another window's table: `resize_table`."),
    Item("B3", "log-spaced continuous bias (Swin v2)", ("LogCPB", "LogCPB.window")),
    Item("B4", "decomposed relative positions", ("Decomposed", "Decomposed.size"), "Another size's tables: `resize_table`."),
    Item("B5", "ALiBi", ("ALiBi", "ALiBi.rule", "ALiBi.form", "BoundedALiBi")),
    Item("B6", "KERPLE, logarithmic", ("KerpleLog",)),
    Item("B7", "KERPLE, power", ("KerplePower",)),
    Item("B8", "Sandwich", ("Sandwich",)),
    Item("B9", "FIRE", ("FIRE", "FIRE.threshold")),
    Item("B10", "dynamic position bias", ("DynamicPositionBias", "DynamicPositionBias.log_distance")),
    Item("B11", "Shaw's relative keys and values", ("Shaw", "RelativeBias"), "The second is a table of numbers a head, without content."),
    Item("B12", "Transformer-XL", ("TransformerXL",)),
    Item("B13", "DeBERTa, disentangled", ("DeBERTa", "DeBERTa.terms")),
    Item("B14", "distance bank of Inkling", ("DistanceBank",)),
    Item(
        "B15",
        "Graphormer",
        ("GraphDistance",),
        "The mean over the edges of a path reads the features of edges, which no position holds, and is left out.",
    ),
    Item("B16", "forgetting gate", ("ForgettingGate", "RowGate"), "The second has a gate for each query."),
    Item("B17", "CoPE", ("CoPE",)),
    Item("B18", "DAPE and its second version", ("DAPE", "DAPEv2")),
    Item("B19", "CABLE", ("ForgettingGate",), "The same numbers with W and c of the other sign."),
    Item(
        "B20",
        "additive GRAPE",
        ("AdditiveGRAPE", "AdditiveGRAPE.gates"),
        "The form that sums over the path of a learned rotation (GRAPE-AP) is not there.",
    ),
    Item("B21", "stick-breaking", (), "It takes the place of softmax, which no door of a logit can."),
    Item("B22", "PaTH", ("PaTH",), "With ForgettingGate beside it, PaTH-FoX."),
    Item("C1", "RoPE on neighbours", ("RoPE.pairing",)),
    Item("C2", "RoPE on halves", ("RoPE.pairing",)),
    Item("C3", "partial RoPE, leading or trailing", ("Partial", "Partial.start")),
    Item("C4", "proportional RoPE", ("Proportional",)),
    Item("C5", "xPos", ("XPos", "XPos.centre")),
    Item("C6", "rotated values and output", ("ValueRotation",)),
    Item("C7", "RoPE++, imaginary heads", ("RoPEPlusPlus",), "EH and EC differ in how many queries are projected; each is given twice."),
    Item("C8", "FoPE", ("FoPE", "FoPE.padding")),
    Item("C9", "high-frequency HoPE", ("Proportional.fraction",), "The share of pairs whose period is below the trained length; the rest stand still."),
    Item("C11", "PoPE, polar", ("PoPE", "PoPE.phase")),
    Item("C12", "LieRE", ("LieRE",)),
    Item("C13", "STRING, ComRoPE: rotations that commute", ("CayleySTRING", "ComRoPE", "ComRoPE.commuting")),
    Item("C14", "multiplicative GRAPE", ("MultiplicativeGRAPE", "LearnedRoPE"), "Commuting planes along the channels, as released, are learned frequencies."),
    Item("C10", "hyperbolic HoPE", (), "Lorentz rotations grow without bound with position; no released code was found to check against."),
    Item("C16", "CARoPE", (), "Frequencies that tokens choose; no released code was found to check against."),
    Item("C17", "TAPE", (), "A tensor of positions that every layer updates: a model of its own, not a function of positions."),
    Item("C18", "spherical RoPE", (), "Rotations that do not commute, so the score is not of differences; no released code was found to check against."),
    Item("C19", "learnable frequencies", ("LearnedRoPE",)),
    Item("C20", "Resonance RoPE", ("Resonance",)),
    Item("C21", "two bases", ("DualBaseRoPE",)),
    Item("D1", "linear interpolation", ("Linear",)),
    Item("D2", "NTK-aware", ("NTKAware",), "The factor on the base alone (diffusers) is `RoPE.base`."),
    Item("D3", "NTK, fixed and mixed", ("NTKFixed", "NTKMixed")),
    Item("D4", "dynamic NTK", ("DynamicNTK", "DynamicNTK.length"), "Of a stated length, so that no batch changes it."),
    Item("D5", "NTK by parts, as the paper has it", ("NTKByParts",)),
    Item("D6", "YaRN as released", ("YaRN", "YaRN.truncate")),
    Item("D7", "YaRN of DeepSeek", ("YaRN.mscale", "YaRN.mscale_all_dim", "posenc.frequencies.attention_of")),
    Item("D8", "YaRN's further factors", ("YaRN.attention",), "TeleChat's 0.07·ln s is a number for `attention`; Grok's geometric blend is left out: one engine, no paper."),
    Item("D9", "Llama 3", ("Llama3",)),
    Item("D10", "LongRoPE", ("LongRoPE",), "The lists, not the search for them."),
    Item("D11", "another base", ("RoPE.base",)),
    Item("D12", "log-N, temperatures of Llama 4 and Ministral", ("LogNTemperature", "StepTemperature")),
    Item("D13", "Self-Extend, ReRoPE, dual chunks", (), "Two passes over logits with different positions: an engine's matter. The positions themselves are plain integers."),
    Item("D14", "CLEX", (), "A trained differential equation over the factor, known from one repository."),
    Item("E1", "axial in two dimensions, Qwen2-VL's vision", ("AxialRoPE", "axial:qwen2-vl-vision")),
    Item("E2", "the same on neighbours, SAM 2", ("axial:sam2", "axial:inkling2-vision")),
    Item("E3", "EVA and timm", ("axial:sam2", "AxialRoPE.ladder", "posenc.frequencies.Bands"), "Bands in pixels are a ladder of their own; a reference size is a stretch of positions."),
    Item("E4", "rope-vit, axial", ("axial:sam2",), "With base 100, and positions (x, y)."),
    Item("E6", "Pixtral", ("axial:pixtral",)),
    Item("E7", "NeoMME", ("axial:neomme",)),
    Item("E8", "Gemma 4's vision", ("axial:gemma4-vision",)),
    Item("E9", "Kimi's and Step 3's vision", ("axial:kimi-vision", "axial:step3-vision")),
    Item("E10", "Llama 4's vision", ("axial:sam2",), "Positions from 1, the class token at 0."),
    Item("E11", "DINOv3", ("axial:dinov3", "posenc.positions.centres", "posenc.positions.augmented")),
    Item("E12", "M-RoPE in sections", ("axial:qwen2-vl", "axial:glm4v")),
    Item("E13", "M-RoPE interleaved", ("axial:qwen3-vl",)),
    Item("E14", "Ernie 4.5-VL", ("axial:ernie4.5-vl",)),
    Item("E15", "XD-RoPE of HunYuan", (), "Its sections fall on the doubled list of channels, so the two channels of a pair read different coordinates: what transformers computes is no rotation."),
    Item("E16", "VideoRoPE", ("axial:videorope",)),
    Item("E17", "HoPE of video", ("axial:hope",)),
    Item("E18", "MHRoPE, axes split over heads", ("RoPE",), "A record for each group of heads: heads 0 … with one coordinate of the positions, the next with another."),
    Item("E19", "MM-RoPE of Lumos-1", ("axial:lumos",)),
    Item("E20", "positions of TMRoPE and other designs", ("posenc.positions.media",), "TMRoPE's times are positions of `media`; circles and learned steps (CircleRoPE, V2PE) are positions of the caller's."),
    Item("E21", "video rotations of diffusion models", ("axial:qwen2-vl-vision", "axial:sam2"), "Three sections, each with a ladder of its own."),
    Item("E22", "Spiral RoPE", ("DirectionalRoPE", "DirectionalRoPE.direction")),
    Item("E23", "golden-angle directions", ("DirectionalRoPE.direction",), "Over two axes."),
    Item("E24", "axes put side by side, each with its own rotation", ("axial:sam2", "posenc.frequencies.Joined"), "Bases may differ an axis."),
    Item("F1", "packed documents", ("posenc.positions.packed",)),
    Item("F2", "left padding", ("posenc.positions.from_mask",)),
    Item("F3", "randomised positions", ("posenc.positions.randomised",)),
    Item("F4", "random real positions", ("posenc.positions.random_floats",)),
    Item("F5", "shifts, scales, jitter", ("posenc.positions.shifted", "posenc.positions.augmented")),
    Item("F6", "skip-wise positions", ("posenc.positions.skip_wise",)),
    Item("F7", "bi-level positions", ("posenc.positions.bi_level",)),
    Item("F8", "three coordinates of mixed media", ("posenc.positions.media",)),
)  # fmt: skip
