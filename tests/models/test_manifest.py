"""The manifest: every layer and role in plain numbers, valid by its schema, read back exactly, refused when changed."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from every import every
from posenc.models import Chunks, Manifest, Window, diff, from_config, from_gguf, manifest, read_manifest
from posenc.models.config.model_types import MODEL_TYPES
from posenc.models.formats.gguf_header import GGUFHead
from posenc.models.manifests import manifest_read
from posenc.models.manifests.manifest_read import positions_of

SCHEMA = Path(manifest_read.__file__).with_name("manifest.schema.json")
YARN = {"rope_type": "yarn", "factor": 40.0, "original_max_position_embeddings": 4096, "mscale": 1.0,
        "mscale_all_dim": 1.0}  # fmt: skip
#: A telling few: latent attention, an indexer, compressors, two bases, windows and chunks, a temperature, several axes,
#: tables with an offset, buckets, slopes, layers without a position, a tower of patches, and keys that nothing reads.
TELLING = (
    {"model_type": "gpt_oss"},
    {"model_type": "deepseek_v3", "rope_scaling": YARN},
    {"model_type": "deepseek_v4"},
    {"model_type": "glm_moe_dsa"},
    {"model_type": "gemma3_text"},
    {"model_type": "gemma3n_text"},
    {"model_type": "gemma4_text"},
    {"model_type": "step3p5"},
    {"model_type": "qwen3_vl_text"},
    {"model_type": "qwen2_vl", "text_config": {}, "vision_config": {}},
    {"model_type": "kimi_k2"},
    {"model_type": "llama4_text"},
    {"model_type": "llama", "partial_rotary_factor": 0.5, "rope_style": "fancy"},
    {"model_type": "smollm3"},
    {"model_type": "t5"},
    {"model_type": "bert"},
    {"model_type": "opt"},
    {"model_type": "bloom"},
    {"model_type": "dinov3_vit"},
    {"model_type": "clip_vision_model"},
)


def of(model_type: str, **keys: Any) -> Manifest:
    return manifest(from_config({"model_type": model_type, **keys}))


def is_valid_and_read_back(config: dict[str, Any]) -> None:
    """Valid by the committed schema, as an independent validator reads it; and the same model when read back."""
    jsonschema = pytest.importorskip("jsonschema")
    model = from_config(config)
    made = manifest(model)
    text = made.to_json()
    data = json.loads(text, parse_constant=pytest.fail)
    assert data == made.to_dict()
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(data)
    assert read_manifest(data) == made
    back = from_config(data)
    assert back == model
    assert (back.not_read, back.idle) == (model.not_read, model.idle)  # kinds of notes, which are equal as text


def test_the_schema_is_one():
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(json.loads(SCHEMA.read_text(encoding="utf-8")))


def test_it_is_valid_and_read_back_exactly():
    every(TELLING, is_valid_and_read_back)


@pytest.mark.nightly
def test_of_every_type():
    readable = []
    for name in MODEL_TYPES:
        try:
            from_config({"model_type": name})
        except (ValueError, TypeError):
            continue
        readable.append({"model_type": name})
    assert len(readable) > 450
    every(readable, is_valid_and_read_back)


def test_pairs_and_frequencies_are_those_of_the_formula():
    """GPT-J: the first 64 of 256 channels, adjacent, 10000^(-2i/64)."""
    (group,) = of("gptj", n_embd=4096, n_head=16, rotary_dim=64).groups
    pairs = group.uses[0].pairs
    assert (pairs.head_dim, pairs.width, pairs.pairing, pairs.axes) == (256, 64, "adjacent", 1)
    assert pairs.first == tuple(range(0, 64, 2))
    assert pairs.second == tuple(range(1, 64, 2))
    np.testing.assert_allclose(pairs.frequencies, 10_000.0 ** (-np.arange(0, 64, 2) / 64), rtol=1e-15)
    assert (pairs.base, pairs.scaling, pairs.amplitude) == (10_000.0, None, 1.0)


def test_amplitude_in_the_table():
    """gpt-oss: cosines and sines times 0.1·ln 32 + 1, the softmax scale untouched; windows on every second layer."""
    found = of("gpt_oss")
    amplitude = found.at(0).pairs.amplitude
    assert amplitude == pytest.approx(0.1 * math.log(32) + 1, rel=1e-15)
    assert [group.window for group in found.groups] == [Window(127), None]
    assert [group.softmax_scale for group in found.groups] == [1 / 8, 1 / 8]
    assert dict(found.at(0).parameters)["scaling.truncate"] is False


def test_amplitude_in_the_softmax_scale():
    """DeepSeek-V3: the slice of 64 behind 128 channels; the amplitude is squared into the logits, the table has 1."""
    found = of("deepseek_v3", rope_scaling=YARN, max_position_embeddings=163_840)
    (group,) = found.groups
    assert found.roles == ("latent",)
    pairs = found.at(60, "latent").pairs
    assert (pairs.head_dim, pairs.width, min(pairs.first), pairs.amplitude) == (192, 64, 128, 1.0)
    assert group.logit_factor == pytest.approx((0.1 * math.log(40) + 1) ** 2, rel=1e-15)
    assert group.softmax_scale == pytest.approx(group.logit_factor / math.sqrt(192), rel=1e-15)
    lengths = {length.kind: length.positions for length in group.lengths}
    assert lengths == {"declared": 163_840, "trained": 4096, "scaled": 163_840}


def test_roles_besides_attention():
    found = of("deepseek_v4")
    assert found.roles == ("main", "compressor", "values", "output", "indexer")
    main, back = found.at(0).pairs, found.at(0, "output").pairs
    assert (main.first, main.second) == (back.second, back.first)
    assert [found.at(layer, "compressor").rate for layer in (0, 3)] == [128, 4]
    indexer = of("glm_moe_dsa").at(0, "indexer").pairs
    assert (indexer.head_dim, indexer.width, min(indexer.first)) == (128, 64, 0)


def test_bases_windows_and_layers_without_a_position():
    gemma = of("gemma3_text", sliding_window=1024)
    assert {group.uses[0].pairs.base: group.window for group in gemma.groups} == {1e4: Window(1023), 1e6: None}
    rotating, still = of("llama4_text").groups
    assert (rotating.window, still.window, still.uses) == (Chunks(8192), None, ())
    assert still.query_temperature.parameters[0] == ("encoding", "StepTemperature")
    assert of("smollm3").at(3) is None


def test_usable_lengths_and_their_source():
    (table,) = of("opt").groups[:1]
    assert (table.offset, table.usable_length.kind, table.usable_length.positions) == (2, "table", 2048)
    llama = of("llama", max_position_embeddings=8192).groups[0].lengths
    assert [str(length) for length in llama] == ["8,192 declared (file: max_position_embeddings)"]
    assert of("bloom").groups[0].usable_length is None


def test_axes_of_pairs():
    """Qwen3-VL: of 64 pairs 24 follow time, 20 height, 20 width, in turn."""
    pairs = of("qwen3_vl_text").at(0).pairs
    assert pairs.axes == 3
    assert [pairs.axis.count(axis) for axis in range(3)] == [24, 20, 20]
    assert pairs.axis[:4] == (0, 1, 2, 0)


def test_of_a_gguf_file():
    keys = {"general.architecture": "deepseek2", "deepseek2.block_count": 4, "deepseek2.context_length": 4096,
            "deepseek2.embedding_length": 5120, "deepseek2.attention.head_count": 128,
            "deepseek2.attention.key_length": 192, "deepseek2.rope.dimension_count": 64}  # fmt: skip
    found = manifest(from_gguf(GGUFHead(keys, (), {})))
    assert found.roles == ("latent",)
    assert str(found.groups[0].usable_length) == "4,096 declared (file: deepseek2.context_length)"
    assert read_manifest(found.to_dict()) == found


def test_files_of_manifests_are_read_wherever_a_config_is(tmp_path: Path):
    config = {"model_type": "llama", "num_hidden_layers": 2, "rope_theta": 500_000.0}
    path = tmp_path / "manifest.json"
    path.write_text(manifest(from_config(config)).to_json(), encoding="utf-8")
    assert read_manifest(path) == manifest(from_config(config))
    assert diff(from_config(path), from_config(config)).same
    assert not diff(from_config(path), from_config(config | {"rope_theta": 1e4})).same
    with pytest.raises(ValueError, match=r"^length must be left out for a manifest, .* Give the config\.json"):
        from_config(path, length=8192)


def test_windows_that_are_not_known_stay_unread():
    config = {"model_type": "mine", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}
    model = from_config(config | {"rope_theta": 1e4, "sliding_window": 9}, stated={"pairing": "halves"})
    assert from_config(manifest(model).to_dict()).not_read == model.not_read != ()


def test_a_key_that_the_class_ignores_is_not_forgotten():
    """Two files that differ in it agree in what was compared alone, with a manifest as with its config."""
    llama = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}
    stated, plain = from_config({**llama, "partial_rotary_factor": 0.5}), from_config(llama)
    verdicts = [diff(model, plain).verdict for model in (stated, from_config(manifest(stated).to_dict()))]
    assert verdicts == ["agree in what was compared"] * 2


def changed(change: Any) -> dict[str, Any]:
    data = copy.deepcopy(of("gpt_oss", num_hidden_layers=2).to_dict())
    change(data)
    return data


def group(data: dict[str, Any]) -> dict[str, Any]:
    return data["groups"][0]


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        (lambda data: data.update(schema="other"), ValueError, r"^source must have the schema .*; got 'other'"),
        (lambda data: data.update(version=2), ValueError, r"^version must be 1, which this posenc reads; got 2"),
        (lambda data: data.update(groups={}), TypeError, r"^groups must be a list; got"),
        (lambda data: data.update(groups=[1]), TypeError, r"^groups must be a list of objects; got 1"),
        (lambda data: data.update(model_type=1), TypeError, r"^model_type must be a word; got 1"),
        (lambda data: data.update(more=1), ValueError, r"^more must follow .* give 'nothing' .*; got 1"),
        (lambda data: data.pop("fingerprint"), ValueError, r"^fingerprint must follow from the encodings"),
        (lambda data: group(data).update(layers=[-1]), ValueError, r"^groups\[0\]\.layers must be an integer from 0"),
        (lambda data: group(data).update(layers=["a"]), TypeError, r"^groups\[0\]\.layers must be an integer"),
        (lambda data: group(data).update(offset=-1), ValueError, r"^groups\[0\]\.offset must be an integer from 0"),
        (lambda data: group(data).update(window={"size": 0}), ValueError, r"^size must be an integer from 1"),
        (lambda data: group(data).update(window={"a": 0}), ValueError, r"window must have the fields before, after or"),
        (lambda data: group(data).update(window=4), TypeError, r"^groups\[0\]\.window must be an object; got 4"),
        (lambda data: group(data).update(softmax_scale=1), ValueError, r"^groups\[0\]\.softmax_scale must follow"),
        (lambda data: group(data).update(logit_factor=None), TypeError, r"^groups\[0\]\.logit_factor must be a finite"),
        (lambda data: group(data).update(notes=[{}]), TypeError, r"^groups\[0\]\.notes\.kind must be one of"),
        (lambda data: group(data)["uses"][0].update(rate=0), ValueError, r"^groups\[0\]\.uses\[0\]\.rate must follow"),
        (lambda data: group(data)["uses"][0].update(role="x"), ValueError, r"uses\[0\]\.role must be one of 'main'"),
        (lambda data: group(data)["uses"][0].pop("encoding"), TypeError, r"uses\[0\]\.encoding must be an encoding"),
        (lambda data: group(data)["uses"][0].update(encoding="RoPE(7)"), ValueError, r"uses\[0\]\.RoPE: dim must be"),
        (
            lambda data: group(data)["uses"][0]["pairs"]["frequencies"].__setitem__(1, 0.5),
            ValueError,
            r"^groups\[0\]\.uses\[0\]\.pairs\.frequencies\[1\] must follow from the encodings .*; got 0\.5",
        ),
        (
            lambda data: group(data)["uses"][0]["parameters"].update(base=1e4),
            ValueError,
            r"^groups\[0\]\.uses\[0\]\.parameters\.base must follow .* which give 150000\.0",
        ),
    ],
)  # fmt: skip
def test_a_file_that_was_changed_in_one_place_is_refused(change: Any, error: type[Exception], said: str):
    with pytest.raises(error, match=said):
        positions_of(changed(change))


def test_what_it_takes():
    with pytest.raises(TypeError, match=r"^model must be what from_config returns; got"):
        manifest({"model_type": "llama"})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^role must be one of 'main', 'latent'"):
        of("llama").at(0, "queries")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^layer must be an integer from 0 to 31; got 32"):
        of("llama").at(32)
    with pytest.raises(ValueError, match=r"^part must be one of 'text'"):
        of("llama").at(0, part="vision")
    with pytest.raises(ValueError, match=r"^source must name a file"):
        read_manifest("no-such-file.json")
