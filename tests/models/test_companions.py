"""What stands next to queries and keys: every known form moves as its weight does, and what is not known is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import load_file

from models import checkpoints
from posenc.models import Fused, HeadShape, convert_checkpoint, convert_qk, plan_conversion

HOW = {"source": "adjacent", "target": "halves"}
OWN = "model.layers.0.self_attn."
SMALL = HeadShape(heads=4, kv_heads=2, head_dim=8)


def converted(tmp_path, tensors, shape=SMALL, **options):
    path = checkpoints.saved(tmp_path / "old.safetensors", tensors)
    plan = plan_conversion(path, heads=shape, **HOW, **options)
    convert_checkpoint(plan, tmp_path / "new.safetensors")
    return plan, load_file(tmp_path / "new.safetensors")


def base(**more):
    rng = np.random.default_rng(0)
    tensors = {f"{OWN}q_proj.weight": rng.standard_normal((32, 6)), f"{OWN}k_proj.weight": rng.standard_normal((16, 6))}
    return tensors | {f"{OWN}{name.replace('__', '.')}": value for name, value in more.items()}


def q(tensor, axis=0):
    return convert_qk(tensor, heads=4, head_dim=8, axis=axis, **HOW)


def test_scales_lora_and_8_bit_statistics_move_with_their_rows(tmp_path):
    rng = np.random.default_rng(1)
    moving = {
        "q_proj__weight_scale": rng.standard_normal((32, 1)),
        "q_proj__scales": rng.standard_normal((32, 3)),
        "q_proj__biases": rng.standard_normal((32, 3)),
        "q_proj__SCB": rng.standard_normal(32),
        "q_proj__weight_zero_point": rng.integers(0, 9, (32, 1)),
        "q_proj__lora_B__default__weight": rng.standard_normal((32, 2)),
        "q_proj__lora_magnitude_vector__default__weight": rng.standard_normal(32),
        "q_proj__base_layer__weight": rng.standard_normal((32, 6)),
    }
    staying = {
        "q_proj__lora_A__default__weight": rng.standard_normal((2, 6)),
        "q_proj__input_scale": rng.standard_normal(1),
        "k_proj__k_scale": rng.standard_normal(1),
        "v_proj__weight": rng.standard_normal((16, 6)),
        "sinks": rng.standard_normal(4),
    }
    tensors = base(**moving, **staying)
    _, found = converted(tmp_path, tensors)
    for name in moving:
        own = f"{OWN}{name.replace('__', '.')}"
        assert np.array_equal(found[own], q(tensors[own])), name
        assert not np.array_equal(found[own], tensors[own]), name
    for name in staying:
        own = f"{OWN}{name.replace('__', '.')}"
        assert np.array_equal(found[own], tensors[own]), name


def test_an_adapter_with_queries_alone_is_converted(tmp_path):
    own = "base_model.model.model.layers.0.self_attn.q_proj."
    tensors = {f"{own}lora_A.weight": np.ones((2, 6)), f"{own}lora_B.weight": np.arange(64.0).reshape(32, 2)}
    _, found = converted(tmp_path, tensors)
    assert np.array_equal(found[f"{own}lora_B.weight"], q(tensors[f"{own}lora_B.weight"]))


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_packed_weights_of_gptq(tmp_path, bits):
    rng = np.random.default_rng(bits)
    zeros = rng.integers(0, 1 << bits, (3, 32))

    def pack(numbers):  # the lowest bits first, by Python's own whole numbers
        each = 32 // bits
        words = [
            [sum(int(row[at * each + i]) << (bits * i) for i in range(each)) for at in range(len(row) // each)]
            for row in numbers
        ]
        return np.array(words, np.uint32).view(np.int32)

    weight, scales = rng.integers(-99, 99, (5, 32), np.int32), rng.standard_normal((3, 32))
    tensors = {f"{OWN}q_proj.{part}": value for part, value in
               {"qweight": weight, "scales": scales, "qzeros": pack(zeros),
                   "g_idx": np.arange(6, dtype=np.int32)}.items()}  # fmt: skip
    tensors[f"{OWN}k_proj.qweight"] = weight[:, :16].copy()
    _, found = converted(tmp_path, tensors)
    assert np.array_equal(found[f"{OWN}q_proj.qweight"], q(weight, axis=1))
    assert np.array_equal(found[f"{OWN}q_proj.scales"], q(scales, axis=1))
    assert np.array_equal(found[f"{OWN}q_proj.qzeros"], pack(q(zeros, axis=1)))


def test_scales_of_blocks_stay_where_rows_move_inside_and_are_refused_where_blocks_would_break(tmp_path):
    shape = HeadShape(heads=2, kv_heads=2, head_dim=128)
    tensors = {f"{OWN}{part}_proj.weight": np.zeros((256, 4), np.int8) for part in "qk"}
    tensors |= {f"{OWN}{part}_proj.weight_scale_inv": np.arange(2, dtype=np.float32).reshape(2, 1) for part in "qk"}
    plan, found = converted(tmp_path, tensors, shape)
    assert np.array_equal(found[f"{OWN}q_proj.weight_scale_inv"], tensors[f"{OWN}q_proj.weight_scale_inv"])
    assert any(step.reason == "rows move inside its blocks of 128" for step in plan.stays)
    path = checkpoints.saved(tmp_path / "wide.safetensors", tensors)
    with pytest.raises(ValueError, match=r"rows of one block would come from several. Convert before quantising"):
        plan_conversion(path, heads=HeadShape(heads=1, kv_heads=1, head_dim=256), **HOW)


@pytest.mark.parametrize(
    ("model_type", "name", "grouped"),
    [
        ("gpt_neox", "gpt_neox.layers.0.attention.query_key_value", True),
        ("phi3", "model.layers.0.self_attn.qkv_proj", False),
        ("modernbert", "model.layers.0.attn.Wqkv", False),
    ],
)
def test_a_fused_projection_has_the_order_of_its_types_code(tmp_path, model_type, name, grouped):
    """With as many keys as queries both orders have the same shape, and the wrong one comes back byte for byte too."""
    path = checkpoints.saved(tmp_path / "model.safetensors", {f"{name}.weight": np.zeros((3 * 32, 6), np.float32)})
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"model_type": model_type}))
    for said in (True, False):
        shape = HeadShape(heads=4, kv_heads=4, head_dim=8, grouped=said)
        options = {"heads": shape, "source": "halves", "target": "adjacent", "config": config}
        if said == grouped:
            assert plan_conversion(path, **options).moves
        else:
            with pytest.raises(
                ValueError, match=rf"^grouped must be {grouped} for '{model_type}', whose {name}\.weight"
            ):
                plan_conversion(path, **options)


def test_one_key_head_has_one_order_whichever_is_said(tmp_path):
    """Falcon 7B has one group: all queries, a key and a value."""
    name = "transformer.h.0.self_attention.query_key_value.weight"
    path = checkpoints.saved(tmp_path / "model.safetensors", {name: np.zeros((14 * 8, 6), np.float32)})
    (tmp_path / "config.json").write_text('{"model_type": "falcon"}')
    for grouped in (True, False):
        shape = HeadShape(heads=12, kv_heads=1, head_dim=8, grouped=grouped)
        assert plan_conversion(path, heads=shape, source="halves", target="adjacent", config=tmp_path).moves


def test_the_parts_of_codegens_projection_are_refused(tmp_path):
    """It holds queries, values and keys of a quarter of the heads, four times over."""
    tensors = {"transformer.h.0.attn.qkv_proj.weight": np.zeros((3 * 32, 6), np.float32)}
    path = checkpoints.saved(tmp_path / "model.safetensors", tensors)
    (tmp_path / "config.json").write_text('{"model_type": "codegen"}')
    for grouped in (True, False):
        shape = HeadShape(heads=4, kv_heads=4, head_dim=8, grouped=grouped)
        with pytest.raises(ValueError, match=r"qkv_proj\.weight must be split into queries, keys and values first"):
            plan_conversion(path, heads=shape, **HOW, config=tmp_path)


def test_the_scale_of_a_single_block_stays(tmp_path):
    """Keys of one head, or of two of 64 channels, have 128 rows: every order of them is inside the block."""
    shape = HeadShape(heads=4, kv_heads=2, head_dim=64)
    tensors = {f"{OWN}{part}_proj.weight": np.zeros((rows, 4), np.int8) for part, rows in (("q", 256), ("k", 128))}
    scales = {"q": np.ones((2, 3), np.float32), "k": np.arange(3, dtype=np.float32).reshape(1, 3)}
    tensors |= {f"{OWN}{part}_proj.weight_scale_inv": scale for part, scale in scales.items()}
    plan, found = converted(tmp_path, tensors, shape)
    assert np.array_equal(found[f"{OWN}k_proj.weight_scale_inv"], scales["k"])
    assert any(step.reason == "rows move inside its one block" for step in plan.stays)


def test_multi_head_latent_attention_moves_its_two_slices_alone(tmp_path):
    rng = np.random.default_rng(3)
    heads, nope, rope, latent = 12, 4, 6, 10
    tensors = {
        f"{OWN}q_a_proj.weight": rng.standard_normal((7, 5)),
        f"{OWN}q_a_layernorm.weight": rng.standard_normal(7),
        f"{OWN}q_b_proj.weight": rng.standard_normal((heads * (nope + rope), 7)),
        f"{OWN}kv_a_proj_with_mqa.weight": rng.standard_normal((latent + rope, 5)),
        f"{OWN}kv_a_layernorm.weight": rng.standard_normal(latent),
        f"{OWN}kv_b_proj.weight": rng.standard_normal((heads * 8, latent)),
    }
    shape = HeadShape(heads=heads, kv_heads=heads, head_dim=nope + rope, width=rope, start=nope, latent=latent)
    plan, found = converted(tmp_path, tensors, shape)
    assert len(plan.moves) == 2
    order = [0, 2, 4, 1, 3, 5]
    before = tensors[f"{OWN}q_b_proj.weight"].reshape(heads, nope + rope, 7)
    after = found[f"{OWN}q_b_proj.weight"].reshape(heads, nope + rope, 7)
    assert np.array_equal(after[:, :nope], before[:, :nope])
    assert np.array_equal(after[:, nope:], before[:, nope:][:, order])
    shared = tensors[f"{OWN}kv_a_proj_with_mqa.weight"]
    assert np.array_equal(
        found[f"{OWN}kv_a_proj_with_mqa.weight"], np.concatenate([shared[:latent], shared[latent:][order]])
    )


@pytest.mark.parametrize("chunk", [1 << 22, 3 * 8 * 8 * 3])  # at once, and a few heads at a time
@pytest.mark.parametrize("grouped", [False, True])
def test_fused_projections_need_to_be_told_their_order(tmp_path, monkeypatch, grouped, chunk):
    monkeypatch.setattr("posenc.models.checkpoints.conversion.CHUNK", chunk)
    name = "gpt_neox.layers.0.attention.query_key_value.weight"
    tensors = {name: np.arange(64.0 * 3).reshape(64, 3), "gpt_neox.layers.0.attention.dense.weight": np.ones((3, 3))}
    shape = HeadShape(heads=4, kv_heads=2, head_dim=8, grouped=grouped)
    _, found = converted(tmp_path, tensors, shape)
    wanted = convert_qk(tensors[name], heads=Fused(4, 2, 2, grouped=grouped), head_dim=8, **HOW)
    assert np.array_equal(found[name], wanted)
    path = checkpoints.saved(tmp_path / "again.safetensors", tensors)
    with pytest.raises(ValueError, match="grouped must be given where one projection makes queries, keys and values"):
        plan_conversion(path, heads=SMALL, **HOW)


def test_a_vision_tower_stays_when_the_layers_are_named(tmp_path):
    tensors = base() | {name.replace("model.", "vision.", 1): value for name, value in base().items()}
    path = checkpoints.saved(tmp_path / "both.safetensors", tensors)
    with pytest.raises(
        ValueError, match=r"queries and keys are in model.layers.#.self_attn, vision.layers.#.self_attn"
    ):
        plan_conversion(path, heads=SMALL, **HOW)
    plan, found = converted(tmp_path, tensors, under="model.")
    assert len(plan.moves) == 2
    assert np.array_equal(
        found["vision.layers.0.self_attn.q_proj.weight"], tensors["vision.layers.0.self_attn.q_proj.weight"]
    )


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (
            {"q_proj__frobnication": np.zeros(32)},
            "q_proj.frobnication must be understood before the queries and keys of its layer",
        ),
        ({"indexer__wq_b__weight": np.zeros((32, 6))}, "under must say which layers rotate"),
        ({"q_proj__weight.absmax": np.zeros(8)}, "4-bit weights of bitsandbytes are packed across rows"),
        (
            {"g_proj__weight": np.zeros((32, 6))},
            "g_proj.weight must be understood before the queries and keys of its layer",
        ),
        (
            {"q_proj__weight_scale": np.zeros((5, 1), np.float32)},
            "weight_scale must have one number for each row, or for each block of 2^k rows; got 5",
        ),
        ({"q_proj__weight_zero_point": np.zeros((4, 1), np.int32)}, "weight_zero_point must have a known form"),
        ({"q_proj__qzeros": np.zeros((4, 4), np.int32)}, "qzeros must have a known form"),
        ({"q_proj__qweight": np.zeros((6, 4), np.int32)}, "qweight must have a known form"),
        (
            {"q_norm__weight": np.zeros(12)},
            "q_norm.weight must have a known form, 4 heads of 8 channels: 32 rows",
        ),
    ],
)
def test_unknown_companions_are_refused(tmp_path, more, says):
    path = checkpoints.saved(tmp_path / "old.safetensors", base(**more))
    with pytest.raises(ValueError, match=r"^[^\n]*$") as caught:
        plan_conversion(path, heads=SMALL, **HOW)
    assert says in str(caught.value)


def test_what_is_waived_by_name_stays(tmp_path):
    tensors = base(g_proj__weight=np.zeros((32, 6)))
    plan, _ = converted(tmp_path, tensors, leave=("*.g_proj.*",))
    assert [step.reason for step in plan.stays] == ["left as it is, as asked"]
    loose = base() | {"model.layers.0.q_gain.k": np.zeros(3)}
    path = checkpoints.saved(tmp_path / "loose.safetensors", loose)
    with pytest.raises(
        ValueError, match=r"model.layers.0.q_gain.k must be understood .*, since its name mentions them"
    ):
        plan_conversion(path, heads=SMALL, **HOW)


def test_queries_without_keys_and_wrong_counts_are_refused(tmp_path):
    tensors = base()
    del tensors[f"{OWN}k_proj.weight"]
    path = checkpoints.saved(tmp_path / "half.safetensors", tensors)
    with pytest.raises(ValueError, match=r"self_attn must have both queries and keys; only .*q_proj.weight is there"):
        plan_conversion(path, heads=SMALL, **HOW)
    path = checkpoints.saved(tmp_path / "whole.safetensors", base())
    with pytest.raises(ValueError, match=r"k_proj.weight must have a known form, 4 heads of 8 channels: 32 rows"):
        plan_conversion(path, heads=HeadShape(heads=4, kv_heads=4, head_dim=8), **HOW)  # keys have fewer heads
    with pytest.raises(ValueError, match="heads must have an entry for every layer"):
        plan_conversion(path, heads=[], **HOW)
    none = checkpoints.saved(tmp_path / "none.safetensors", {"wte.weight": np.zeros(3)})
    with pytest.raises(ValueError, match="checkpoint must have queries and keys; none has a known name"):
        plan_conversion(none, heads=SMALL, **HOW)
