"""Every positional encoding that the survey of the field found, and where posenc has it: the rows of docs/coverage.md.

`where` names what gives it: a row of the catalog, a field as `Class.field`, or a function as `posenc.module.name`. What
is left out says why in `note`.
"""

from __future__ import annotations

from dataclasses import dataclass

#: The survey's items: letters of its parts, and how many each has.
PARTS = {
    "A": ("Added to the embedding", 15),
    "B": ("Biases and scores of the logits", 24),
    "C": ("Rotary: core and layout", 23),
    "D": ("Rotary: longer than trained", 15),
    "E": ("Rotary: images, video, mixed media", 25),
    "F": ("Positions", 12),
}


@dataclass(frozen=True)
class Item:
    """Item of the survey."""

    key: str
    name: str
    where: tuple[str, ...] = ()
    note: str = ""


ITEMS: tuple[Item, ...] = (
    Item("A1", "sinusoidal, interleaved", ("Sinusoidal",), "The default layout."),
    Item(
        "A2",
        "sinusoidal of tensor2tensor, and cosines first",
        ("Sinusoidal.layout", "Sinusoidal.exponent", "Sinusoidal.first", "Sinusoidal.odd"),
        "MLX's factor is `scale`.",
    ),
    Item("A3", "sinusoidal, concatenated, 2i/d, with a learned scale", ("Sinusoidal.layout", "LearnedScale")),
    Item(
        "A4",
        "sinusoidal in two dimensions",
        ("GridSinusoidal", "posenc.positions.grid", "posenc.positions.grid_from_mask"),
        "DETR's normalisation is `positions.grid_from_mask`.",
    ),
    Item("A5", "sinusoidal in three dimensions", ("GridSinusoidal",)),
    Item("A6", "learned absolute", ("Learned",), "For offsets of 2 or padding_idx + 1, add them to the positions."),
    Item(
        "A7",
        "learned in two dimensions, resized",
        ("GridLearned", "GridLearned.resized", "posenc.resize_table", "FactorisedLearned"),
        "Bicubic, bilinear or tiled, with or without antialias and align_corners. The gates of "
        "TiledTokenPositionalEmbedding belong to the model.",
    ),
    Item("A8", "axial learned", ("AxialLearned",)),
    Item("A9", "Fourier features, NeRF and the Perceiver", ("FourierFeatures",)),
    Item("A10", "random Fourier features", ("RandomFourierFeatures",)),
    Item("A11", "timestep embedding", ("TimestepEmbedding",)),
    Item(
        "A12",
        "Time2Vec, FLOATER, convolutions",
        ("Time2Vec",),
        "Not here: convolutions (CPE, wav2vec 2.0) and FLOATER's differential equation, which are layers over "
        "features.",
    ),
    Item("A13", "none, in all layers or some", ("NoPE", "posenc.compose.PerLayer")),
    Item(
        "A14", "DroPE", ("NoPE", "posenc.compose.PerLayer"), "A training recipe: first RoPE in every layer, then none."
    ),
    Item("A15", "hybrids", ("Sum", "Scaled", "Concatenated", "Partial", "posenc.compose.PerLayer")),
    Item("B1", "T5 buckets", ("T5Bias", "T5Bias.scale", "GatedBias"), "`GatedBias` is WavLM's, with its gate."),
    Item(
        "B2",
        "Swin's table",
        ("WindowBias", "WindowBias.window", "WindowBias.class_token"),
        "For another window, `resize_table` resamples the table evenly. Not here: timm's geometric spacing for BEiT.",
    ),
    Item("B3", "log-spaced continuous bias (Swin v2)", ("LogCPB", "LogCPB.window")),
    Item(
        "B4",
        "decomposed relative positions",
        ("Decomposed", "Decomposed.size"),
        "For another size, `resize_table`.",
    ),
    Item("B5", "ALiBi", ("ALiBi", "ALiBi.rule", "ALiBi.form", "BoundedALiBi")),
    Item("B6", "KERPLE, logarithmic", ("KerpleLog",)),
    Item("B7", "KERPLE, power", ("KerplePower",)),
    Item("B8", "Sandwich", ("Sandwich",)),
    Item("B9", "FIRE", ("FIRE", "FIRE.threshold")),
    Item("B10", "dynamic position bias", ("DynamicPositionBias", "DynamicPositionBias.log_distance")),
    Item(
        "B11",
        "Shaw's relative keys and values",
        ("Shaw", "RelativeBias"),
        "`RelativeBias` has one number for each head and distance, without content.",
    ),
    Item("B12", "Transformer-XL", ("TransformerXL",)),
    Item("B13", "DeBERTa, disentangled", ("DeBERTa", "DeBERTa.terms")),
    Item("B14", "distance bank of Inkling", ("DistanceBank",)),
    Item(
        "B15",
        "Graphormer",
        ("GraphDistance",),
        "Not here: the mean over the edges of a path, which reads edge features, not positions.",
    ),
    Item("B16", "forgetting gate", ("ForgettingGate", "RowGate"), "`RowGate` has a gate for each query."),
    Item("B17", "CoPE", ("CoPE",)),
    Item("B18", "DAPE and its second version", ("DAPE", "DAPEv2")),
    Item("B19", "CABLE", ("ForgettingGate",), "The same numbers with W and c negated."),
    Item(
        "B20",
        "additive GRAPE",
        ("AdditiveGRAPE", "AdditiveGRAPE.gates", "PathGRAPE"),
        "`PathGRAPE` is GRAPE-AP, with its own projection p; in the authors' code, p may also be q, k or v.",
    ),
    Item("B21", "stick-breaking", (), "It replaces the softmax; an encoding of posenc can only add to logits."),
    Item("B22", "PaTH", ("PaTH",), "Together with ForgettingGate: PaTH-FoX."),
    Item("B23", "2D-ALiBi of CROMA", ("GridALiBi",), "ALiBi on the straight distance between two patches."),
    Item("B24", "TUPE", ("TUPE", "TUPE.relative"), "With the class token untied, as in the authors' code."),
    Item("C1", "RoPE on adjacent pairs", ("RoPE.pairing",)),
    Item("C2", "RoPE on halves", ("RoPE.pairing",)),
    Item("C3", "partial RoPE, leading or trailing", ("Partial", "Partial.start")),
    Item("C4", "proportional RoPE", ("Proportional",)),
    Item("C5", "xPos", ("XPos", "XPos.centre")),
    Item("C6", "rotated values and output", ("ValueRotation",)),
    Item(
        "C7",
        "RoPE++, imaginary heads",
        ("RoPEPlusPlus",),
        "EH and EC differ only in how many queries are projected; pass each of them twice.",
    ),
    Item("C8", "FoPE", ("FoPE", "FoPE.padding")),
    Item(
        "C9",
        "high-frequency HoPE",
        ("Proportional.fraction",),
        "Only the pairs whose period is below the trained length rotate.",
    ),
    Item("C11", "PoPE, polar", ("PoPE", "PoPE.phase")),
    Item("C12", "LieRE", ("LieRE",)),
    Item("C13", "STRING, ComRoPE: rotations that commute", ("CayleySTRING", "ComRoPE", "ComRoPE.commuting")),
    Item(
        "C14",
        "multiplicative GRAPE",
        ("MultiplicativeGRAPE", "LearnedRoPE", "ContextualGRAPE", "ContextualGRAPE.gate"),
        "The released variant with commuting planes equals learned frequencies.",
    ),
    Item(
        "C10",
        "hyperbolic HoPE",
        (),
        "Lorentz rotations with a dominant damping whose size the paper does not state; no released code was found.",
    ),
    Item(
        "C15", "Selective RoPE", ("SelectiveRoPE",), "A score: the rotated product minus the product without rotation."
    ),
    Item("C16", "CARoPE", (), "Frequencies that depend on the tokens; no released code was found to compare with."),
    Item(
        "C17",
        "TAPE",
        (),
        "Every layer updates a tensor of positions: this is a model, not a function of positions.",
    ),
    Item(
        "C18",
        "spherical RoPE",
        ("SphericalRoPE",),
        "With the frequencies of the paper. Not here: learned frequencies for each head.",
    ),
    Item("C19", "learnable frequencies", ("LearnedRoPE",)),
    Item("C20", "Resonance RoPE", ("Resonance",)),
    Item("C21", "two bases", ("DualBaseRoPE",)),
    Item(
        "C22",
        "HARoPE, adaptive in each head",
        ("HARoPE", "HARoPE.encoding"),
        "Before any rotation of pairs: M for queries, the inverse of its transpose for keys, as in the authors' code.",
    ),
    Item(
        "C23",
        "AdaRoPE",
        (),
        "Frequencies and a scale that grows with the length, learned for each head (arXiv:2607.19363, code at "
        "Outsider565/AdaRoPE). Neither the formula of the scale nor that code could be read, and what others write of "
        "it disagrees: a base or all frequencies of a head, a scale with or without the length.",
    ),
    Item("D1", "linear interpolation", ("Linear",)),
    Item("D2", "NTK-aware", ("NTKAware",), "The factor on the base alone (diffusers) is `RoPE.base`."),
    Item("D3", "NTK, fixed and mixed", ("NTKFixed", "NTKMixed")),
    Item("D4", "dynamic NTK", ("DynamicNTK", "DynamicNTK.length"), "For a stated length, so that no batch changes it."),
    Item("D5", "NTK by parts, as the paper has it", ("NTKByParts",)),
    Item("D6", "YaRN as released", ("YaRN", "YaRN.truncate")),
    Item("D7", "YaRN of DeepSeek", ("YaRN.mscale", "YaRN.mscale_all_dim", "posenc.frequencies.attention_of")),
    Item(
        "D8",
        "YaRN's further factors",
        ("YaRN.attention",),
        "Pass TeleChat's 0.07·ln s as `attention`. Not here: Grok's geometric blend, known from one engine, without a "
        "paper.",
    ),
    Item("D9", "Llama 3", ("Llama3",)),
    Item("D10", "LongRoPE", ("LongRoPE",), "With given lists; the search for them is not here."),
    Item("D11", "another base", ("RoPE.base",)),
    Item(
        "D12",
        "log-N, temperatures of Llama 4, Ministral and BEAM",
        ("LogNTemperature", "StepTemperature", "PowerTemperature"),
    ),
    Item(
        "D13",
        "Self-Extend, ReRoPE, dual chunks",
        (),
        "They combine two passes of attention with different positions, which only an engine can do.",
    ),
    Item("D14", "CLEX", (), "A trained differential equation over the factor, known from one repository."),
    Item(
        "D15",
        "Clipped RoPE, also called CoPE, and HardClip",
        ("Clipped", "Clipped.soft"),
        "Not the contextual encoding CoPE, which is `CoPE`.",
    ),
    Item("E1", "axial in two dimensions, Qwen2-VL's vision", ("AxialRoPE", "axial:qwen2-vl-vision")),
    Item("E2", "the same on adjacent pairs, SAM 2", ("axial:sam2", "axial:inkling2-vision")),
    Item(
        "E3",
        "EVA and timm",
        ("axial:eva02", "AxialRoPE.frequency_dim", "posenc.frequencies.Bands"),
        "For bands in pixels, use `Bands`; for a reference size, scale the positions.",
    ),
    Item("E4", "rope-vit, axial", ("axial:sam2",), "With base 100."),
    Item("E5", "rope-vit, mixed and learned", ("MixedRoPE",), "An encoding, or parameters, for each head and layer."),
    Item("E6", "Pixtral", ("axial:pixtral",)),
    Item("E7", "NeoMME", ("axial:neomme",)),
    Item("E8", "Gemma 4's vision", ("axial:gemma4-vision",)),
    Item("E9", "Kimi's and Step 3's vision", ("axial:kimi-vision", "axial:step3-vision")),
    Item("E10", "Llama 4's vision", ("axial:inkling2-vision",), "Positions from 1, the class token at 0."),
    Item("E11", "DINOv3", ("axial:dinov3", "posenc.positions.centres", "posenc.positions.augmented")),
    Item("E12", "M-RoPE in sections", ("axial:qwen2-vl", "axial:glm4v")),
    Item("E13", "M-RoPE interleaved", ("axial:qwen3-vl",)),
    Item("E14", "Ernie 4.5-VL", ("axial:ernie4.5-vl",)),
    Item(
        "E15",
        "XD-RoPE of HunYuan",
        ("axial:qwen2-vl", "XDRoPE"),
        "`axial` is a rotation, as in vLLM and the authors' first code; `XDRoPE` repeats transformers 5.23, whose "
        "sections separate the channels of a pair.",
    ),
    Item("E16", "VideoRoPE", ("axial:videorope",)),
    Item("E17", "HoPE of video", ("axial:hope",)),
    Item("E18", "MHRoPE, axes split over heads", ("HeadwiseRoPE",)),
    Item("E19", "MM-RoPE of Lumos-1", ("axial:lumos",)),
    Item(
        "E20",
        "positions of TMRoPE and other designs",
        ("posenc.positions.media",),
        "`media` gives TMRoPE's times. Compute circles and learned steps (CircleRoPE, V2PE) yourself.",
    ),
    Item(
        "E21",
        "video rotations of diffusion models",
        ("axial:qwen2-vl-vision", "axial:eva02"),
        "Three sections, each with its own frequencies.",
    ),
    Item("E22", "Spiral RoPE", ("DirectionalRoPE", "DirectionalRoPE.direction")),
    Item("E23", "golden-angle directions", ("DirectionalRoPE.direction",), "Over two axes."),
    Item(
        "E24",
        "axes side by side, each with its own rotation",
        ("axial:eva02", "posenc.frequencies.Joined"),
        "Each axis may have its own base.",
    ),
    Item(
        "E25",
        "camera-relative: CaPE, GTA, PRoPE",
        ("posenc.cameras.PRoPE", "posenc.cameras.GTA", "posenc.cameras.CaPE", "posenc.cameras.cape_4dof"),
        "Maps of queries, keys, values and output by the camera of a token; no rows of the catalog: see "
        "`docs/cameras.md`. Not here: the ablations t2, euclid_sim and ray_to_se3 of GTA.",
    ),
    Item("F1", "packed documents", ("posenc.positions.packed",)),
    Item("F2", "left padding", ("posenc.positions.from_mask",)),
    Item("F3", "randomised positions", ("posenc.positions.randomised",)),
    Item("F4", "random real positions", ("posenc.positions.random_floats",)),
    Item("F5", "shifts, scales, jitter", ("posenc.positions.shifted", "posenc.positions.augmented")),
    Item("F6", "skip-wise positions", ("posenc.positions.skip_wise",)),
    Item("F7", "bi-level positions", ("posenc.positions.bi_level",)),
    Item("F8", "three coordinates of mixed media", ("posenc.positions.media",)),
    Item(
        "F9",
        "eigenvectors of a graph's Laplacian",
        ("posenc.positions.laplacian",),
        "Signs by a rule or drawn; equal eigenvalues are refused unless you say otherwise.",
    ),
    Item("F10", "random walks of a graph", ("posenc.positions.random_walk",)),
    Item("F11", "four coordinates of VRoPE", ("posenc.positions.vrope", "axial:vrope")),
    Item("F12", "RoPE-Tie, the grids of HunyuanImage 3", ("posenc.positions.rope_tie", "axial:neomme")),
)
