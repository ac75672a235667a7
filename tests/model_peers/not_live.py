"""Types that are not compared with a tiny live model of their own, and what is particular to some that are."""

from __future__ import annotations

from collections.abc import Mapping

#: Types whose queries come already divided by √d.
SCALED_BEFORE = frozenset({"SaProtConfig", "clvp_encoder", "esm", "openai_privacy_filter", "timesfm2_5"})
#: Types that bring queries to length √d by a norm without weights, and then multiply them by a factor.
SCALED_AFTER_NORM = frozenset({"muse_glimmer_text", "muse_spark_text"})
#: Types that count tokens, whatever positions they are given.
COUNTS_TOKENS = frozenset({
    "SaProtConfig", "clvp_encoder", "csm_depth_decoder_model", "dia_encoder", "dots3_note_audio_encoder",
    "glmasr_encoder", "lasr_encoder", "llama4_text",
    "nemotron3_5_transcribe_word_timestamp", "pe_audio_encoder", "qwen2_5_omni_dit", "roformer", "timesfm2_5",
    "wav2vec2-bert", "wav2vec2-conformer",
})  # fmt: skip
#: Types that rotate the first head of a layer alone.
FIRST_HEAD_ALONE = frozenset({"qwen2_5_omni_dit"})
#: Types that are built, and do with queries and keys what no encoding says; each has a note, or is next to them.
NOT_COMPARED = {
    "blt_local_encoder": "the model around it makes its mask",
    "deepseek_v4": "its keys are those of tokens and compressed ones",
    "zaya": "a convolution stands between the hidden states and the queries",
}
#: Types whose models cannot be run with windows, though their configs state them.
NO_WINDOWS = frozenset({"qwen3_omni_moe_talker_code_predictor"})
#: Types that run the same layers again, in cycles, and are seen once.
RUN_AGAIN = frozenset({"hrm_text"})
#: Types whose layers never attend.
NEVER_ATTEND = ("falcon_mamba", "mamba", "mamba2", "rwkv", "xlstm")
#: Types that are not run live, by the reason; test_models_rotary.py compares their rotations.
WHY_NOT_BUILT: Mapping[str, tuple[str, ...]] = {
    "transformers has a config of it and no model": ("internlm3", "iquestcoder"),
    "its model needs torchvision or timm": ("pe_audio_video_encoder",),
}
NOT_BUILT = frozenset(name for names in WHY_NOT_BUILT.values() for name in names)
