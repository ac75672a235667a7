"""Keys that say something of each layer, or of some: what is read from them, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from every import every
from posenc import ALiBi, Learned, Linear, Partial, PowerTemperature, RoPE
from posenc.models import from_config
from posenc.models.config.config_classes import ConfigClass
from posenc.models.pair_rotation import unwrapped


def rotations(model_type: str, **keys: Any) -> list[Any]:
    """The rotation of each layer of the text, in order."""
    found = from_config({"model_type": model_type, **keys})
    layers = sum(len(group.layers) for group in found.groups)
    return [found.at(layer)[0].rotary_encoding for layer in range(layers)]


def types(model_type: str, **keys: Any) -> list[str]:
    """The type of each layer of the text, in order."""
    found = from_config({"model_type": model_type, **keys})
    return [found.at(layer)[0].attention for layer in range(keys["num_hidden_layers"])]


def test_dots3_calls_full_what_chooses_its_keys_unless_use_dsa_says_not():
    listed = ["full_attention", "sliding_attention", "indexed_attention"]
    for chooses, full in ((True, "indexed_attention"), (False, "full_attention")):
        read = types("dots3_note_text", num_hidden_layers=3, layer_types=listed, use_dsa=chooses)
        assert read == [full, "sliding_attention", full]
        by_rule = types("dots3_note_text", num_hidden_layers=6, use_dsa=chooses)
        assert by_rule == [full, full, *["sliding_attention"] * 3, full]


def test_the_dimension_of_mistral4_follows_from_its_widths_where_no_share_is_stated():
    plain = {"rope_type": "default", "rope_theta": 1e4}
    widths = {"qk_rope_head_dim": 64, "qk_nope_head_dim": 64, "num_hidden_layers": 2}
    expected = Partial(RoPE(64, 1e4, "adjacent"), 128, 64)
    for share in ({}, {"partial_rotary_factor": 0.5}):
        assert rotations("mistral4", **widths, rope_parameters=plain | share) == [expected] * 2


def test_deepseek_v4_has_a_base_for_windows_and_another_for_compressed_keys():
    yarn = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}
    for more, attention in (({}, 1.0), ({"attention_factor": 1.25}, 1.25)):
        window, compressed = rotations(
            "deepseek_v4", num_hidden_layers=2, compress_ratios=[0, 4], rope_scaling=yarn | more
        )
        assert (window.encoding.base, window.encoding.scaling) == (1e4, None)
        assert (compressed.encoding.base, compressed.encoding.scaling.attention_factor) == (160_000.0, attention)


def test_step_3_5_lists_bases_and_shares_by_layer_or_gives_one_base():
    listed = {"layer_types": ["full_attention", "sliding_attention"], "num_hidden_layers": 2}
    both = {"rope_theta": [5e6, 1e4], "partial_rotary_factors": [0.5, 1.0]}
    scaled = listed | both | {"rope_scaling": {"rope_type": "linear", "factor": 2.0}}
    assert rotations("step3p5", **scaled) == [
        Partial(RoPE(64, 5e6, "halves", scaling=Linear(2.0)), 128),
        RoPE(128, 1e4, "halves"),
    ]
    assert rotations("step3p5", num_hidden_layers=2, rope_theta=5e5) == [RoPE(128, 5e5, "halves")] * 2
    assert rotations("step3p5", num_hidden_layers=2) == [RoPE(128, 1e4, "halves")] * 2


def test_minimax_m2_rotates_a_share_or_else_rotary_dim_of_its_channels():
    """MiniMaxM2Config.convert_rope_params_to_dict: rotary_dim counts wherever no partial_rotary_factor is stated."""

    def width(model_type: str = "minimax_m2", stated: Any = None, **keys: Any) -> int:
        (group,) = from_config({"model_type": model_type, **keys}, stated=stated).groups
        return unwrapped(group.rotary_encoding).dim

    yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 196_608}
    assert [width(rotary_dim=64, rope_scaling=rope) for rope in (None, yarn, {**yarn, "type": "yarn"})] == [64] * 3
    assert width(rotary_dim=64, rope_scaling={**yarn, "partial_rotary_factor": 0.25}) == 32
    assert width(rotary_dim=64, partial_rotary_factor=0.25) == 32
    assert width(rotary_dim=64, stated={"partial_rotary_factor": 0.25}) == 32
    assert width(stated={"rotary_dim": 32}) == 32


@pytest.mark.parametrize("model_type", ["solar_open", "minimax_m3_vl_text", "llama"])
def test_rotary_dim_is_noted_where_no_class_reads_it(model_type: str):
    file = {"model_type": model_type, "num_hidden_layers": 2, "hidden_size": 4096, "num_attention_heads": 32}
    for rope in (None, {"rope_type": "linear", "factor": 2.0}):
        found = from_config({**file, "rope_scaling": rope, "rotary_dim": 64})
        assert found.groups == from_config({**file, "rope_scaling": rope}).groups
        (note,) = [note for note in found.notes if note.startswith("rotary_dim = 64")]
        assert note.endswith("is not read by its class")
    (half,) = from_config({**file, "model_type": "minimax_m3_vl_text", "partial_rotary_factor": 0.5}).groups
    assert unwrapped(half.rotary_encoding).dim == 64


def test_some_classes_make_the_last_layer_full():
    full, sliding, linear = "full_attention", "sliding_attention", "linear_attention"
    for model_type in ("gemma4_text", "diffusion_gemma_text", "embedding_gemma2_text"):
        assert types(model_type, num_hidden_layers=3, layer_types=[full, sliding, sliding]) == [full, sliding, full]
    (group,) = from_config(
        {"model_type": "embedding_gemma2_text", "num_hidden_layers": 1, "layer_types": [sliding]}
    ).groups
    assert (group.rotary_encoding, group.window) == (RoPE(512, 1e6, "halves"), None)
    for count, expected in ((1, [full]), (3, [linear, linear, full]), (5, [linear, linear, linear, full, linear])):
        assert types("olmo_hybrid", num_hidden_layers=count) == expected
    assert types("olmo_hybrid", num_hidden_layers=2, layer_types=[full, linear]) == [full, linear]


def test_kimi_linear_reads_its_list_of_full_layers_beside_the_other_list_alone():
    file = {"model_type": "kimi_linear", "num_hidden_layers": 6}
    found = from_config({**file, "linear_attn_config": {"full_attn_layers": [2]}})
    assert [found.at(layer)[0].attention for layer in range(6)] == types(**file)
    assert "linear_attn_config.full_attn_layers = [2] is not read by its class" in found.notes
    both = from_config({**file, "linear_attn_config": {"full_attn_layers": [2], "kda_layers": [1, 3, 4, 5, 6]}})
    assert [group.layers for group in both.groups if group.attention == "full_attention"] == [(1,)]
    assert not [note for note in both.notes if "full_attn_layers" in note]


def test_what_is_stated_wins_over_an_object_for_each_type_of_layer():
    full, sliding = "full_attention", "sliding_attention"
    rope = {full: {"rope_type": "default", "rope_theta": 1e6}, sliding: {"rope_type": "default", "rope_theta": 1e4}}

    def bases(model_type: str, stated: Any, **keys: Any) -> dict[str, float]:
        file = {"model_type": model_type, "num_hidden_layers": 2, "layer_types": [sliding, full], **keys}
        groups = from_config({**file, "rope_parameters": rope}, stated=stated).groups
        return {group.attention: unwrapped(group.rotary_encoding).base for group in groups}

    assert bases("gemma3_text", {"rope_theta": 5e5}) == {full: 5e5, sliding: 1e4}
    assert bases("gemma3_text", {"rope_local_base_freq": 2e4}) == {full: 1e6, sliding: 2e4}
    assert bases("step3p5", {"rope_theta": 5e5}) == {full: 5e5, sliding: 5e5}
    labels = {label: {**rope[full], "partial_rotary_factor": 0.125} for label in ("main", "compress")}
    v4 = {"model_type": "deepseek_v4", "num_hidden_layers": 2, "compress_ratios": [0, 4], "rope_parameters": labels}
    for stated, expected in (
        ({"rope_theta": 5e5}, [5e5, 1e6]),
        ({"compress_rope_theta": 5e5}, [1e6, 5e5]),
    ):
        groups = from_config(v4, stated=stated).groups
        assert [unwrapped(group.rotary_encoding).base for group in groups] == expected
    shares = {name: {**one, "partial_rotary_factor": 0.25} for name, one in rope.items()}
    found = from_config(
        {"model_type": "mellum", "num_hidden_layers": 2, "layer_types": [sliding, full], "rope_parameters": shares},
        stated={"partial_rotary_factor": 0.5},
    )
    assert {unwrapped(group.rotary_encoding).dim for group in found.groups} == {64}


def test_transformers_truncates_the_ramp_of_yarn_in_an_object_for_a_type_of_layer():
    yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096, "rope_theta": 1e6}
    plain, sides = {"rope_type": "default", "rope_theta": 1e4}, ["sliding_attention", "full_attention"]

    def read(truncate: bool) -> Any:
        rope = dict(zip(sides, (plain, {**yarn, "truncate": truncate}), strict=True))
        file = {"model_type": "gemma3_text", "num_hidden_layers": 2, "layer_types": sides, "rope_parameters": rope}
        return from_config(file).groups[1]

    note = "transformers 5.23.0 truncates whatever rope_parameters.full_attention.truncate says"
    assert (read(False).rotary_encoding.scaling.truncate, read(False).notes) == (False, (note,))
    assert read(True).notes == ()


def test_cohere2_rotates_where_it_slides_and_its_experts_in_dense_layers_too():
    """Cohere2Config slides in three layers of four; Cohere2MoeAttention.force_rope names the dense layers at the
    start, if prefix_dense_sliding_window_pattern is 1."""
    assert types("cohere2", num_hidden_layers=8) == ([*["sliding_attention"] * 3, "full_attention"]) * 2
    for pattern, rotating in ((1, {0, 1, 2, 3, 4, 6, 7}), (2, {0, 2, 3, 4, 6, 7})):
        keys = {"first_k_dense_replace": 2, "prefix_dense_sliding_window_pattern": pattern}
        read = rotations("cohere2_moe", num_hidden_layers=8, **keys)
        assert {layer for layer, rotation in enumerate(read) if rotation is not None} == rotating


@pytest.mark.parametrize("model_type", ["cohere2", "recurrent_gemma"])
def test_a_head_dim_of_the_file_wins_over_the_one_that_its_class_computes(model_type: str):
    """Both classes set hidden_size over heads, and then every key of the file, as their live attention shows."""
    sizes = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 3}
    share = {"cohere2": 1, "recurrent_gemma": 2}[model_type]
    for keys, width in (({}, 16), ({"head_dim": 32}, 32)):
        rotating = [one for one in rotations(model_type, **sizes, **keys) if one is not None]
        assert {one.rotation([0]).pairing.width for one in rotating} == {width // share}


def test_mimo_attends_to_all_in_the_first_layer_and_every_sixth_and_states_the_base_of_windows_idly():
    """swa_rope_theta of its released file is what rope_parameters of the class says; another value would be lost."""
    expected = ["full_attention" if layer == 0 or layer % 6 == 5 else "sliding_attention" for layer in range(12)]
    assert types("mimo_v2_flash", num_hidden_layers=12) == expected
    assert types("mimo_v2_flash", num_hidden_layers=12, swa_rope_theta=10_000) == expected
    with pytest.raises(ValueError, match=r"^swa_rope_theta must be understood, since it concerns positions"):
        types("mimo_v2_flash", num_hidden_layers=12, swa_rope_theta=20_000)


def test_layers_of_beam_that_do_not_rotate_multiply_queries_by_a_power_of_the_position():
    """((p + 1) / 2048 + 1)^0.1, the constants of its class."""
    rotating, still = from_config({"model_type": "beam", "num_hidden_layers": 6}).groups
    assert (rotating.query_temperature, still.rotary_encoding) == (None, None)
    assert still.query_temperature == PowerTemperature(128, exponent=0.1, length=2048, start=1)


def test_layers_without_a_rotation_keep_the_notes_of_their_class():
    rotating, still = from_config({"model_type": "llama4_text", "num_hidden_layers": 4}).groups
    assert still.rotary_encoding is None
    assert still.notes == rotating.notes == ("no_rope_layers holds 1 for a layer that does rotate",)


def test_molmo2_scales_the_listed_layers_alone():
    plain, scaled = RoPE(128, 1e4, "halves"), RoPE(128, 1e4, "halves", scaling=Linear(2.0))
    keys = {"num_hidden_layers": 3, "rope_scaling": {"rope_type": "linear", "factor": 2.0}}
    assert rotations("molmo2_text", **keys, rope_scaling_layers=[1], rope_theta=1e4) == [plain, scaled, plain]
    assert rotations("molmo2_text", **keys, rope_theta=1e4) == [scaled] * 3


def test_mpt_with_other_slopes_says_that_transformers_ignores_them():
    config = {"model_type": "mpt", "d_model": 64, "n_heads": 4}
    (usual,) = from_config(config | {"attn_config": {"alibi_bias_max": 8}}).groups
    (other,) = from_config(config | {"attn_config": {"alibi_bias_max": 16}}).groups
    assert (usual.notes, other.encodings) == ((), (ALiBi(heads=4, steepest=16.0),))
    assert other.notes[0].startswith("the class of transformers 5 always takes 8 for alibi_bias_max")


def test_mpt_without_alibi_learns_a_table_of_max_seq_len_rows_or_has_no_positions():
    without = {"model_type": "mpt", "attn_config": {"alibi": False}, "d_model": 64, "n_heads": 4}
    table, layers = from_config(without | {"max_seq_len": 512}).groups
    assert (table.encodings, table.layers, layers.encodings) == ((Learned(64, 512),), (), ())
    (layers,) = from_config(without | {"learned_pos_emb": False}).groups
    assert (layers.encodings, len(layers.layers)) == ((), 24)
    for group in (table, layers):
        assert "transformers 5 adds ALiBi whatever attn_config.alibi says" in group.notes[0]


def test_an_older_name_of_a_size_is_read_as_the_size():
    """Step 3.5's tower says heads, layers and width, as its first release did."""
    (rotating,) = [group for group in from_config({"model_type": "step3p5_vision", "layers": 3}).groups if group.layers]
    assert rotating.layers == (0, 1, 2)


def test_conformers_whose_type_of_positions_is_null_have_none():
    for model_type, part in (("wav2vec2-conformer", "audio"), ("seamless_m4t", "speech encoder")):
        groups = from_config({"model_type": model_type, "position_embeddings_type": None}).of(part)
        assert [group.encodings for group in groups if group.layers] == [()]


RULES: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"model_type": "deepseek_v4", "num_hidden_layers": 3, "compress_ratios": [0, 4]}, ValueError,
        "compress_ratios must hold 0, 4 or 128 for each of 3 layers; got (0, 4)"),
    ({"model_type": "deepseek_v4", "num_hidden_layers": 2, "compress_ratios": [0, 5]}, ValueError,
        "compress_ratios must hold 0, 4 or 128 for each of 2 layers; got (0, 5)"),
    ({"model_type": "zamba2", "num_hidden_layers": 2, "layers_block_type": ["hybrid"]}, ValueError,
        "layers_block_type must name a type for each of 2 layers; got ('hybrid',)"),
    ({"model_type": "muse_spark_text", "num_hidden_layers": 4, "layer_rope_theta": [1.0, 2.0]}, ValueError,
        "layer_rope_theta must hold a number for each of 4 layers; got (1.0, 2.0)"),
    ({"model_type": "step3p5", "num_hidden_layers": 2, "rope_theta": [1e4],
        "layer_types": ["full_attention", "sliding_attention"]}, ValueError,
        "rope_theta must have a number for every layer; got 1"),
    ({"model_type": "swinv2", "pretrained_window_sizes": [6]}, ValueError,
        "pretrained_window_sizes must have a number for each stage; got (6,)"),
    ({"model_type": "llama", "rope_scaling": {"rope_type": "dynamic", "factor": 2.0}, "max_position_embeddings": None},
        ValueError, "max_position_embeddings must be known for this rope_type; neither the file nor the class has it"),
    ({"model_type": "llama", "rope_scaling": {"rope_type": "longrope", "short_factor": [1.0] * 65_537}}, ValueError,
        "rope_scaling.short_factor must have at most 65536 entries; got 65537"),
    ({"model_type": "distilbert", "position_embedding_type": "relative_key"}, ValueError,
        "position_embedding_type must be 'absolute', since the class of transformers 5 knows no other"),
    ({"model_type": "qwen3_5_vision", "num_position_embeddings": 255}, ValueError,
        "num_position_embeddings must be a square, a grid of patches; got 255"),
    ({"model_type": "ernie4_5_vl_moe_text",
        "rope_parameters": {"rope_type": "default", "rope_theta": 5e5, "mrope_section": [22, 20, 22]}}, ValueError,
        "mrope_section must add up to 64, the first two alike; got (22, 20, 22)"),
    ({"model_type": "llava", "text_config": {"hidden_size": 64}}, ValueError,
        "text_config.model_type must be known; got None"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("config", "error", "says"), RULES, ids=[f"{c['model_type']}-{i}" for i, (c, *_) in enumerate(RULES)]
)
def test_what_a_file_must_say_is_said(config: dict[str, Any], error: type[Exception], says: str):
    with pytest.raises(error, match=r"^[^\n]*$") as caught:
        from_config(config)
    assert str(caught.value).startswith(says)


def test_the_list_of_layers_of_zamba2_is_that_of_its_class():
    hybrid = {6, 12, 18, 24, 30, 36, 42, 47, 51}  # Zamba2Config.layers_block_type
    read = types("zamba2", num_hidden_layers=54)
    assert read == ["hybrid" if layer in hybrid else "linear_attention" for layer in range(54)]


def test_a_config_whose_parts_are_all_waived_is_refused():
    with pytest.raises(ValueError, match=r"^gemma3 must have a config inside it that is read; got none of"):
        from_config({"model_type": "gemma3"}, waive=("text_config", "vision_config"))


def test_an_object_for_each_type_of_layer_lacks_none_that_the_class_does_not_add() -> None:
    """Live, lfm3 and most others keep rope_parameters as it is, so that no layer of the other type can be made."""
    one, sides = {"rope_type": "default", "rope_theta": 7e3}, ("full_attention", "sliding_attention")

    def check(model_type: str) -> None:
        for given, missing in (sides, sides[::-1]):
            with pytest.raises(
                ValueError, match=rf"^rope_parameters must hold an object .*; \['{missing}'\] is missing"
            ):
                from_config({"model_type": model_type, "rope_parameters": {given: one}})

    every(("lfm3", "gemma4_text", "embedding_gemma2_text", "mimo_v2_flash", "ultrabert"), check)
    groups = from_config({"model_type": "gemma3_text", "rope_parameters": {"full_attention": one}}).groups
    bases = {group.attention: getattr(unwrapped(group.rotary_encoding), "base", None) for group in groups}
    assert bases == {"full_attention": 7e3, "sliding_attention": 1e4}


def test_what_the_class_of_step3p5_drops_is_refused() -> None:
    for dropped in ({"rope_type": "linear", "factor": 2.0}, {"full_attention": {"rope_type": "default"}}):
        with pytest.raises(
            ValueError, match=r"^rope_parameters must hold an object for each of .*, or its class drops it"
        ):
            from_config(
                {"model_type": "step3p5", "num_hidden_layers": 2, "rope_parameters": dropped,
                 "layer_types": ["full_attention", "sliding_attention"]}
            )  # fmt: skip


def test_every_layer_of_mistral_large_4_chooses_its_keys():
    assert types("mistral_large4_text", num_hidden_layers=3) == ["indexed_attention"] * 3


@pytest.mark.parametrize("key", ["rope_type", "type"])
def test_a_share_outside_counts_for_scaled_layers_alone(key: str):
    known = ConfigClass(ignores=("partial_rotary_factor",))
    for kind, ignored in (("yarn", ()), ("default", ("partial_rotary_factor",))):
        assert known.ignored_keys({"rope_parameters": {"full_attention": {key: kind}}}) == ignored
