"""Text models that rotate queries and keys along one axis, but for those with multi-head latent attention."""

from functools import partial

from posenc.models.config import factors, layer_type_rules, rotation_rules, window_rules
from posenc.models.config.bias_readers import falcon_alibi, table_unless_rotary
from posenc.models.config.head_rules import (
    by_projection_dim,
    by_rotary_dim,
    global_head_dim,
    hidden_over_heads,
    twice_hidden_over_heads,
)
from posenc.models.config.layer_type_rules import EveryNth, uniform, where_windowed
from posenc.models.config.model_type import ModelType
from posenc.models.config.role_rules import compressed_keys, rotated_values, sparse_indexer
from posenc.models.config.rope_parameters import OlderBase
from posenc.models.config.rotation_rules import ByLayerType

AdjacentType = partial(ModelType, pairing="adjacent")
FULL, SLIDING = "full_attention", "sliding_attention"
ONE_WINDOW = window_rules.in_every_layer("sliding_window")
ONLY_SLIDING = ByLayerType(only=(SLIDING,))
SLIDING_OR_ALL = ByLayerType(only=(SLIDING,), unwindowed="all")
SLIDING_OR_NONE = ByLayerType(only=(SLIDING,), unwindowed="none")
GEMMA = ByLayerType(older={FULL: OlderBase("rope_theta", scaled=True), SLIDING: OlderBase("rope_local_base_freq")})
Gemma3Type = partial(
    ModelType,
    layer_types=EveryNth(6, key="sliding_window_pattern"),
    rotations=GEMMA,
    logit_factor=factors.by_query_pre_attn_scalar,
)
Gemma4Type = partial(
    ModelType,
    layer_types=EveryNth(6, last=True),
    settled_types=layer_type_rules.last_full,
    head_dim=global_head_dim,
    logit_factor=factors.unscaled,
    window=window_rules.half_and_one_where_all,
)
MODERNBERT = ByLayerType(
    older={FULL: OlderBase("global_rope_theta", scaled=True), SLIDING: OlderBase("local_rope_theta", scaled=True)}
)
OLMO3 = ByLayerType(older={FULL: OlderBase("rope_theta", scaled=True), SLIDING: OlderBase(None)})
NEOX = ByLayerType(keys={"rope_theta": "rotary_emb_base", "partial_rotary_factor": "rotary_pct"})
ESM = ByLayerType(where=("position_embedding_type", "rotary", "absolute"), base="rope_theta")
NO_ROPE_LAYERS = ("no_rope_layers holds 1 for a layer that does rotate",)

LLAMA_KIN = (
    "apertus", "arcee", "aria_text", "bitnet", "chameleon", "csm", "diffllama",
    "emu3_text_model", "esmc", "eurobert", "evolla", "falcon_h1", "flex_olmo", "gemma", "gradium_phonon_tts",
    "gte", "higgs_audio_v2", "hy_v3", "idefics", "internlm3", "iquestcoder", "jais2", "jetmoe", "jina_embeddings_v3",
    "kyutai_speech_to_text", "lfm2_moe", "llama", "moshi", "olmo", "olmo2",
    "olmoe", "pocket_tts", "seed_oss", "timesfm2_5",
)  # fmt: skip
MISTRAL_KIN = ("doge", "mistral", "mixtral", "starcoder2", "voxtral_realtime_text")
GRANITE_KIN = (
    "granite", "granite4_vision_text", "granite_docling_text", "granitemoe", "granitemoeshared", "hyperclovax",
)  # fmt: skip
PARTLY_ROTATING = (
    "glm4_moe", "laguna", "mellum", "nemotron", "persimmon", "phi", "solar_open", "stablelm",
)  # fmt: skip
ADJACENT = (
    "blt_global_transformer", "cohere", "ernie4_5",
    "ernie4_5_moe", "helium",
)  # fmt: skip

TEXT = (
    # Llama's kin: every layer rotates the whole head, in halves.
    ModelType(LLAMA_KIN),
    ModelType(MISTRAL_KIN, window=ONE_WINDOW),
    ModelType(("qwen3_moe",), window=window_rules.where_used),
    ModelType(
        ("nomic_bert",),
        neutral_keys={"rotary_emb_base": 1000, "max_trained_positions": 2048},
    ),
    ModelType(("mllama_text_model",), layer_types=layer_type_rules.by_cross_attention_layers),
    ModelType(
        ("dbrx",),
        rotations=rotation_rules.base_in_attn_config,
        notes=("transformers 5.23.0 rotates by rope_parameters alone, and ignores attn_config.rope_theta",),
    ),
    ModelType(GRANITE_KIN, logit_factor=factors.by_attention_multiplier),
    ModelType(("hrm_text",), layer_count=layer_type_rules.cycles_of_stacks),
    ModelType(("hunyuan_v1_dense", "hunyuan_v1_moe"), rope_keys=("alpha",)),
    ModelType(("ministral3",), rope_keys=("llama_4_scaling_beta", "max_position_embeddings"), window=ONE_WINDOW),
    ModelType(
        ("phimoe",),
        rotations=rotation_rules.short_or_long_mscale,
        rope_keys=("short_mscale", "long_mscale"),
        window=ONE_WINDOW,
        notes=("with longrope, transformers 5.23.0 rotates by short_factor at every length, and ignores long_factor",),
    ),
    ModelType(("nanochat",), backward=True),
    # A part of every head, by partial_rotary_factor.
    ModelType(PARTLY_ROTATING, partial=True),
    ModelType(("minimax_m2",), partial=True, rotations=rotation_rules.share_or_rotary_dim),
    ModelType(
        ("minimax_m3_vl_text",),
        partial=True,
        layer_types=layer_type_rules.by_sparse_attention_freq,
        rotations=rotation_rules.share_beside_rotary_dim,
        roles=sparse_indexer,
    ),
    ModelType(("phi3", "phi4_multimodal"), partial=True, rotations=rotation_rules.yarn_is_longrope, window=ONE_WINDOW),
    ModelType(("gpt_neox", "gpt_neox_japanese"), partial=True, rotations=NEOX),
    ModelType(("bamba",), partial=True, layer_types=layer_type_rules.by_attn_layer_indices),
    # Adjacent channels.
    AdjacentType(ADJACENT),
    AdjacentType(("blt_local_decoder", "blt_local_encoder", "blt_patcher"), window=ONE_WINDOW),
    AdjacentType(("openai_privacy_filter",), layer_types=uniform("sliding_attention"), window=window_rules.both_sides),
    AdjacentType(("glm", "glm4"), partial=True),
    AdjacentType(("codegen", "gptj"), rotations=ByLayerType(base=10_000.0), rotated_slice=by_rotary_dim),
    ModelType(
        ("roformer",),
        neutral_keys={"rotary_value": False},
        rotations=ByLayerType(base=10_000.0),
        pairing="adjacent",
        head_dim=hidden_over_heads,
    ),
    # Heads as wide as hidden_size over heads, whatever head_dim says.
    ModelType(("deepseek_ocr2_text",), head_dim=hidden_over_heads),
    ModelType(("falcon",), head_dim=hidden_over_heads, reader=falcon_alibi),
    ModelType(
        ("unlimited_ocr_text",),
        head_dim=hidden_over_heads,
        layer_types=where_windowed(uniform("reference_sliding_attention")),
        window=window_rules.nowhere,
        notes=("of the tokens it generates, a layer sees the last sliding_window alone, and all of the prompt",),
    ),
    # Layers with a window among full ones, all of which rotate.
    ModelType(
        ("qwen2", "qwen3", "qwen3_omni_moe_talker_code_predictor"),
        layer_types=layer_type_rules.by_max_window_layers,
    ),
    ModelType(
        ("deepseek_ocr2_encoder",),
        layer_types=layer_type_rules.by_max_window_layers,
        window=window_rules.nowhere,
        notes=("layers that are called sliding have the mask of the full ones",),
    ),
    ModelType(("dots1",), layer_types=layer_type_rules.from_max_window_layers),
    ModelType(("qwen2_moe",), layer_types=layer_type_rules.even_below_max_window_layers),
    ModelType(("gpt_oss",), layer_types=EveryNth(2)),
    ModelType(("gemma2", "vaultgemma"), layer_types=EveryNth(2), logit_factor=factors.by_query_pre_attn_scalar),
    ModelType(
        ("t5_gemma_module",),
        part="module",
        layer_types=EveryNth(2),
        window=window_rules.both_sides_of_encoder,
        logit_factor=factors.by_query_pre_attn_scalar,
    ),
    ModelType(
        ("ultrabert",), layer_types=layer_type_rules.by_attention_windows, window=window_rules.both_sides_of_listed
    ),
    ModelType(("cwm",), layer_types=EveryNth(4, at=0)),
    ModelType(("kolibri1",), layer_types=EveryNth(5), rotations=SLIDING_OR_ALL),
    ModelType(("beam",), layer_types=EveryNth(6, last=True), unrotated=factors.power_of_position),
    ModelType(
        ("mimo_v2_flash",),
        neutral_keys={"swa_rope_theta": 10_000},
        partial=True,
        rotations=ByLayerType(share=0.334),
        layer_types=EveryNth(6, first=1),
        window=window_rules.size_and_query,
    ),
    ModelType(("ministral",), layer_types=where_windowed(uniform("sliding_attention"))),
    ModelType(("muse_glimmer_assistant",), layer_types=uniform("sliding_attention"), window=window_rules.both_sides),
    # A base for each type of layer, which older files state by keys of their own.
    Gemma3Type(("gemma3_text",), window=window_rules.both_sides_or_half),
    Gemma3Type(("t5gemma2_text",), window=window_rules.halves_of_window),
    Gemma3Type(("t5gemma2_decoder",), part="decoder"),
    ModelType(("gemma3n_text",), layer_types=EveryNth(5), rotations=GEMMA, logit_factor=factors.unscaled),
    *(
        ModelType(
            (name,),
            neutral_keys={"position_embedding_type": "absolute"},
            layer_types=EveryNth(3, key="global_attn_every_n_layers", at=0),
            rotations=MODERNBERT,
            window=window,
        )
        for name, window in (
            ("modernbert", window_rules.half_of_local_attention),
            ("modernbert-decoder", window_rules.half_before),
        )
    ),
    ModelType(
        ("olmo3",),
        layer_types=EveryNth(4),
        rotations=OLMO3,
        notes=("the class takes rope_theta of an older file for its full layers alone",),
    ),
    # Full layers with heads of a width of their own.
    Gemma4Type(("gemma4_text", "gemma4_unified_text")),
    Gemma4Type(("diffusion_gemma_text",), partial=True),
    ModelType(
        ("embedding_gemma2_text",),
        window=window_rules.both_sides,
        layer_types=EveryNth(6, key="sliding_window_pattern", last=True),
        settled_types=layer_type_rules.last_full,
        head_dim=global_head_dim,
        logit_factor=factors.unscaled,
    ),
    # Only layers with a window rotate.
    ModelType(("afmoe",), layer_types=EveryNth(4, key="global_attn_every_n_layers"), rotations=ONLY_SLIDING),
    AdjacentType(("cohere2",), layer_types=EveryNth(4, key="sliding_window_pattern"), rotations=SLIDING_OR_NONE),
    AdjacentType(
        ("cohere2_moe",),
        layer_types=layer_type_rules.by_prefix_and_pattern,
        rotations=rotation_rules.sliding_and_first_dense,
    ),
    ModelType(
        ("exaone4", "exaone_moe"),
        layer_types=where_windowed(EveryNth(4, key="sliding_window_pattern")),
        rotations=SLIDING_OR_ALL,
        notes=(
            "where sliding_window is null, no layer has a window and every layer rotates; in transformers 5.23.0 the "
            "config class then divides by zero, unless the file lists layer_types",
        ),
    ),
    ModelType(("flint",), layer_types=EveryNth(4, at=1, first=2, last=True), rotations=SLIDING_OR_NONE),
    # A list says which layers rotate, or by which base.
    AdjacentType(
        ("llama4_text",),
        layer_types=layer_type_rules.chunked_where_rotating,
        rotations=rotation_rules.by_no_rope_layers,
        unrotated=factors.nope_temperature,
        notes=NO_ROPE_LAYERS,
    ),
    ModelType(
        ("smollm3",),
        layer_types=layer_type_rules.sliding_where_not_rotating,
        rotations=rotation_rules.by_no_rope_layers,
        notes=NO_ROPE_LAYERS,
    ),
    ModelType(
        ("granite_swa", "granitemoe_swa"),
        logit_factor=factors.by_attention_multiplier,
        layer_types=EveryNth(4, at=0),
        rotations=rotation_rules.base_by_layer_rope_theta,
    ),
    ModelType(
        ("muse_glimmer_text", "muse_spark_text"),
        logit_factor=factors.by_qk_scale_factor,
        layer_types=EveryNth(4, from_end=True),
        rotations=rotation_rules.where_layer_rope_theta,
    ),
    ModelType(("molmo2_text",), rotations=rotation_rules.scaled_in_listed_layers),
    ModelType(
        ("step3p5",),
        partial=True,
        settled_types=layer_type_rules.without_next_tokens,
        rotations=rotation_rules.lists_by_layer,
        logit_factor=factors.by_query_pre_attn_scalar_or_width,
        window=window_rules.both_sides_where_stated,
    ),
    # Attention among layers of other kinds.
    ModelType(
        ("granitemoehybrid",),
        logit_factor=factors.by_attention_multiplier,
        layer_types=uniform("linear_attention"),
        rotations=ByLayerType(where=("position_embedding_type", "rope")),
    ),
    ModelType(("lfm2",), ignored_keys=("theta", "full_attn_idxs"), layer_types=layer_type_rules.by_full_attn_idxs),
    ModelType(("lfm3",), layer_types=layer_type_rules.full_sliding_conv),
    ModelType(("minimax",), layer_types=EveryNth(2, nth="linear_attention", other="full_attention"), window=ONE_WINDOW),
    ModelType(
        ("olmo_hybrid",),
        layer_types=layer_type_rules.fourth_or_last,
        rotations=rotation_rules.unless_rope_theta_null,
    ),
    ModelType(
        ("qwen3_next",), partial=True, layer_types=EveryNth(4, key="full_attention_interval", other="linear_attention")
    ),
    ModelType(
        ("recurrent_gemma",),
        partial=True,
        layer_types=layer_type_rules.by_block_types,
        window=window_rules.in_every_layer("attention_window_size"),
    ),
    ModelType(
        ("zamba2",),
        ignored_keys=("hybrid_layer_ids",),  # which the class computes from layers_block_type
        logit_factor=factors.root_of_half_width,
        layer_types=layer_type_rules.by_layers_block_type,
        rotations=ByLayerType(where=("use_mem_rope", True)),
        head_dim=twice_hidden_over_heads,
    ),
    ModelType(("zaya",), partial=True, layer_types=uniform("hybrid")),
    # Layers on compressed keys among those with a window.
    AdjacentType(
        ("deepseek_v4",),
        partial=True,
        last=True,
        layer_types=layer_type_rules.by_compress_ratios,
        rotations=rotation_rules.main_and_compress,
        window=ONE_WINDOW,
        roles=compressed_keys,
        notes=("layers on compressed keys see those as well, without a window",),
    ),
    # Encoders of proteins and of speech tokens, whose file says whether they rotate.
    ModelType(("esm",), tables=(table_unless_rotary,), rotations=ESM, head_dim=hidden_over_heads),
    ModelType(
        ("SaProtConfig",), part="protein", tables=(table_unless_rotary,), rotations=ESM, head_dim=hidden_over_heads
    ),
    ModelType(
        ("clvp_encoder",),
        rotations=ByLayerType(where=("use_rotary_embedding", True), base=10_000.0),
        rotated_slice=by_projection_dim,
        roles=rotated_values,
    ),
)
