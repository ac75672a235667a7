"""Reports of a group next to its encoding: the keys it was read from, what no encoding holds, and its layers."""

from typing import Any

import pytest

from posenc import Partial, RoPE, Shaw
from posenc.diagnosis import diagnose
from posenc.models import ModelPositions, diff, from_config
from posenc.models.layer_sentences import in_words

HEADS = "num_attention_heads"
T5 = [HEADS, "d_kv", "relative_attention_num_buckets", "relative_attention_max_distance"]
MPNET = [HEADS, "relative_attention_num_buckets", "max_position_embeddings", "pad_token_id", "hidden_size"]
SPEECH = ["hidden_size", "speech_encoder_attention_heads", "speech_encoder_layers", "position_embeddings_type"]
SWIN = [HEADS, "depths", "use_absolute_embeddings", "image_size", "patch_size"]


def read(model_type: str, **keys: Any) -> ModelPositions:
    return from_config({"model_type": model_type, **keys})


@pytest.mark.parametrize(
    ("model_type", "keys", "number", "names"),
    [
        ("t5", {}, 0, T5),
        ("t5", {}, 1, T5),
        ("mpnet", {}, 0, MPNET),
        ("mpnet", {}, 1, MPNET),
        ("seamless_m4t", {}, 0, ["hidden_size", "pad_token_id"]),
        ("seamless_m4t", {}, 2, ["hidden_size", "t2u_pad_token_id"]),
        ("seamless_m4t", {}, 3, [*SPEECH, "rotary_embedding_base"]),
        ("swin", {"use_absolute_embeddings": True}, 0, [*SWIN, "embed_dim"]),
        ("swin", {"use_absolute_embeddings": True}, 4, [*SWIN, "window_size"]),
        ("wavlm", {}, 0, [HEADS, "hidden_size", "num_buckets", "max_bucket_distance"]),
    ],
)
def test_it_names_the_keys_it_was_read_from(model_type: str, keys: dict[str, Any], number: int, names: list[str]):
    assert [value.name for value in read(model_type, **keys).groups[number].values] == names


@pytest.mark.parametrize(
    ("model_type", "keys", "part", "note"),
    [
        ("seamless_m4t", {}, "speech encoder", "reads sine and cosine of a frequency side by side"),
        ("seamless_m4t", {"position_embeddings_type": "rotary"}, "speech encoder", "the layer rotates its input"),
        ("swin", {}, "vision", "every second layer shifts its windows by half of one"),
        ("swinv2", {}, "vision", "logits are cosines times a learned factor"),
        ("wavlm", {}, "audio", "the first layer holds the table of all"),
        ("t5", {}, "encoder", "all layers share the table of the first"),
    ],
)
def test_it_notes_what_its_encoding_cannot_hold(model_type: str, keys: dict[str, Any], part: str, note: str):
    groups = [group for group in read(model_type, **keys).of(part) if group.layers]
    assert groups
    assert all(note in " ".join(group.notes) for group in groups)


def test_it_has_the_rotations_of_an_indexer():
    """Qwen 4 and MiniMax-M3: other widths, rates and layers of the indexer are a difference."""
    qwen = {"num_hidden_layers": 4, "partial_rotary_factor": 0.25, "indexer_head_dim": 128, "indexer_compress_ratio": 4}
    _, indexed = read("qwen4_exp_text", **qwen, layer_types=["linear_attention"] * 3 + ["full_attention"]).groups
    assert (indexed.attention, indexed.layers) == ("indexed_attention", (3,))
    assert [(role.role, role.encoding.head_dim, role.rate) for role in indexed.roles] == [
        ("indexer", 128, 1),
        ("compressor", 128, 4),
    ]
    assert not diff(read("qwen4_exp_text", **qwen), read("qwen4_exp_text", **qwen | {"indexer_compress_ratio": 8})).same
    with pytest.raises(ValueError, match=r"^indexer_head_dim must be at least the 64 channels that rotate; got 32"):
        read("qwen4_exp_text", **qwen | {"indexer_head_dim": 32})

    def minimax(*flags: int) -> ModelPositions:
        return read(
            "minimax_m3_vl_text", num_hidden_layers=2, sparse_attention_config={"sparse_attention_freq": [*flags]}
        )

    assert {group.attention: group.layers for group in minimax(0, 1).groups if group.roles} == {
        "minimax_m3_sparse": (1,)
    }
    assert not diff(minimax(0, 1), minimax(1, 1)).same
    with pytest.raises(ValueError, match=r"^sparse_attention_freq must hold 0 or 1 for each of 2 layers; got \[1\]"):
        minimax(1)


def test_a_note_names_only_the_keys_that_the_rope_type_does_not_read():
    linear = read("llama", rope_scaling={"type": "linear", "factor": 8.0, "rope_theta": 5e5})
    assert linear.groups[0].notes == ()
    default = read("llama", rope_scaling={"rope_type": "default", "factor": 8.0})
    assert default.groups[0].notes == ("rope_scaling.factor = 8.0 is not read by rope_type 'default'",)


def test_the_attention_of_zamba2_rotates_where_use_mem_rope_says_so():
    rotations = [
        read("zamba2", num_hidden_layers=8, **keys).at(6)[0].rotary_encoding for keys in ({"use_mem_rope": True}, {})
    ]
    assert rotations == [RoPE(160, 10_000.0, "halves"), None]


def test_the_first_row_may_be_the_padding_tokens_and_no_row_lies_before_it():
    for model_type in ("mpnet", "seamless_m4t"):
        assert read(model_type, pad_token_id=0).groups
        with pytest.raises(ValueError, match="pad_token_id must be an integer from 0"):
            read(model_type, pad_token_id=-1)
    assert read("mpnet", pad_token_id=0).groups[0].offset == 2  # its class counts from 2, whatever the file says


def test_sizes_of_tables_that_are_computed_are_understood():
    sizes = {"max_position_embeddings": 2048, "t2u_max_position_embeddings": 2048, "max_source_positions": 4096}
    assert len(read("seamless_m4t", **sizes).groups) == 4


def test_stacks_are_repeated_as_often_as_both_cycles_say():
    # HRM: each high cycle runs its own stack once and the low one L times.
    layers = [
        len(read("hrm_text", num_hidden_layers=3, H_cycles=high, L_cycles=low).groups[0].layers)
        for high, low in ((1, 1), (2, 3), (5, 1))
    ]
    assert layers == [6, 24, 30]


def test_a_distance_of_one_is_a_distance():
    near, far = (
        read("deberta", relative_attention=True, pos_att_type=["c2p"], max_relative_positions=reach).groups[1].encodings
        for reach in (1, -1)
    )
    assert (near[0].buckets, far[0].buckets) == (1, 512)  # the class counts as far as its table


def test_the_side_of_an_image_is_one_number_or_the_same_number_twice():
    def sizes(side: Any) -> tuple[int, int]:
        return read("swin", use_absolute_embeddings=True, image_size=side).groups[0].encodings[0].sizes

    assert sizes(64) == sizes([64, 64]) == (16, 16)
    for bad in ([0, 0], [-64, -64]):
        with pytest.raises(ValueError, match="image_size must be an integer from 1"):
            sizes(bad)


def test_heads_of_efficientloftr_divide_the_width():
    with pytest.raises(ValueError, match="partial_rotary_factor must be half of num_attention_heads"):
        read("efficientloftr", hidden_size=10, num_attention_heads=4, partial_rotary_factor=2.0)


def test_a_share_of_zayas_channels_rotates():
    def rotated(share: float) -> int:
        rope = {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": share}
        return (
            read("zaya", rope_parameters={"hybrid": rope, "hybrid_sliding": rope}).groups[0].encodings[0].encoding.dim
        )

    assert (rotated(0.5), rotated(0.25)) == (64, 32)


def test_a_table_of_patches_is_of_the_tower():
    table, *stages = read("swin", use_absolute_embeddings=True).groups
    assert {group.part for group in (table, *stages)} == {"vision"}
    assert table.layers == ()


def test_older_keys_of_deepseek_v4_say_how_many_channels_rotate_and_how_fast():
    keys = {"rope_theta": 1e4, "compress_rope_theta": 4e4, "qk_rope_head_dim": 32, "head_dim": 128}
    for group in read("deepseek_v4", num_hidden_layers=4, **keys).groups:
        base = 1e4 if group.attention == "sliding_attention" else 4e4
        assert group.encodings == (Partial(RoPE(32, base, "adjacent"), 128, start=96),)
        assert str(group.value("partial_rotary_factor")) == "partial_rotary_factor = 0.25 (file: qk_rope_head_dim)"


def test_a_tower_may_have_64_stages():
    def towers(stages: int) -> ModelPositions:
        return read("swin", num_attention_heads=[1] * stages, depths=[1] * stages, embed_dim=1)

    assert len(towers(64).groups) == 64
    with pytest.raises(TypeError, match="num_attention_heads must list a number for each stage"):
        towers(65)


def test_a_config_may_be_nested_64_levels_deep():
    def nested(levels: int) -> ModelPositions:
        inside: dict[str, Any] = {}
        for _ in range(levels - 2):
            inside = {"inside": inside}
        return read("t5", extra=inside)

    assert nested(64).groups
    with pytest.raises(ValueError, match="config must be nested at most 64 levels deep"):
        nested(65)


def test_parts_of_one_name_are_told_apart_by_their_key() -> None:
    rope = {"rope_type": "default", "mrope_section": [4, 2, 2]}
    text = {"head_dim": 16, "num_hidden_layers": 3, "rope_theta": 1e6, "rope_scaling": rope}
    talker = {"text_config": text, "code_predictor_config": {"head_dim": 16, "num_hidden_layers": 5}}
    vision = {"model_type": "qwen3_omni_moe_vision_encoder"}
    thinker = {"text_config": text, "audio_config": {}, "vision_config": vision}
    omni = {"model_type": "qwen3_omni_moe", "thinker_config": thinker, "talker_config": talker, "code2wav_config": {}}
    found = from_config(omni)
    assert {"text", "talker", "code predictor", "audio", "code2wav audio", "vision"} == set(found.parts)
    other = from_config(omni | {"talker_config": talker | {"text_config": text | {"rope_theta": 1e4}}})
    difference = diff(found, other)
    assert [part.where for part in difference.parts] == ["talker, layers 0-2"]
    (finding,) = diagnose(found, other).findings
    assert finding.fix == "Set talker_config.text_config.rope_theta to 1000000.0, where it is 10000.0."
    inside = {f"{name}_config": {} for name in ("patcher", "encoder", "decoder", "global")}
    assert set(from_config({"model_type": "blt", **inside}).parts) == {"patcher", "encoder", "decoder", "global"}


def test_pairs_of_a_tower_are_named_as_its_patches_are() -> None:
    for model_type, first in (("pixtral", "row has"), ("gemma4_vision", "column has")):
        group = next(group for group in read(model_type).groups if group.rotary_encoding is not None)
        assert first in in_words(group)[0].partition("of which ")[2][:10]


def test_layers_of_beit_see_the_whole_window() -> None:
    (group,) = read("beit", use_relative_position_bias=True).groups
    assert (group.attention, group.layers) == ("full_attention", tuple(range(12)))


@pytest.mark.parametrize("model_type", ["donut-swin", "maskformer-swin"])
def test_kin_of_swin_with_a_table_is_refused(model_type: str) -> None:
    assert all(group.attention != "embedding" for group in read(model_type).groups)
    with pytest.raises(
        ValueError, match=r"^use_absolute_embeddings must be false to be read; got True, a table with a"
    ):
        read(model_type, use_absolute_embeddings=True)


def test_clipped_distances_of_keys_alone_say_so() -> None:
    (group,) = read("wav2vec2-bert", position_embeddings_type="relative_key").groups
    assert group.encodings == (Shaw(64, clip=64, ahead=8),)
    assert group.notes == ("distances have vectors for keys alone: relative_values are zeros",)


def test_windows_of_sam_and_the_base_of_dbrx_have_notes() -> None:
    _, whole, windowed = read("sam_vision_model").groups
    assert (whole.attention, whole.notes) == ("full_attention", ())
    assert windowed.attention == "window_attention"
    assert windowed.notes == ("positions are rows and columns within a window; windows are not shifted",)
    (group,) = read("dbrx").groups
    assert group.notes == ("transformers 5.23.0 rotates by rope_parameters alone, and ignores attn_config.rope_theta",)


def test_squares_of_patches_have_a_side_of_at_most_1024() -> None:
    assert read("qwen2_vl_vision", spatial_merge_size=1024).groups[-1].patches.merge == 1024
    with pytest.raises(ValueError, match=r"^spatial_merge_size must be an integer from 1 to 1024; got 1025"):
        read("qwen2_vl_vision", spatial_merge_size=1025)
