"""Reports whose user had two configs: that of the checkpoint, and that by which it was served, trained or written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformers import AutoConfig

from field_reports.files import config_file, saved
from field_reports.report import CONFIGS, Evidence, harmless, mistake

Config = Mapping[str, Any]

LLAMA_2: Config = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "num_attention_heads": 32,
    "num_key_value_heads": 32, "num_hidden_layers": 32, "max_position_embeddings": 4096, "rope_theta": 10_000.0,
    "rope_scaling": None, "vocab_size": 32_000,
}  # fmt: skip
LLAMA_3_SCALING: Config = {
    "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}  # fmt: skip
LLAMA_3: Config = LLAMA_2 | {
    "num_key_value_heads": 8, "max_position_embeddings": 131_072, "rope_theta": 500_000.0,
    "rope_scaling": LLAMA_3_SCALING, "vocab_size": 128_256,
}  # fmt: skip
QWEN_3: Config = {
    "model_type": "qwen3", "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
    "num_hidden_layers": 36, "max_position_embeddings": 40_960, "rope_theta": 1_000_000, "rope_scaling": None,
    "sliding_window": None, "use_sliding_window": False, "max_window_layers": 36,
}  # fmt: skip
YARN_4: Config = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32_768}
GPT_OSS: Config = {
    "model_type": "gpt_oss", "hidden_size": 2880, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64,
    "num_hidden_layers": 24, "max_position_embeddings": 131_072, "rope_theta": 150_000, "sliding_window": 128,
    "rope_scaling": {
        "rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False,
        "original_max_position_embeddings": 4096,
    },
}  # fmt: skip
GEMMA_3: Config = {
    "model_type": "gemma3_text", "hidden_size": 2560, "num_attention_heads": 8, "num_key_value_heads": 4,
    "head_dim": 256, "num_hidden_layers": 34, "max_position_embeddings": 131_072,
    "sliding_window": 1024, "sliding_window_pattern": 6,
    "rope_theta": 1_000_000.0, "rope_local_base_freq": 10_000.0, "rope_scaling": {"rope_type": "linear", "factor": 8.0},
    "query_pre_attn_scalar": 256,
}  # fmt: skip
SMOLLM_3: Config = {
    "model_type": "smollm3", "hidden_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 4,
    "num_hidden_layers": 36, "max_position_embeddings": 65_536, "rope_theta": 5_000_000.0, "no_rope_layer_interval": 4,
}  # fmt: skip
DEEPSEEK_V3: Config = {
    "model_type": "deepseek_v3", "hidden_size": 7168, "num_attention_heads": 128, "num_key_value_heads": 128,
    "num_hidden_layers": 61, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "kv_lora_rank": 512,
    "q_lora_rank": 1536, "max_position_embeddings": 163_840, "rope_theta": 10_000, "rope_scaling": {
        "type": "yarn", "factor": 40, "beta_fast": 32, "beta_slow": 1, "mscale": 1.0, "mscale_all_dim": 1.0,
        "original_max_position_embeddings": 4096,
    },
}  # fmt: skip


def two(folder: Path, expected: Config, served: Config) -> Evidence:
    """Both configs as folders with a config.json."""
    return Evidence(config_file(folder, "checkpoint", expected), config_file(folder, "served", served))


def scaled(config: Config, **fields: Any) -> dict[str, Any]:
    """A config with other fields in its rope_scaling; None takes one out."""
    scaling = dict(config["rope_scaling"]) | fields
    return dict(config) | {"rope_scaling": {name: value for name, value in scaling.items() if value is not None}}


def without(config: Config, *names: str) -> dict[str, Any]:
    return {name: value for name, value in config.items() if name not in names}


@mistake(CONFIGS, "config lost", "vllm-project/vllm#42624", "vllm-project/vllm#44158", names={"base", "rope_theta"})
def theta_of_a_v5_file_overwritten_by_a_v4_default(folder: Path) -> Evidence:
    """A checkpoint saved by transformers 5 holds rope_theta 500000 inside rope_parameters. Transformers 4 does not know
    the key and sets 10000, which vLLM then wrote over the right value."""
    expected = without(LLAMA_2, "rope_theta", "rope_scaling") | {
        "rope_parameters": {"rope_type": "default", "rope_theta": 500_000.0}
    }
    return two(folder, expected, LLAMA_2)


@mistake(CONFIGS, "config lost", "deepspeedai/DeepSpeed#8345", names={"base", "rope_theta"})
def theta_nested_by_layer_type_read_as_missing(folder: Path) -> Evidence:
    """DeepSpeed looked for rope_theta at the top of rope_parameters alone; where the file nests it under each type of
    layer, as new Gemma 3 files do, the default of 10000 was used for 1000000."""
    sliding = {"rope_type": "default", "rope_theta": 10_000.0}
    full = {"rope_type": "linear", "factor": 8.0, "rope_theta": 1_000_000.0}
    expected = without(GEMMA_3, "rope_theta", "rope_local_base_freq", "rope_scaling") | {
        "rope_parameters": {"sliding_attention": sliding, "full_attention": full}
    }
    lost = {"sliding_attention": sliding, "full_attention": full | {"rope_theta": 10_000.0}}
    return two(folder, expected, expected | {"rope_parameters": lost})


@mistake(CONFIGS, "config lost", "NVIDIA/Megatron-LM#6305", names={"factor"})
def scaling_factor_of_the_command_line_not_passed_on(folder: Path) -> Evidence:
    """Megatron parsed --rope-scaling-factor 32 for Llama 3.2 and never handed it to the model, which trained with its
    default of 8."""
    expected = scaled(LLAMA_3, factor=32.0)
    return two(folder, expected, scaled(expected, factor=8.0))


@mistake(CONFIGS, "config lost", "unslothai/unsloth#6197", "lablup/mlxcel#1355", names={"scaling", "llama3"})
def llama_3_scaling_dropped(folder: Path) -> Evidence:
    """Unsloth's fast path built plain frequencies from rope_theta for Llama 3.1; past about 29 thousand tokens the text
    turned to gibberish."""
    return two(folder, LLAMA_3, LLAMA_3 | {"rope_scaling": None})


@mistake(CONFIGS, "config lost", "NVIDIA-NeMo/Megatron-Bridge#3077", names={"base", "rope_theta"})
def theta_lost_by_an_override_of_rope_scaling(folder: Path) -> Evidence:
    """Setting rope_scaling on a config of transformers 5 replaces the whole of rope_parameters, so that YaRN came and
    the base of 1000000 went."""
    expected = QWEN_3 | {"rope_scaling": YARN_4}
    return two(folder, expected, expected | {"rope_theta": 10_000.0})


@mistake(CONFIGS, "layers", "vllm-project/speculators#892", names=[{"base", "rope_theta"}, {"scaling", "factor"}])
def draft_model_given_the_rotation_of_sliding_layers(folder: Path) -> Evidence:
    """The draft of a Gemma 3 has full attention and one rotation; its builder took the entry for sliding layers, base
    10000 without scaling, in place of base 1000000 divided by 8."""
    expected = LLAMA_3 | {"rope_theta": 1_000_000.0, "rope_scaling": {"rope_type": "linear", "factor": 8.0}}
    return two(folder, expected, expected | {"rope_theta": 10_000.0, "rope_scaling": None})


@mistake(CONFIGS, "config lost", "axolotl-ai-cloud/axolotl#383", names={"scaling", "linear", "factor"})
def scaling_of_the_model_unset_by_an_empty_option(folder: Path) -> Evidence:
    """axolotl handed rope_scaling None on where its user had set nothing, which took away the linear scaling that the
    base model states; losses rose."""
    expected = LLAMA_2 | {"max_position_embeddings": 32_768, "rope_scaling": {"type": "linear", "factor": 8.0}}
    return two(folder, expected, LLAMA_2 | {"max_position_embeddings": 32_768})


@mistake(
    CONFIGS, "config lost", "unslothai/unsloth#7028", names=[{"base", "rope_theta"}, {"scheme", "linear", "scaling"}]
)
def native_scaling_replaced_by_linear_without_theta(folder: Path) -> Evidence:
    """Asked for a longer context, unsloth put linear scaling in the place of Llama 3.1's own, and with it lost
    rope_theta: perplexity at 7,800 tokens went from 10 to 11,000."""
    served = LLAMA_3 | {"rope_scaling": {"type": "linear", "factor": 2.0}, "rope_theta": 10_000.0}
    return two(folder, LLAMA_3, served | {"max_position_embeddings": 262_144})


@mistake(CONFIGS, "scaling", "ggml-org/llama.cpp#8676", "ml-explore/mlx-examples#907", names={"low", "high"})
def low_and_high_factor_exchanged(folder: Path) -> Evidence:
    """A relative of those threads, where the middle band was turned round: the two factors of Llama 3's scaling, which
    set its ends, are exchanged."""
    return two(folder, LLAMA_3, scaled(LLAMA_3, low_freq_factor=4.0, high_freq_factor=1.0))


@mistake(CONFIGS, "config lost", "sgl-project/sglang#26187", names={"scaling", "yarn"})
def yarn_in_rope_parameters_not_read(folder: Path) -> Evidence:
    """SGLang's LFM2-MoE read rope_scaling; transformers 5 writes rope_parameters, so YaRN was dropped in silence."""
    base = {
        "model_type": "lfm2_moe", "hidden_size": 2048, "num_attention_heads": 32, "num_key_value_heads": 8,
        "num_hidden_layers": 2, "layer_types": ["conv", "full_attention"], "max_position_embeddings": 128_000,
    }  # fmt: skip
    plain = {"rope_type": "default", "rope_theta": 1_000_000.0}
    yarn = {"rope_type": "yarn", "rope_theta": 1_000_000.0, "factor": 2.0, "original_max_position_embeddings": 128_000}
    return two(folder, base | {"rope_parameters": yarn}, base | {"rope_parameters": plain})


@mistake(CONFIGS, "partial rotary", "huggingface/transformers#48241", "huggingface/transformers#48486",
         names={"partial", "rotary_dim", "share", "rotary width"})  # fmt: skip
def rotary_dim_of_minimax_dropped(folder: Path) -> Evidence:
    """Released MiniMax-M2 files say rotary_dim 64 of head_dim 128. The config class kept the key without reading it and
    rotated all 128 channels."""
    released = {
        "model_type": "minimax_m2", "hidden_size": 3072, "num_attention_heads": 48, "num_key_value_heads": 8,
        "head_dim": 128, "rotary_dim": 64, "num_hidden_layers": 62, "rope_theta": 5_000_000,
        "max_position_embeddings": 196_608,
    }  # fmt: skip
    return two(folder, released, without(released, "rotary_dim"))


@mistake(CONFIGS, "partial rotary", "ml-explore/mlx-lm#1698", "vllm-project/vllm#43770", "InternLM/lmdeploy#3861",
         names={"partial", "share", "rotary width"})  # fmt: skip
def share_of_the_head_that_a_glm_file_leaves_out(folder: Path) -> Evidence:
    """GLM-4-9B's file says nothing of partial_rotary_factor, for which transformers takes 0.5; mlx-lm rotated the whole
    head."""
    expected = {
        "model_type": "glm", "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128,
        "num_hidden_layers": 40, "max_position_embeddings": 131_072, "rope_theta": 10_000.0,
    }  # fmt: skip
    return two(folder, expected, expected | {"partial_rotary_factor": 1.0})


@mistake(CONFIGS, "layers", "Blaizzy/mlx-vlm#1709", "lablup/mlxcel#1340", "meta-pytorch/torchtune#2485",
         names={"scaling", "factor"})  # fmt: skip
def linear_factor_of_gemma_3_never_applied(folder: Path) -> Evidence:
    """Gemma 3 divides positions by 8 in its global layers; mlx-vlm declared the field and built an unscaled
    rotation."""
    return two(folder, GEMMA_3, GEMMA_3 | {"rope_scaling": None})


@mistake(
    CONFIGS,
    "layers",
    "antonellof/ferrox#39",
    "ollama/ollama#13452",
    names={"sliding", "local", "wrong layers", "every layer"},
)
def linear_factor_of_gemma_3_in_local_layers_too(folder: Path) -> Evidence:
    """The base was kept for each layer, the factor once for all, so that sliding-window layers rotated at positions
    divided by 8 as well."""
    full = {"rope_type": "linear", "factor": 8.0, "rope_theta": 1_000_000.0}
    sliding = {"rope_type": "linear", "factor": 8.0, "rope_theta": 10_000.0}
    served = without(GEMMA_3, "rope_theta", "rope_local_base_freq", "rope_scaling") | {
        "rope_parameters": {"full_attention": full, "sliding_attention": sliding}
    }
    return two(folder, GEMMA_3, served)


@mistake(CONFIGS, "layers", "vllm-project/vllm#29111", names={"sliding", "local", "one encoding"})
def global_rotation_of_gemma_3_in_local_layers(folder: Path) -> Evidence:
    """A refactor of vLLM gave sliding-window layers the global rotation, base 1000000 with its factor of 8, in place of
    base 10000."""
    full = {"rope_type": "linear", "factor": 8.0, "rope_theta": 1_000_000.0}
    served = without(GEMMA_3, "rope_theta", "rope_local_base_freq", "rope_scaling") | {
        "rope_parameters": {"full_attention": full, "sliding_attention": full}
    }
    return two(folder, GEMMA_3, served)


@mistake(CONFIGS, "layers", "pytorch/executorch#22043", "timtoole02/Camelid#535", "airockchip/rknn-llm#501",
         names={"nope", "no_rope"})  # fmt: skip
def layers_without_rotation_are_rotated(folder: Path) -> Evidence:
    """SmolLM3 leaves every fourth layer without rotation; the interval was declared and never read, so all 36 layers
    rotated."""
    return two(folder, SMOLLM_3, SMOLLM_3 | {"no_rope_layers": [1] * 36})


@mistake(CONFIGS, "layers", "huggingface/transformers#37344", "huggingface/smollm#130", names={"nope", "no_rope"})
def layers_without_rotation_inverted(folder: Path) -> Evidence:
    """no_rope_layers holds 1 where a layer does rotate. Read by its name, three quarters of the layers lose their
    rotation."""
    interval = [int((layer + 1) % 4 != 0) for layer in range(36)]
    expected = SMOLLM_3 | {"no_rope_layers": interval}
    return two(folder, expected, SMOLLM_3 | {"no_rope_layers": [1 - one for one in interval]})


@mistake(CONFIGS, "layers", "NVIDIA/TensorRT-LLM#3491", "AI-Hypercomputer/maxtext#1611", names={"temperature"})
def query_temperature_of_llama_4_left_out(folder: Path) -> Evidence:
    """Llama 4 multiplies the queries of its layers without rotation by a factor that grows with position; first ports
    left it out."""
    expected = {
        "model_type": "llama4_text", "hidden_size": 5120, "num_attention_heads": 40, "num_key_value_heads": 8,
        "head_dim": 128, "num_hidden_layers": 48, "max_position_embeddings": 1_048_576, "rope_theta": 500_000.0,
        "rope_scaling": None, "attn_temperature_tuning": True, "floor_scale": 8192, "attn_scale": 0.1,
        "no_rope_layers": [int((layer + 1) % 4 != 0) for layer in range(48)], "attention_chunk_size": 8192,
    }  # fmt: skip
    return two(folder, expected, expected | {"attn_temperature_tuning": False})


@mistake(
    CONFIGS, "scaling", "NVIDIA-NeMo/Speech#14686", "NVIDIA/Megatron-LM#1418", names={"original", "trained length"}
)
def extended_length_taken_for_the_trained_one(folder: Path) -> Evidence:
    """NeMo set YaRN's trained length of gpt-oss to 131072, the extended one, where the file says 4096."""
    return two(folder, GPT_OSS, scaled(GPT_OSS, original_max_position_embeddings=131_072))


@mistake(CONFIGS, "scaling", "vllm-project/vllm#28244", names={"truncat"})
def ends_of_the_ramp_rounded(folder: Path) -> Evidence:
    """gpt-oss does not round the two ends of YaRN's ramp to whole pairs; vLLM did."""
    return two(folder, GPT_OSS, scaled(GPT_OSS, truncate=True))


@mistake(CONFIGS, "scaling", "NVIDIA/TensorRT-Model-Connect#400", names={"scaling", "yarn"})
def yarn_in_rope_scaling_not_read(folder: Path) -> Evidence:
    """The engine builder read rope_parameters alone; gpt-oss's file has rope_scaling, so YaRN was skipped and prompts
    beyond 128 tokens became garbage."""
    plain = {"rope_type": "default", "rope_theta": 150_000}
    return two(folder, GPT_OSS, without(GPT_OSS, "rope_theta", "rope_scaling") | {"rope_parameters": plain})


@mistake(CONFIGS, "scaling", "ml-explore/mlx-lm#1507", "raullenchai/Rapid-MLX#1225",
         names={"attention factor", "attention_factor", "mscale"})  # fmt: skip
def explicit_attention_factor_ignored(folder: Path) -> Evidence:
    """A file may state YaRN's attention factor, 1.0 to switch it off; mlx-lm always computed its own."""
    expected = QWEN_3 | {"rope_scaling": YARN_4 | {"attention_factor": 1.0}}
    return two(folder, expected, scaled(expected, attention_factor=None))


@mistake(CONFIGS, "scaling", "sgl-project/sglang#22711", "turboderp-org/exllamav3#259",
         names={"attention factor", "attention_factor", "mscale"})  # fmt: skip
def both_mscales_of_ministral_dropped(folder: Path) -> Evidence:
    """Ministral 3 states mscale and mscale_all_dim as 1, whose ratio is 1; SGLang ignored both and multiplied cos and
    sin by 1.277."""
    expected = {
        "model_type": "ministral3", "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
        "head_dim": 128, "num_hidden_layers": 34, "max_position_embeddings": 262_144, "rope_parameters": {
            "rope_type": "yarn", "type": "yarn", "rope_theta": 1_000_000.0, "factor": 16.0, "beta_fast": 32.0,
            "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0, "original_max_position_embeddings": 16_384,
            "llama_4_scaling_beta": 0.1,
        },
    }  # fmt: skip
    served = expected | {"rope_parameters": without(expected["rope_parameters"], "mscale", "mscale_all_dim")}
    return two(folder, expected, served)


@mistake(CONFIGS, "scaling", "onnxruntime/mobius#548", "huggingface/transformers#47435",
         names={"mscale", "softmax", "logit", "attention factor"})  # fmt: skip
def second_mscale_of_deepseek_dropped(folder: Path) -> Evidence:
    """DeepSeek-V2's softmax is scaled by the square of the factor that mscale_all_dim states; a config written without
    it keeps cos and sin and loses 1.59 in every logit."""
    expected = scaled(DEEPSEEK_V3 | {"model_type": "deepseek_v2"}, mscale=0.707, mscale_all_dim=0.707)
    return two(folder, expected, scaled(expected, mscale=None, mscale_all_dim=None, attention_factor=1.0))


@mistake(CONFIGS, "length", "vllm-project/vllm#52665", "vllm-project/vllm#5093",
         names={"trained length", "original", "max_position", "length"})  # fmt: skip
def dynamic_scaling_with_another_trained_length(folder: Path) -> Evidence:
    """NTK's dynamic form counts from max_position_embeddings. A server that writes the served length there moves the
    point from which the base grows."""
    expected = LLAMA_2 | {"max_position_embeddings": 2048, "rope_scaling": {"type": "dynamic", "factor": 2.0}}
    return two(folder, expected, expected | {"max_position_embeddings": 8192})


@mistake(CONFIGS, "scaling", "onnxruntime/mobius#293", "huggingface/transformers#48960", names={"alpha", "scaling"})
def alpha_of_hunyuan_not_read(folder: Path) -> Evidence:
    """HunYuan states alpha 1000 and factor 1: the base is multiplied by a power of alpha. A reader of factor alone
    scales nothing."""
    expected = {
        "model_type": "hunyuan_v1_dense", "hidden_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 4,
        "head_dim": 128, "num_hidden_layers": 32, "max_position_embeddings": 262_144, "rope_theta": 10_000.0,
        "rope_scaling": {"type": "dynamic", "alpha": 1000.0, "factor": 1.0},
    }  # fmt: skip
    return two(folder, expected, scaled(expected, alpha=1.0))


@mistake(CONFIGS, "roles", "ml-explore/mlx-lm#512", "ikawrakow/ik_llama.cpp#2099", names={"indexer"})
def channels_of_the_indexer_paired_the_other_way(folder: Path) -> Evidence:
    """GLM-5's file says indexer_rope_interleave: the sparse indexer rotates adjacent channels. Ports hard-coded halves,
    and picked the wrong keys."""
    config = AutoConfig.for_model(
        "glm_moe_dsa", num_hidden_layers=2, hidden_size=256, num_attention_heads=4, num_key_value_heads=4, vocab_size=64
    )
    expected = saved(config) | {"indexer_rope_interleave": True}
    return two(folder, expected, expected | {"indexer_rope_interleave": False})


@mistake(CONFIGS, "embedding scale", "OpenNMT/CTranslate2#1760", "huggingface/optimum-nvidia#85",
         names={"scale_embedding", "scale of the embedding", "embedding scale", "√d", "sqrt"})  # fmt: skip
def scale_of_the_embedding_hard_coded(folder: Path) -> Evidence:
    """Marian multiplies token embeddings by √d before positions are added, BART does not; a converter that hard-codes
    one is wrong for the other, and the mix of words and positions with it."""
    expected = saved(
        AutoConfig.for_model("marian", d_model=64, encoder_layers=2, decoder_layers=2, scale_embedding=True)
    )
    return two(folder, expected, expected | {"scale_embedding": False})


@mistake(
    CONFIGS, "bias", "mosaicml/examples#307", "antonellof/ferrox#243", names={"steepest", "alibi_bias_max", "slope"}
)
def largest_bias_of_mpt_ignored(folder: Path) -> Evidence:
    """Some graphs of llama.cpp have the literal 8 for the largest bias; MPT's file states alibi_bias_max, here 16,
    and a port with the literal has other slopes."""
    expected = {
        "model_type": "mpt", "d_model": 1024, "n_heads": 8, "n_layers": 2, "max_seq_len": 2048,
        "attn_config": {"alibi": True, "alibi_bias_max": 16},
    }  # fmt: skip
    return two(folder, expected, expected | {"attn_config": {"alibi": True, "alibi_bias_max": 8}})


@mistake(CONFIGS, "bias", "lucidrains/x-transformers#11", names={"distance", "bucket"})
def furthest_distance_of_the_buckets_left_at_its_default(folder: Path) -> Evidence:
    """A T5 trained with relative_attention_max_distance 512 was rebuilt by code in which 128 is fixed."""
    expected = saved(
        AutoConfig.for_model("t5", num_layers=2, d_model=64, num_heads=4, relative_attention_max_distance=512)
    )
    return two(folder, expected, expected | {"relative_attention_max_distance": 128})


@harmless(CONFIGS, "spelling", "vllm-project/vllm#28542", "huggingface/transformers#41922")
def the_same_in_the_spelling_of_transformers_5(folder: Path) -> Evidence:
    """rope_theta and rope_scaling at the top of the file, or rope_parameters with the base inside: one meaning."""
    served = without(LLAMA_3, "rope_theta", "rope_scaling") | {
        "rope_parameters": LLAMA_3_SCALING | {"rope_theta": 500_000.0}
    }
    return two(folder, LLAMA_3, served)


@harmless(CONFIGS, "spelling", "vllm-project/vllm#28542")
def gemma_3_in_the_spelling_of_transformers_5(folder: Path) -> Evidence:
    """rope_theta and rope_local_base_freq, or one entry of rope_parameters for each type of layer: one meaning. The
    second is what the installed config class writes for the first."""
    return two(folder, GEMMA_3, saved(AutoConfig.for_model(**GEMMA_3)))


@harmless(
    CONFIGS, "spelling", "huggingface/transformers#32916", "vllm-project/vllm#6897", "huggingface/transformers#33331"
)
def type_and_rope_type_side_by_side(folder: Path) -> Evidence:
    """Old files say type, new ones rope_type, files saved in between both: a warning, no difference."""
    scaling = {"type": "linear", "factor": 4.0}
    expected = LLAMA_2 | {"rope_scaling": scaling}
    return two(folder, expected, LLAMA_2 | {"rope_scaling": scaling | {"rope_type": "linear"}})


@harmless(CONFIGS, "spelling", "deepseek-ai/DeepSeek-R1#684")
def unknown_attn_factor_in_yarn(folder: Path) -> Evidence:
    """DeepSeek-R1-0528-Qwen3-8B states attn_factor 0.878, which transformers warns of and ignores: with and without it
    transformers computes the same."""
    expected = QWEN_3 | {"rope_scaling": YARN_4}
    return two(folder, expected, scaled(expected, attn_factor=0.8782488562869419))


@harmless(CONFIGS, "spelling", "QwenLM/Qwen3-VL#209", "huggingface/transformers#48671")
def mrope_read_as_default(folder: Path) -> Evidence:
    """Qwen2-VL's files say type mrope, which transformers turns into rope_type default next to mrope_section, with a
    warning."""
    expected = {
        "model_type": "qwen2_vl_text", "hidden_size": 3584, "num_attention_heads": 28, "num_key_value_heads": 4,
        "num_hidden_layers": 28, "max_position_embeddings": 32_768, "rope_theta": 1_000_000.0,
        "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]},
    }  # fmt: skip
    return two(folder, expected, scaled(expected, type="default", rope_type="default"))


@harmless(CONFIGS, "layers", "huggingface/transformers#43756")
def interval_written_out_as_a_list(folder: Path) -> Evidence:
    """no_rope_layer_interval 4 and the list with 0 at every fourth layer say the same. That 1 means rotated is a trap
    of naming, reported as a bug."""
    return two(folder, SMOLLM_3, SMOLLM_3 | {"no_rope_layers": [int((layer + 1) % 4 != 0) for layer in range(36)]})


@harmless(CONFIGS, "layers", "huggingface/trl#6961")
def entry_for_a_type_of_layer_that_no_layer_has(folder: Path) -> Evidence:
    """A tiny Gemma 3 of two sliding layers still carries an entry for full attention: a warning, and nothing
    reads it."""
    sliding = {"rope_type": "default", "rope_theta": 10_000.0}
    expected = without(GEMMA_3, "rope_theta", "rope_local_base_freq", "rope_scaling") | {
        "num_hidden_layers": 2, "layer_types": ["sliding_attention"] * 2, "rope_parameters":
        {"sliding_attention": sliding, "full_attention": {"rope_type": "default", "rope_theta": 1_000_000.0}},
    }  # fmt: skip
    full = {"rope_type": "linear", "factor": 8.0, "rope_theta": 1_000_000.0}
    return two(folder, expected, expected | {"rope_parameters": {"sliding_attention": sliding, "full_attention": full}})


@harmless(CONFIGS, "length", "sgl-project/SpecForge#220")
def another_declared_length_of_plain_rotations(folder: Path) -> Evidence:
    """max_position_embeddings 4096 or 131072: for rotations without scaling it is a limit that someone declares, and
    changes no angle."""
    expected = LLAMA_2 | {"max_position_embeddings": 131_072}
    return two(folder, expected, expected | {"max_position_embeddings": 4096})


@harmless(CONFIGS, "spelling", "ollama/ollama#13453")
def linear_factor_of_one(folder: Path) -> Evidence:
    """Gemma 3 1B states no factor, which is a factor of 1."""
    plain = LLAMA_2 | {"rope_scaling": {"type": "linear", "factor": 1.0}}
    return two(folder, LLAMA_2, plain)


@harmless(CONFIGS, "spelling", "InternLM/lmdeploy#4304", "unslothai/unsloth#6197")
def whole_numbers_types_and_keys_without_positions(folder: Path) -> Evidence:
    """rope_theta as 500000 or 500000.0, dtype or torch_dtype, a path in _name_or_path, another transformers_version."""
    served = LLAMA_3 | {
        "rope_theta": 500_000, "torch_dtype": "bfloat16", "_name_or_path": "./out", "transformers_version": "4.51.3",
        "use_cache": False, "quantization_config": {"quant_method": "fp8"}, "unsloth_fixed": True,
    }  # fmt: skip
    return two(folder, LLAMA_3, served)
