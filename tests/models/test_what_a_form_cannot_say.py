"""Encodings that a form of file has no keys for, and checkpoints that cannot be converted: refused by name."""

from __future__ import annotations

import json
import math
import shutil
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

from models import checkpoints
from posenc import (
    ALiBi,
    CayleySTRING,
    DualBaseRoPE,
    Encoding,
    Learned,
    NTKAware,
    Partial,
    RoPE,
    Sinusoidal,
)
from posenc.models import (
    HeadShape,
    LayerGroup,
    ModelPositions,
    base_bound,
    convert_checkpoint,
    diff,
    fingerprint,
    from_config,
    from_megatron,
    head_shapes,
    plan_context,
    plan_conversion,
    to_config,
    to_gguf,
    to_megatron,
    to_meta,
)
from posenc.models.manifests.manifest_of_model import usable_length
from posenc.models.model_positions import Chunks, RoleRotation, Window
from posenc.models.pair_rotation import pair_rotation

PLAIN = RoPE(dim=8)
OTHER_BASE = RoPE(dim=8, base=5e5)
HOW = {"source": "adjacent", "target": "halves"}
LLAMA = {"model_type": "llama", "hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2}


def model(*encodings: Encoding | None, **more: Any) -> ModelPositions:
    """A model with a layer for each encoding; None does not rotate."""
    groups = [
        LayerGroup("text", f"kind {i}", (i,), () if encoding is None else (encoding,), **more)
        for i, encoding in enumerate(encodings)
    ]
    return ModelPositions("mine", tuple(groups))


@pytest.mark.parametrize(
    ("write", "says"),
    [
        (lambda: to_gguf(model(ALiBi(heads=2)), "llama", context_length=64),
            "positions must be a plain rotation to be written as GGUF; got (ALiBi("),
        (lambda: to_gguf(model(PLAIN, logit_factor=2.0), "llama", context_length=64),
            "logit_factor must be 1 in all layers to be written as 'llama', which has no key"),
        (lambda: to_meta(model(PLAIN, OTHER_BASE)),
            "positions must have one rotation to be written as params.json; got 2 in 2 groups of layers"),
        (lambda: to_meta(model(None)), "positions must have one rotation to be written as params.json; got 0 in 1"),
        (lambda: to_meta(model(None, PLAIN, PLAIN)), "positions must have one rotation to be written as params.json"),
        (lambda: to_megatron(model(Learned(8, 16), query_temperature=None, offset=2)),
            "positions must start at a table's first row for Megatron; got Learned("),
        (lambda: to_megatron(model(PLAIN, OTHER_BASE)), "positions must be one rotation of the first channels"),
        (lambda: to_megatron(model(PLAIN, window=Window(4095))),
            "window must be None to be written as Megatron arguments; got keys up to 4,095 positions before the query"),
        (lambda: to_meta(model(PLAIN, window=Chunks(8192))),
            "window must be None to be written as params.json; got keys of the same chunk of 8,192 positions"),
        (lambda: to_megatron(model(PLAIN, roles=(RoleRotation("values", PLAIN),))),
            "positions must be a plain rotation to be written as Megatron arguments; got (RoPE("),
        (lambda: to_meta(ModelPositions("mine", (*model(PLAIN).groups, LayerGroup("vision", "full", (0,), ())))),
            "positions must be of one part to be written as params.json; got text, vision. Give one: ModelPositions("),
        (lambda: to_config(model(RoPE(dim=8, pairing="halves", scaling=NTKAware(2.0))), LLAMA),
            "scaling must be one that a config can state; got NTKAware(factor=2.0)"),
        (lambda: to_config(model(Partial(DualBaseRoPE(dim=4), 8)), LLAMA),
            "scaling must be one that a config can state; got Partial("),
    ],
)  # fmt: skip
def test_a_form_without_keys_for_an_encoding_refuses_it(write: Any, says: str):
    with pytest.raises(ValueError, match=r"^[^\n]*$") as caught:
        write()
    assert str(caught.value).startswith(says)


def test_a_model_without_layers_is_refused_by_every_form():
    """A convolution network: it is read, and has nothing to write, to plan or to measure."""
    convolutions = from_config({"model_type": "resnet"})
    assert (convolutions.groups, convolutions.main_part, usable_length(convolutions)) == ((), "text", None)
    for write in (
        lambda: to_config(convolutions, LLAMA),
        lambda: to_megatron(convolutions),
        lambda: to_gguf(convolutions, "llama", context_length=8),
        lambda: to_meta(convolutions),
    ):
        with pytest.raises(ValueError, match=r"^positions must have layers that attend; got a resnet, which has none"):
            write()
    with pytest.raises(ValueError, match=r"^config must have one rotation .*; got 0\. There is none to plan for\.$"):
        plan_context({"model_type": "resnet"}, length=8192)


def test_layers_that_do_not_rotate_come_every_so_many_in_params_json():
    def stopping(*layers: int) -> ModelPositions:
        rotating = tuple(layer for layer in range(6) if layer not in layers)
        groups = (LayerGroup("text", "full", rotating, (PLAIN,)), LayerGroup("text", "none", layers, ()))
        return ModelPositions("mine", groups)

    assert to_meta(stopping(2, 5))["nope_layer_interval"] == 3
    with pytest.raises(ValueError, match=r"^layers without rotation must be every n-th layer .* got \[2, 4\]"):
        to_meta(stopping(2, 4))


def test_megatron_without_positions_says_none():
    written = to_megatron(model(None, None))
    assert written == {"position_embedding_type": "none", "num_layers": 2}
    assert from_megatron(written).groups[0].encodings == ()


def test_a_config_that_reads_back_otherwise_is_refused():
    with pytest.raises(
        ValueError, match=r"^positions must be those that a config of this model type can state; read back"
    ):
        to_config(model(RoPE(dim=8, pairing="adjacent"), RoPE(dim=8, pairing="adjacent")), LLAMA)


def test_part_of_a_head_that_turns_by_a_learned_matrix_is_no_rotation_of_pairs():
    rotated = CayleySTRING(dim=4)
    assert pair_rotation(Partial(rotated, 6)) is None
    assert fingerprint(Partial(rotated, 4)) == fingerprint(rotated)
    assert len({fingerprint(encoding) for encoding in (rotated, Partial(rotated, 6), Partial(rotated, 6, 2))}) == 3


def test_a_layer_of_two_groups_has_a_fingerprint_that_does_not_depend_on_their_order():
    own, cross = (LayerGroup("text", kind, (0, 1), (PLAIN,)) for kind in ("self_attention", "cross_attention"))
    other = LayerGroup("text", "cross_attention", (0, 1), (OTHER_BASE,))
    one, same, changed = (ModelPositions("mine", groups) for groups in ((own, cross), (cross, own), (own, other)))
    assert fingerprint(one) == fingerprint(same) != fingerprint(changed)
    (part,) = diff(one, changed).parts
    assert (part.where, [field.name for field in part.fields]) == ("text, layers 0-1", ["base"])


def test_a_table_before_the_layers_is_compared_with_a_table():
    before = [LayerGroup("text", "embedding", (), (Sinusoidal(dim=8, base=base),)) for base in (1e4, 1e5)]
    first, second = (ModelPositions("mine", (group, *model(PLAIN).groups)) for group in before)
    (part,) = diff(first, second).parts
    assert (part.where, [field.name for field in part.fields]) == ("text, before the layers", ["base"])


def test_no_base_is_high_enough_for_two_channels():
    """cos(m·1) is negative at m = 2, whatever the base of a single pair."""
    assert base_bound(2, 16) == math.inf


def test_a_plan_needs_one_rotation_of_a_plain_kind():
    rope = {"rope_type": "default", "rope_theta": 1e4}
    with pytest.raises(ValueError, match=r"^config must have one rotation for the layers that see the whole context"):
        plan_context({"model_type": "t5"}, length=4096, trained=512)
    unchanged = plan_context(LLAMA | {"max_position_embeddings": 64, "rope_parameters": rope}, length=64)
    assert [way.candidate.name for way in unchanged.candidates] == ["as it is"]
    two_channels = {"head_dim": 2, "max_position_embeddings": 64, "rope_parameters": rope}
    names = {way.candidate.name for way in plan_context(LLAMA | two_channels, length=256).candidates}
    assert not names & {"larger base", "dynamic"}  # whose exponent is d / (d - 2)


def test_heads_that_a_config_does_not_state_or_states_twice():
    config = {"model_type": "gemma3", "text_config": {"num_hidden_layers": 1}}
    with pytest.raises(ValueError, match=r"^config must state its heads under one of num_attention_heads"):
        head_shapes(config)


def test_slices_of_compressed_keys_need_their_width():
    with pytest.raises(ValueError, match=r"^latent must be given for multi-head latent attention; got None"):
        HeadShape(heads=4, kv_heads=4, head_dim=8).latent_pairing("halves")


def test_a_folder_has_one_index(tmp_path):
    folder = checkpoints.sharded(tmp_path / "shards", checkpoints.model(layers=1))
    (folder / "other.safetensors.index.json").write_text("{}")
    with pytest.raises(ValueError, match=r"^shards must have one index; got 2\. Name a single file\."):
        plan_conversion(folder, heads=checkpoints.SHAPE, **HOW)


def test_what_contradicts_the_config_beside_is_waived_by_name_alone(tmp_path):
    path = checkpoints.saved(tmp_path / "model.safetensors", checkpoints.model(layers=1))
    folder = checkpoints.sharded(tmp_path / "shards", checkpoints.model(layers=1))
    (folder / "config.json").write_text(json.dumps(LLAMA | {"rope_theta": 1e4}))
    with pytest.raises(ValueError, match=r"^waive must be \('pairing',\) or left out; got"):
        plan_conversion(path, heads=checkpoints.SHAPE, **HOW, waive=["layers"])
    with pytest.raises(ValueError, match=r"^waive must be left out where no config contradicts source"):
        plan_conversion(path, heads=checkpoints.SHAPE, **HOW, waive=["pairing"])
    assert plan_conversion(folder, heads=checkpoints.SHAPE, **HOW, waive=["pairing"]).moves


def test_a_disk_that_is_too_full_is_said_before_anything_is_written(tmp_path, monkeypatch):
    path = checkpoints.saved(tmp_path / "model.safetensors", checkpoints.model(layers=1))
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda place: usage(10**9, 10**9 - 1000, 1000))
    plan = plan_conversion(path, heads=checkpoints.SHAPE, **HOW)
    with pytest.raises(ValueError, match=r"^output must fit on the disk; it takes [\d,]+ bytes and 1,000 are free"):
        convert_checkpoint(plan, tmp_path / "new.safetensors")
    assert [one.name for one in tmp_path.iterdir()] == ["model.safetensors"]


def test_a_checkpoint_that_shrinks_while_it_is_read_is_refused(tmp_path):
    path = checkpoints.saved(tmp_path / "model.safetensors", checkpoints.model(layers=1))
    plan = plan_conversion(path, heads=checkpoints.SHAPE, **HOW)
    size = path.stat().st_size

    def shrink(done: int, total: int) -> None:
        with path.open("r+b") as file:
            file.truncate(size // 2)

    with pytest.raises(ValueError, match=r"must not change while it is read|has changed since"):
        convert_checkpoint(plan, tmp_path / "new.safetensors", progress=shrink)


def test_rows_of_half_bytes_cannot_move(tmp_path):
    """A type of four bits, three numbers a row: rows do not end with a byte."""
    names = {f"layers.0.attention.{name}.weight": rows for name, rows in (("wq", 4), ("wk", 4))}
    header, at = {}, 0
    for name, rows in names.items():
        header[name] = {"dtype": "F4", "shape": [rows, 3], "data_offsets": [at, at + rows * 3 // 2]}
        at += rows * 3 // 2
    text = json.dumps(header).encode()
    path = tmp_path / "model.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(at))
    plan = plan_conversion(path, heads=HeadShape(heads=1, kv_heads=1, head_dim=4), **HOW)
    with pytest.raises(ValueError, match=r"must have rows of whole bytes; 4 bits are no byte"):
        convert_checkpoint(plan, tmp_path / "new.safetensors")


def test_a_scale_of_a_number_of_blocks_that_fits_no_size_is_refused(tmp_path):
    shape = HeadShape(heads=4, kv_heads=4, head_dim=8)
    tensors = {}
    for name in ("q_proj", "k_proj"):
        tensors[f"model.layers.0.self_attn.{name}.weight"] = np.zeros((32, 32), np.int8)
        tensors[f"model.layers.0.self_attn.{name}.weight_scale_inv"] = np.ones((7, 4), np.float32)
    path = checkpoints.saved(tmp_path / "model.safetensors", tensors)
    with pytest.raises(
        ValueError, match=r"must have one number for each row, or for each block of 2\^k rows; got 7 for 32 rows"
    ):
        plan_conversion(path, heads=shape, **HOW)
