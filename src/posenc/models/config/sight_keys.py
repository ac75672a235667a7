"""Keys by which queries see other keys, and that no window states, by model type."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from posenc.models.model_positions import Plain

#: BERT and its kin, whose queries see no later keys where the file says is_decoder.
DECODERS = (
    "bert", "bert-generation", "bridgetower_text_model", "camembert", "data2vec-text", "electra", "ernie", "esm",
    "megatron-bert", "rembert", "roberta", "roberta-prelayernorm", "roc_bert", "roformer", "xlm-roberta",
    "xlm-roberta-xl", "xmod",
)  # fmt: skip
BLOCKS: Mapping[str, Plain] = {"attention_type": "block_sparse", "block_size": 64, "num_random_blocks": 3}
WINDOWS_OF_PATCHES: Mapping[str, Plain] = {"window_size": 112, "fullatt_block_indexes": (7, 15, 23, 31)}
#: By model type, the keys that transformers 5.23.0 reads, each with the value of a file without it.
SIGHT_KEYS: Mapping[str, Mapping[str, Plain]] = MappingProxyType(
    {
        **{name: {"is_decoder": False} for name in DECODERS},
        "big_bird": {**BLOCKS, "is_decoder": False},
        "bigbird_pegasus": BLOCKS,
        "canine": {"local_transformer_stride": 128},
        "exaone4_5_vision": WINDOWS_OF_PATCHES,
        "flaubert": {"causal": False},
        "florence_vision": {"window_size": 12},
        "longt5": {"encoder_attention_type": "local", "local_radius": 127, "global_block_size": 16},
        "lw_detr_vit": {"num_windows": 16, "window_block_indices": ()},
        "mra": {"block_per_row": 4},
        "nystromformer": {"num_landmarks": 64},
        "pegasus_x": {"block_size": 512, "stagger_local_blocks": True, "num_global_tokens": 32},
        "qwen2_5_omni_audio_encoder": {"n_window": 100},
        "qwen2_5_omni_vision_encoder": WINDOWS_OF_PATCHES,
        "qwen2_5_vl_vision": WINDOWS_OF_PATCHES,
        "qwen3_asr_encoder": {"n_window": 50, "n_window_infer": 800},
        "qwen3_omni_moe_audio_encoder": {"n_window": 50, "n_window_infer": 800},
        "vitdet": {"window_size": 0, "window_block_indices": ()},
        "xlm": {"causal": False},
    }
)
#: What a flag does that is true.
NO_LATER_KEYS = "queries see no later keys"
FOLLOWS = "which keys a query sees follows from it"
