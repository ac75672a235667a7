"""Reading configs: both spellings, where values come from, and what is refused."""

from __future__ import annotations

import json
import sys
from types import CodeType
from typing import Any

import numpy as np
import pytest

import posenc
from every import every
from posenc import Backward, Linear, Llama3, LongRoPE, Partial, RoPE, YaRN
from posenc.diagnosis import diagnose
from posenc.models import diff, from_config, plan_context, to_config
from posenc.models.config.added_tables import TextTable
from posenc.models.config.config_classes import config_classes, nested
from posenc.models.config.fields import Fields
from posenc.models.config.model_types import MODEL_TYPES

LLAMA31 = {
    "factor": 8.0,
    "high_freq_factor": 4.0,
    "low_freq_factor": 1.0,
    "original_max_position_embeddings": 8192,
    "rope_type": "llama3",
}


def only(config: dict[str, Any], **options: Any) -> Any:
    (group,) = from_config(config, **options).groups
    return group


def test_both_spellings_are_one():
    base = {"model_type": "llama", "max_position_embeddings": 131_072}
    older = only(base | {"rope_theta": 500_000.0, "rope_scaling": LLAMA31})
    newer = only(base | {"rope_parameters": LLAMA31 | {"rope_theta": 500_000.0}})
    assert older.encodings == newer.encodings
    assert older.encodings == (RoPE(128, 500_000.0, "halves", scaling=Llama3()),)
    assert older.value("rope_theta").key == "rope_theta"
    assert newer.value("rope_theta").key == "rope_parameters.rope_theta"


@pytest.mark.parametrize("name", ["rope_scaling", "rope_parameters"])
def test_a_base_beside_a_scaling_counts(name: str):
    """Where the file has no such object, these classes fill in one with its own base, and the key does not count."""
    classes = config_classes()
    types = [
        kind
        for kind in MODEL_TYPES
        if kind in classes
        and "rope_theta" in classes[kind].ignores
        and "rope_theta" not in classes[kind].ignores_beside.get(name, classes[kind].ignores)
    ]
    linear = {"rope_type": "linear", "factor": 2.0, "mrope_section": [24, 20, 20]}

    def check(model_type: str) -> None:
        scaling = {key: value for key, value in linear.items() if model_type == "cosmos3_edge_text" or key[0] != "m"}
        if nested(classes[model_type].absent):
            scaling = dict.fromkeys(classes[model_type].absent, scaling)
        found = from_config({"model_type": model_type, "rope_theta": 5e5, name: scaling})
        bases = [group.value("rope_theta") for group in found.groups if group.rotary_encoding]
        assert bases
        assert {(base.value, base.source) for base in bases} == {(5e5, "file")}
        assert not [note for note in found.notes if "is not read by its class" in note]

    assert len(types) >= 12
    every([kind for kind in types if name == "rope_parameters" or not nested(classes[kind].absent)], check)
    (alone,) = from_config({"model_type": "ministral3", "rope_theta": 5e5}).notes
    assert alone == "rope_theta = 500000.0 is not read by its class"


def test_an_empty_object_is_not_a_missing_one():
    """A class that fills in a scaling where a file has no object completes an empty one without it."""
    sizes = {"hidden_size": 1024, "num_attention_heads": 8, "head_dim": 128}
    assert only({"model_type": "ministral3", **sizes, "rope_parameters": {}}).encodings == (RoPE(128, 1e4, "halves"),)
    assert only({"model_type": "ministral3", **sizes}).rotary_encoding.base == 1e6
    with pytest.raises(ValueError, match=r"^rope_parameters must hold an object for each type of layer"):
        from_config({"model_type": "gemma3_text", "rope_parameters": {}})


def test_an_object_that_its_class_cannot_complete_is_refused():
    linear = {"rope_type": "linear", "factor": 2.0}
    with pytest.raises(ValueError, match=r"^rope_parameters\.rope_theta must be in the file, since its class fills in"):
        from_config({"model_type": "cohere2_moe", "rope_theta": 5e5, "rope_parameters": linear})
    found = from_config({"model_type": "cohere2_moe", "rope_parameters": linear}, stated={"rope_theta": 5e5})
    assert {group.rotary_encoding.base for group in found.groups if group.rotary_encoding} == {5e5}
    with pytest.raises(ValueError, match=r"^rope_parameters must hold both main and compress, since its class drops"):
        from_config({"model_type": "deepseek_v4", "rope_parameters": {"compress": linear}})


def test_a_share_beside_objects_by_type_counts():
    """DeepSeek-V4 folds partial_rotary_factor into each object that lacks it."""
    both = {"main": {"rope_type": "default"}, "compress": {"rope_type": "default", "partial_rotary_factor": 0.25}}
    layers = {"num_hidden_layers": 2, "layer_types": ["sliding_attention", "compressed_sparse_attention"]}
    file = {"model_type": "deepseek_v4", **layers, "rope_parameters": both, "partial_rotary_factor": 0.5}
    assert [group.rotary_encoding.encoding.dim for group in from_config(file).groups] == [256, 128]


def test_values_say_where_they_come_from():
    group = only({"model_type": "llama", "rope_theta": 5e5, "hidden_size": 2048}, stated={"num_attention_heads": 64})
    assert [group.value(name).source for name in ("rope_theta", "num_attention_heads", "max_position_embeddings")] == [
        "file",
        "caller",
        "class default",
    ]
    assert group.encodings == (RoPE(32, 5e5, "halves"),)
    with pytest.raises(ValueError, match="name must be a value that was read; got 'bass'"):
        group.value("bass")


def test_what_is_stated_wins():
    group = only({"model_type": "llama", "rope_parameters": {"rope_theta": 1e4}}, stated={"rope_theta": 7e5})
    assert group.rotary_encoding.base == 7e5
    assert group.value("rope_theta").source == "caller"


def test_a_path_and_a_folder_are_read(tmp_path):
    config = {"model_type": "llama", "rope_theta": 5e5}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    for place in (tmp_path, str(tmp_path), tmp_path / "config.json"):
        assert from_config(place) == from_config(config)


def test_it_is_reached_from_the_package():
    assert posenc.models.from_config is from_config


def test_layers_of_two_bases():
    config = {"num_hidden_layers": 12, "rope_scaling": {"rope_type": "linear", "factor": 8.0}, "rope_theta": 1e6}
    found = from_config({"model_type": "gemma3", "text_config": config | {"rope_local_base_freq": 20_000.0}})
    near, far = found.groups
    assert (near.attention, near.layers, near.rotary_encoding) == (
        "sliding_attention",
        (0, 1, 2, 3, 4, 6, 7, 8, 9, 10),
        RoPE(256, 20_000.0, "halves"),
    )
    assert (far.layers, far.rotary_encoding) == ((5, 11), RoPE(256, 1e6, "halves", scaling=Linear(8.0)))
    assert found.at(5) == (far,)
    assert near.value("rope_theta").key == "text_config.rope_local_base_freq"


def test_the_class_of_olmo3_keeps_its_own_base_for_sliding_layers():
    near, far = from_config({"model_type": "olmo3", "rope_theta": 7e5}).groups
    assert (near.rotary_encoding.base, far.rotary_encoding.base) == (500_000.0, 7e5)
    assert near.value("rope_theta").source == "class default"


def test_older_phi3_with_its_trained_length_beside():
    rope = {"type": "su", "short_factor": [1.0] * 4, "long_factor": [1.0, 2.0, 3.0, 4.0]}
    config = {"model_type": "phi3", "num_attention_heads": 4, "hidden_size": 32, "rope_scaling": rope}
    config |= {"max_position_embeddings": 131_072, "original_max_position_embeddings": 2048}
    scaling = LongRoPE((1.0,) * 4, (1.0, 2.0, 3.0, 4.0), original=2048, length=131_072, factor=64.0)
    assert only(config).rotary_encoding == RoPE(8, 10_000.0, "halves", scaling=scaling)
    assert only(config, length=100).rotary_encoding.scaling.length == 100
    for name in ("phi3", "phi4_multimodal"):
        older = config | {"model_type": name, "rope_scaling": rope | {"type": "yarn"}}
        assert only(older).rotary_encoding == RoPE(8, 10_000.0, "halves", scaling=scaling)


def test_a_base_of_null_is_not_replaced_by_a_default():
    """In OLMo hybrid it means no rotation; elsewhere it means nothing."""
    rope = {"rope_parameters": {"rope_type": "default", "rope_theta": None}}
    found = from_config({"model_type": "olmo_hybrid", **rope})
    assert all(group.rotary_encoding is None for group in found.groups)
    assert from_config({"model_type": "olmo_hybrid"}).groups[1].rotary_encoding == RoPE(128, 10_000.0, "halves")
    with pytest.raises(ValueError, match="rope_theta must be known"):
        from_config({"model_type": "llama", **rope})


def test_part_of_the_head():
    group = only({"model_type": "gpt_neox", "rotary_pct": 0.5, "hidden_size": 64, "num_attention_heads": 4})
    assert group.rotary_encoding == Partial(RoPE(8, 10_000.0, "halves"), 16)


def test_mscale_alone_does_not_count_but_is_noted_nowhere_as_used():
    rope = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32_768, "mscale": 0.5}
    assert only({"model_type": "llama", "rope_scaling": rope}).rotary_encoding.scaling == YaRN(4.0, 32_768)


@pytest.mark.parametrize(
    ("config", "error", "message"),
    [
        ({}, ValueError, "model_type must be in the config; got none"),
        ({"model_type": 3}, TypeError, "model_type must be a word; got 3"),
        ({"model_type": "foo"}, ValueError, "model_type must be one that is known here, or its pairing must be stated"),
        ({"model_type": "llama", "rope_scaling": {"type": "yarm"}}, ValueError, "rope_scaling.type must be one of"),
        ({"model_type": "phi3", "rope_scaling": {"type": "yarn", "factor": 4.0}}, ValueError,
            "rope_scaling.type must not be 'yarn' without short_factor and long_factor"),
        ({"model_type": "llama", "rope_scaling": [1]}, TypeError, "rope_scaling must be a JSON object"),
        ({"model_type": "llama", "rope_scaling": {"type": "linear"}}, ValueError, "factor must be in rope_parameters"),
        ({"model_type": "llama", "rope_theta": float("nan")}, ValueError, "rope_theta must be a finite number"),
        ({"model_type": "llama", "rope_theta": "1e4"}, TypeError, "rope_theta must be a finite number"),
        ({"model_type": "llama", "rope_theta": {"a": 1}}, TypeError, "rope_theta must be a plain value"),
        ({"model_type": "llama", "num_hidden_layers": 10**12}, ValueError,
            "num_hidden_layers must be an integer from 1 to 8192"),
        ({"model_type": "recurrent_gemma", "block_types": ["attention", 1]}, TypeError,
            "block_types must hold words; got 1"),
        ({"model_type": "recurrent_gemma", "block_types": "attention"}, TypeError,
            "block_types must list the types of blocks; got 'attention'"),
        ({"model_type": "deberta-v2", "relative_attention": True, "pos_att_type": "p2c|c2p", "position_buckets": 1},
            ValueError, "buckets must be an even integer from 4"),
        ({"model_type": "llama", "head_dim": -4}, ValueError, "head_dim must be an integer from 1"),
        ({"model_type": "llama", "head_dim": 7}, ValueError, "dim must be an even integer"),
        ({"model_type": "llama", "layer_types": ["full_attention"]}, ValueError,
            "layer_types must name a type for each of 32"),
        ({"model_type": "gemma3_text", "rope_parameters": {"rope_theta": 1.0}}, ValueError,
            "an object for each type of layer"),
    ],
)  # fmt: skip
def test_bad_configs_are_named(config: dict[str, Any], error: type[Exception], message: str):
    with pytest.raises(error, match=message) as caught:
        from_config(config)
    assert "\n" not in str(caught.value)


def test_waived_keys_are_let_through():
    assert only({"model_type": "llama", "rotary_foo": 1}, waive=("rotary_foo",)).rotary_encoding.base == 10_000.0


def test_a_stranger_is_read_with_its_pairing_stated():
    config = {
        "model_type": "foo",
        "hidden_size": 64,
        "num_attention_heads": 4,
        "num_hidden_layers": 2,
        "rope_theta": 3e4,
    }
    assert only(config, stated={"pairing": "adjacent"}).rotary_encoding == RoPE(16, 3e4, "adjacent")
    del config["rope_theta"]
    with pytest.raises(ValueError, match="rope_theta must be known; neither the file nor the class has it"):
        only(config, stated={"pairing": "adjacent"})


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"stated": [1]}, TypeError, "stated must be a dict of keys and values"),
        ({"waive": "rope_foo"}, TypeError, "waive must be a tuple of words"),
        ({"length": 0}, ValueError, "length must be an integer from 1"),
        ({"length": 1.5}, TypeError, "length must be an integer"),
        ({"numerics": "bfloat16"}, ValueError, "numerics must be one of"),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        from_config({"model_type": "llama"}, **options)


def test_a_mixture_of_both_spellings_of_rope_parameters_is_refused():
    mixed = {"full_attention": {"rope_type": "default", "rope_theta": 1e6}, "rope_type": "yarn"}
    with pytest.raises(TypeError, match=r"rope_parameters\.rope_type must be a JSON object; got 'yarn'"):
        from_config({"model_type": "gemma3_text", "rope_parameters": mixed})


def test_dots3_widths_by_layer():
    """In older files layers with a window have keys of their own, in saved ones per_layer_config."""
    dots = {"model_type": "dots3_note_text", "num_hidden_layers": 4, "qk_rope_head_dim": 32, "qk_nope_head_dim": 96}
    full, sliding = from_config(
        {**dots, "swa_head_dim": 128, "swa_qk_nope_head_dim": 112, "swa_rope_theta": 777.0}
    ).groups
    assert (full.layers, full.rotary_encoding.start, full.rotary_encoding.encoding.dim) == ((0, 1), 96, 32)
    assert (
        sliding.rotary_encoding.start,
        sliding.rotary_encoding.encoding.dim,
        sliding.rotary_encoding.encoding.base,
    ) == (112, 16, 777.0)
    saved = {str(layer): {"qk_nope_head_dim": 48} for layer in (2, 3)}
    _, sliding = from_config({**dots, "per_layer_config": saved}).groups
    assert (sliding.rotary_encoding.start, sliding.rotary_encoding.encoding.dim) == (48, 32)
    with pytest.raises(ValueError, match="rope_parameters must hold an object for each type of layer"):
        from_config({**dots, "rope_parameters": {"rope_type": "default", "rope_theta": 1e4}})
    ropes = {name: {"rope_type": "proportional"} for name in ("indexed_attention", "sliding_attention")}
    with pytest.raises(ValueError, match="must not be 'proportional'"):
        from_config({**dots, "rope_parameters": ropes})


def test_seamless_says_what_its_speech_encoder_does():
    base = {
        "model_type": "seamless_m4t",
        "hidden_size": 64,
        "speech_encoder_attention_heads": 4,
        "speech_encoder_layers": 2,
    }
    kinds = [type(group.encodings[0]).__name__ for group in from_config(base).groups]
    assert kinds == ["Sinusoidal", "Sinusoidal", "Sinusoidal", "TransformerXL"]
    assert from_config({**base, "position_embeddings_type": "rotary"}).of("speech encoder")[0].rotary_encoding.dim == 16
    with pytest.raises(ValueError, match="position_embeddings_type must be 'relative', 'rotary' or null"):
        from_config({**base, "position_embeddings_type": "none"})


def test_a_config_inside_without_positions_is_a_note():
    found = from_config({"model_type": "dbrx", "ffn_config": {"ffn_hidden_size": 64, "moe_num_experts": 4}})
    assert found.notes[0] == "ffn_config: nothing encodes positions: it has no layer that attends"
    found = from_config({"model_type": "dbrx", "ffn_config": {"rope_theta": 1e4}})
    assert "ffn_config.rope_theta = 10000.0 is not read by its class" in found.notes


def test_a_base_of_deepseek_v4_beside_a_dict_for_each_type_does_not_count():
    nested = {"main": {"rope_type": "default", "rope_theta": 5.0, "partial_rotary_factor": 0.125}}
    nested["compress"] = {"rope_type": "default", "rope_theta": 7.0, "partial_rotary_factor": 0.125}
    found = from_config(
        {"model_type": "deepseek_v4", "rope_parameters": nested, "rope_theta": 1e4, "num_hidden_layers": 4}
    )
    assert {group.rotary_encoding.encoding.base for group in found.groups} <= {5.0, 7.0}


NANOCHAT = {"model_type": "nanochat", "rope_theta": 5e4, "head_dim": 64, "hidden_size": 512, "num_hidden_layers": 2}


def test_nanochat_turns_the_other_way_round():
    plain = RoPE(64, 5e4, "halves")
    found = from_config(NANOCHAT)
    assert found.groups[0].encodings == (Backward(plain),)
    written = to_config(found, {name: NANOCHAT[name] for name in NANOCHAT if name != "rope_theta"})
    assert from_config(written).groups[0].encodings == (Backward(plain),)
    assert {way.checked for way in plan_context(NANOCHAT, length=8192).candidates} == {
        "read back through from_config: the same encodings"
    }
    (line,) = diff(Backward(plain), plain).fields
    assert line.line() == "encoding: Backward of RoPE and RoPE"


def test_a_rotation_the_wrong_way_round_is_named_whichever_was_meant():
    forward, places = RoPE(64, pairing="halves"), np.arange(9)
    q = np.random.default_rng(0).normal(size=(9, 64))
    for meant, other in ((forward, Backward(forward)), (Backward(forward), forward)):
        assert diagnose(meant, {"q": q, "q_rotated": meant.rotation(places)(q)}).agree
        (finding,) = diagnose(meant, {"q": q, "q_rotated": other.rotation(places)(q)}).findings
        assert (finding.name, finding.sentence) == ("sign", "Queries and keys rotate the other way round.")


@pytest.mark.parametrize(
    ("model_type", "reason"),
    [("vjepa2", "repeats its angles")],
)
def test_no_stated_pairing_reads_what_is_no_rotation_of_pairs(model_type: str, reason: str):
    for stated in ({}, {"pairing": "halves", "rope_theta": 1e4}):
        with pytest.raises(
            ValueError, match=f"model_type must be one whose positions are read; got '{model_type}', which {reason}"
        ):
            from_config({"model_type": model_type, "head_dim": 64, "num_hidden_layers": 2}, stated=stated)


def test_the_wrong_way_round_is_named_between_configs():
    llama = NANOCHAT | {"model_type": "llama", "num_attention_heads": 8}
    for meant, other in ((NANOCHAT, llama), (llama, NANOCHAT)):
        (finding,) = diagnose(meant, other).findings
        assert (finding.name, finding.sentence) == ("sign", "Queries and keys rotate the other way round.")
    both = diagnose(NANOCHAT, llama | {"rope_theta": 1e4}).findings
    assert {finding.name for finding in both} == {"sign", "base"}


def test_hunyuan_needs_its_sections_under_either_name():
    text = {"model_type": "hunyuan_vl_text", "head_dim": 64, "num_hidden_layers": 2}
    older = {"type": "xdrope", "alpha": 1000.0, "xdrope_section": [8, 8, 8, 8]}
    group = only(text | {"rope_scaling": older})
    assert group.encodings == (posenc.XDRoPE((8, 8, 8, 8), scaling=posenc.NTKAware(1000.0)),)
    assert str(group.value("alpha")) == "alpha = 1000.0 (file: rope_scaling.alpha)"
    whole = {"model_type": "hunyuan_vl", "text_config": text | {"rope_scaling": older}, "vision_config": {}}
    assert only(whole, waive=("vision_config",)).encodings == group.encodings
    with pytest.raises(TypeError, match="mrope_section must list the pairs of each axis; got None"):
        from_config(text)
    with pytest.raises(ValueError, match=r"mrope_section must equal xdrope_section, its older name; got \(8, 8, 16\)"):
        from_config(text | {"rope_scaling": older | {"mrope_section": [8, 8, 16]}})
    with pytest.raises(ValueError, match="mrope_section must add up to 32, the pairs of a width of 64"):
        from_config(text | {"rope_scaling": older | {"xdrope_section": [8, 8, 8, 9]}})


@pytest.mark.parametrize(("model_type", "key"), [("albert", "embedding_size"), ("rembert", "input_embedding_size")])
def test_the_width_of_a_text_table_is_the_key_of_its_row_or_refused(model_type: str, key: str) -> None:
    """Never hidden_size in its place: a file without the key takes the default of its class."""
    (group,) = from_config({"model_type": model_type, "hidden_size": 64}).groups
    assert group.encodings[0].dim == config_classes()[model_type].defaults[key] != 64
    with pytest.raises(ValueError, match=f"^{key} must be known"):
        from_config({"model_type": model_type, "hidden_size": 64, key: None})


def test_the_class_of_every_text_table_has_a_default_for_its_width() -> None:
    for name, row in MODEL_TYPES.items():
        known = config_classes()[name]
        for table in row.tables:
            if isinstance(table, TextTable):
                assert {table.dim, known.names.get(table.dim)} & set(known.defaults), (name, table.dim)


def test_reading_a_model_of_many_layers_takes_few_calls() -> None:
    """At most 1,000 calls for Llama 3.1, and as many searches for a key in 64 layers as in 32."""
    config = {"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
              "max_position_embeddings": 131_072, "rope_theta": 5e5, "rope_scaling": LLAMA31}  # fmt: skip

    def entered(layers: int) -> list[CodeType]:
        from_config(config | {"num_hidden_layers": layers})
        codes: list[CodeType] = []
        sys.setprofile(lambda frame, event, _: codes.append(frame.f_code) if event == "call" else None)
        try:
            from_config(config | {"num_hidden_layers": layers})
        finally:
            sys.setprofile(None)
        return codes

    assert len(entered(32)) <= 1000
    assert entered(32).count(Fields.get.__code__) == entered(64).count(Fields.get.__code__)


def test_moonshine_rotates_in_its_encoder_and_in_its_decoder_by_their_own_keys():
    """Both stacks make `MoonshineRotaryEmbedding`; each has counts of layers and heads of its own."""
    config = {"model_type": "moonshine", "encoder_num_hidden_layers": 4, "encoder_num_attention_heads": 4}
    found = [(group.part, group.layers, group.encodings[0].dim) for group in from_config(config).groups]
    assert found == [("decoder", tuple(range(6)), 288 // 8), ("encoder", tuple(range(4)), 288 // 4)]
    for key in ("encoder_num_hidden_layers", "encoder_num_attention_heads"):
        assert not diagnose(config, {**config, key: 8}).agree, key
    note = "transformers 5.23.0 builds the decoder with encoder_num_attention_heads as well"
    assert note in from_config(config).notes
    assert not from_config({"model_type": "moonshine"}).notes, "as many heads in both"
