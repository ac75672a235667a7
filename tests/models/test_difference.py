"""What differs is named, and what it does to angles is what can be worked out by hand."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from posenc import ALiBi, Learned, Linear, Partial, RoPE, Sinusoidal, StepTemperature, YaRN
from posenc.diagnosis import diagnose
from posenc.frequencies import DynamicNTK
from posenc.models import LayerGroup, ModelPositions, RoleRotation, diff, fingerprint, from_config
from posenc.models.keys_that_differ import keys_that_differ

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "rope_theta": 500_000.0,
    "hidden_size": 256,
    "num_attention_heads": 4,
    "num_hidden_layers": 4,
    "max_position_embeddings": 8192,
}


def names(found: Any) -> list[str]:
    return [field.name for field in found.fields]


def test_a_scaling_is_named_and_its_angles_are_those_of_the_first_pair() -> None:
    found = diff(RoPE(64), RoPE(64, scaling=Linear(4.0)))
    assert names(found) == ["scaling", "scaling.factor"]
    assert [(effect.position, effect.kind, effect.index) for effect in found.effects] == [
        (1024, "angle", 0),
        (8192, "angle", 0),
        (131_072, "angle", 0),
    ]
    assert [effect.largest for effect in found.effects] == [768.0, 6144.0, 98_304.0]
    assert found.attention == 1.0
    assert not found.same


def test_the_largest_difference_need_not_be_in_the_first_pair() -> None:
    found = diff(RoPE(64, base=1e4), RoPE(64, base=5e5))
    gaps = [1024 * abs(1e4 ** (-pair / 32) - 5e5 ** (-pair / 32)) for pair in range(32)]
    assert found.effects[0].index == gaps.index(max(gaps))
    assert found.effects[0].largest == pytest.approx(max(gaps))


def test_a_key_with_a_value_for_each_layer_is_compared_layer_by_layer() -> None:
    """Layers of one type rotate differently: every one counts, and not the last alone."""
    config = {"model_type": "granite_swa", "num_hidden_layers": 3, "layer_types": ["full_attention"] * 3}
    bases = ([1e4, 5e5, 5e5], [2e4, 5e5, 5e5], [1e4, 5e5, 2e4])
    first, *others = (from_config(config | {"layer_rope_theta": one}) for one in bases)
    assert keys_that_differ(first, first) == {}
    assert [keys_that_differ(first, other) for other in others] == [
        {"layer_rope_theta": (1e4, 2e4)},
        {"layer_rope_theta": (5e5, 2e4)},
    ]
    elsewhere = from_config(config | {"layer_types": ["sliding_attention"] * 2 + ["full_attention"]})
    one_layer = {"num_hidden_layers": 1, "layer_types": ["full_attention"], "rope_theta": 2e4}
    assert list(keys_that_differ(from_config(config | one_layer), elsewhere).values()) == [(2e4, 1e4)]


def test_the_attention_factors_are_compared() -> None:
    found = diff(RoPE(64), RoPE(64, scaling=YaRN(4.0, 4096)))
    assert found.attention == pytest.approx(0.1 * math.log(4) + 1)
    assert "logits times 1.29648" in str(found)


def test_a_field_that_changes_nothing_is_named_and_called_the_same() -> None:
    found = diff(RoPE(64), RoPE(64, scaling=Linear(1.0), numerics="float32"))
    assert found.same
    assert names(found) == ["numerics", "scaling", "scaling.factor"]
    assert found.effects == ()
    assert "the same mathematics" in str(found)


def test_a_part_of_a_head_and_a_whole_one_differ_by_width() -> None:
    assert names(diff(RoPE(64), Partial(RoPE(16), 64))) == ["width"]
    assert names(diff(Partial(RoPE(16), 64), Partial(RoPE(16), 64, start=48))) == ["start"]


def test_values_and_biases_are_compared_where_there_are_any() -> None:
    found = diff(Sinusoidal(8), Sinusoidal(8, start=1))
    assert {effect.kind for effect in found.effects} == {"value"}
    assert found.effects[0].largest <= 2.0
    found = diff(ALiBi(8), ALiBi(8, steepest=4.0))
    # 2^-4 against 2^-1 … the first head's slope is 2^-1 in one and 2^-(1/2) in the other.
    assert found.effects[0].largest == pytest.approx(1024 * max(2 ** -(h / 2) - 2**-h for h in range(1, 9)))
    assert diff(Learned(8, 4), Learned(8, 5)).effects == ()
    assert diff(Sinusoidal(8), RoPE(8)).effects == ()


def test_models_are_compared_layer_by_layer() -> None:
    found = diff(from_config(LLAMA), from_config(LLAMA | {"rope_theta": 10_000.0}))
    assert [part.where for part in found.parts] == ["text, layers 0-3"]
    assert names(found.parts[0]) == ["base"]
    assert len(found.parts[0].effects) == 3
    assert diff(from_config(LLAMA), from_config(LLAMA)).parts == ()


DYNAMIC = LLAMA | {"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}
TRAINED = "original_max_position_embeddings"
LISTS = {"short_factor": [1.0] * 32, "long_factor": [4.0] * 32}
LONG_ROPE = LLAMA | {"rope_scaling": {"rope_type": "longrope", **LISTS, "factor": 2.0, TRAINED: 4096}}


@pytest.mark.parametrize(
    ("config", "key", "value", "served", "measured"),
    [(DYNAMIC, "factor", 4.0, "16,384", (1024, 8192)), (LONG_ROPE, "short_factor", [2.0] * 32, "4,096", (1024,))],
)
def test_a_difference_at_another_length_than_the_files_own_is_one(
    config: Any, key: str, value: Any, served: str, measured: tuple[int, ...]
) -> None:
    other = config | {"rope_scaling": config["rope_scaling"] | {key: value}}
    first, second = from_config(config), from_config(other)
    found = diff(first, second)
    assert (found.same, found.verdict, fingerprint(first) == fingerprint(second)) == (False, "differ", False)
    assert [part.where for part in found.parts] == [f"text, layers 0-3, where {served} tokens are served"]
    assert tuple(effect.position for effect in found.parts[0].effects) == measured
    assert not diagnose(first, second).agree
    assert diff(first, first).same


def test_other_roles_are_compared_at_every_length() -> None:
    scaled = [RoPE(64, scaling=DynamicNTK(factor, original=100, length=100)) for factor in (2.0, 4.0)]
    first, second = (model(RoPE(64), roles=(RoleRotation("indexer", one),)) for one in scaled)
    found = diff(first, second)
    assert (found.same, names(found.parts[0])) == (False, ["indexer.scaling.factor"])


def test_lists_of_which_no_length_takes_another_are_one_whatever_the_trained_length() -> None:
    same = LONG_ROPE["rope_scaling"] | {"short_factor": [4.0] * 32, "attention_factor": 1.0}
    first, second = (from_config(LONG_ROPE | {"rope_scaling": same | {TRAINED: n}}) for n in (4096, 2048))
    assert diff(first, second).same


def model(*layers: Any, **fields: Any) -> ModelPositions:
    """Layers as groups, whatever they are called."""
    groups: dict[Any, list[int]] = {}
    for layer, encoding in enumerate(layers):
        groups.setdefault(encoding, []).append(layer)
    return ModelPositions(
        "made",
        tuple(
            LayerGroup("text", f"kind{index}", tuple(own), () if encoding is None else (encoding,), **fields)
            for index, (encoding, own) in enumerate(groups.items())
        ),
    )


def test_layers_that_swapped_their_encodings_are_both_shown() -> None:
    found = diff(model(RoPE(64), RoPE(64, base=1e6), None), model(RoPE(64, base=1e6), RoPE(64), None))
    assert [part.where for part in found.parts] == ["text, layer 0", "text, layer 1"]
    assert not found.same


def test_what_stands_beside_the_encodings_is_compared() -> None:
    found = diff(model(RoPE(64)), model(RoPE(64), logit_factor=2.0, query_temperature=StepTemperature(64)))
    assert names(found.parts[0]) == ["logit_factor", "query_temperature"]


def test_models_with_other_layers_say_so() -> None:
    found = diff(model(RoPE(64)), model(RoPE(64), RoPE(64)))
    assert found.parts[0].fields[0].first == "no such layers"
    assert found.parts[0].where == "text, layer 1"
    found = diff(model(RoPE(64), None), model(RoPE(64), RoPE(64)))
    assert (found.parts[0].first, found.parts[0].where) == ("none", "text, layer 1")


def test_models_that_only_call_their_layers_otherwise_are_the_same() -> None:
    one = ModelPositions("a", (LayerGroup("text", "full_attention", (0, 1), (RoPE(64),)),))
    other = ModelPositions("b", tuple(LayerGroup("text", f"x{i}", (i,), (Partial(RoPE(64), 64),)) for i in range(2)))
    assert fingerprint(one) == fingerprint(other)
    assert diff(one, other).same
    assert fingerprint(one) != fingerprint(model(RoPE(64), None))
    assert fingerprint(one) != fingerprint(model(RoPE(64), RoPE(64), logit_factor=2.0))


def test_what_biases_are_multiplied_by_counts_where_there_are_biases() -> None:
    """Falcon adds ALiBi before it divides by √d, BLOOM after."""
    one, other = model(ALiBi(8)), model(ALiBi(8), bias_factor=0.125)
    assert fingerprint(one) != fingerprint(other)
    assert names(diff(one, other).parts[0]) == ["bias_factor"]
    assert fingerprint(model(RoPE(64))) == fingerprint(model(RoPE(64), bias_factor=0.125))


def test_a_temperature_counts_whatever_the_width_it_stretches() -> None:
    warm = [
        model(None, query_temperature=StepTemperature(*own)) for own in ((64, 0.1), (128, 0.1), (64, 0.2), (64, 0.0))
    ]
    assert fingerprint(warm[0]) == fingerprint(warm[1])
    assert len({fingerprint(own) for own in warm}) == 3
    assert fingerprint(warm[3]) == fingerprint(model(None))


def gemma3n(chunk: int) -> dict[str, Any]:
    audio = {"model_type": "gemma3n_audio", "conf_attention_chunk_size": chunk}
    return {"model_type": "gemma3n", "text_config": {"model_type": "gemma3n_text"}, "audio_config": audio}


@pytest.mark.parametrize(
    ("first", "second", "not_compared"),
    [
        (gemma3n(12), gemma3n(24), "audio_config is left out: gemma3n_audio scores sines"),
        (
            {"model_type": "wavlm", "num_conv_pos_embeddings": 128},
            {"model_type": "wavlm", "num_conv_pos_embeddings": 64},
            "a convolution over neighbouring positions",
        ),
        ({"model_type": "bert"}, {"model_type": "visual_bert"}, "regions of an image .* (the second alone)"),
    ],
)
def test_an_all_clear_names_what_posenc_does_not_read(first: Any, second: Any, not_compared: str) -> None:
    found, difference = diagnose(first, second), diff(from_config(first), from_config(second))
    assert found.agree
    assert difference.same
    assert str(found).startswith("they agree in what was compared\n")
    assert "the same mathematics in what was compared" in str(difference)
    line = "not compared, because posenc does not read it: " + not_compared.replace("(", r"\(").replace(")", r"\)")
    assert re.search(line, str(found))
    assert re.search(line, str(difference))


SCALED = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048}


@pytest.mark.parametrize(
    ("first", "second", "waive", "lines"),
    [
        (
            {"rope_style": "one"},
            {"rope_style": "two"},
            "rope_style",
            ["rope_style = 'one' is waived (the first alone)", "rope_style = 'two' is waived (the second alone)"],
        ),
        ({"rope_style": "one"}, {"rope_style": "one"}, "rope_style", ["rope_style = 'one' is waived"]),
        (
            {"rope_scaling": SCALED | {"attn_factor": 2.0}},
            {"rope_scaling": SCALED},
            "attn_factor",
            ["rope_scaling.attn_factor = 2.0 is waived (the first alone)"],
        ),
        (
            {"rope_scaling": SCALED | {"attn_factor": 2.0}},
            {"rope_scaling": SCALED},
            "rope_scaling.attn_factor",
            ["rope_scaling.attn_factor = 2.0 is waived (the first alone)"],
        ),
        (
            {"rope_scaling": SCALED | {"beta_fast": 16.0}},
            {"rope_scaling": SCALED},
            "beta_fast",
            ["rope_scaling.beta_fast = 16.0 is waived (the first alone)"],
        ),
    ],
)
def test_a_verdict_names_what_the_caller_waived(first: Any, second: Any, waive: str, lines: list[str]) -> None:
    one, other = LLAMA | first, LLAMA | second
    found = diagnose(one, other, waive=(waive,))
    assert found.agree
    assert str(found).startswith("they agree in what was compared\n")
    assert list(found.not_compared) == lines
    assert list(diff(*(from_config(config, waive=(waive,)) for config in (one, other))).not_compared) == lines
    assert lines[0].removesuffix(" (the first alone)") in from_config(one, waive=(waive,)).explain()


def test_a_verdict_on_arrays_names_what_the_caller_waived() -> None:
    frequencies = {"inv_freq": 5e5 ** (-np.arange(32) / 32)}
    found = diagnose(LLAMA | {"rope_style": "one"}, frequencies, waive=("rope_style",))
    assert found.agree
    assert found.not_compared == ("rope_style = 'one' is waived",)
    assert diagnose(LLAMA, frequencies).not_compared == ()


def test_a_verdict_names_a_part_that_the_caller_waived() -> None:
    text, vision = {"model_type": "gemma3_text"}, {"model_type": "siglip_vision_model"}
    config = {"model_type": "gemma3", "text_config": text, "vision_config": vision}
    assert diagnose(config, config, waive=("vision_config",)).not_compared == ("vision_config is waived",)


def test_a_waived_key_that_is_not_there_is_not_named() -> None:
    assert from_config(LLAMA, waive=("rope_style",)).not_read == ()


def test_an_all_clear_of_models_that_are_read_whole_is_one() -> None:
    assert str(diagnose(LLAMA, LLAMA)).startswith("they agree in everything that this evidence can show\n")
    assert diagnose(RoPE(8), RoPE(8)).not_compared == ()


@pytest.mark.parametrize("pair", [(RoPE(8), "x"), (RoPE(8), from_config(LLAMA)), (Linear(2.0), RoPE(8))])
def test_what_cannot_be_compared_is_refused(pair: tuple[Any, Any]) -> None:
    with pytest.raises(TypeError, match=r"^(first|second) must be an encoding, or both what"):
        diff(*pair)
