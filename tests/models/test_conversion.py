"""Whole checkpoints: the plan, the conversion, its proof, and what a killed run leaves."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import signal
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

from models import checkpoints
from posenc.models import HeadShape, convert_checkpoint, convert_qk, plan_conversion

HOW = {"source": "adjacent", "target": "halves"}
BACK = {"source": "halves", "target": "adjacent"}
SLICE = {"head_dim": checkpoints.DIM, "width": checkpoints.WIDTH}


def expected(tensors):
    """The tensors, converted one by one by their names."""
    heads = {"q_proj": checkpoints.HEADS, "k_proj": checkpoints.KV_HEADS, "k_norm": checkpoints.KV_HEADS, "q_norm": 1}
    result = {}
    for name, tensor in tensors.items():
        count = next((count for part, count in heads.items() if f".{part}." in name), None)
        result[name] = tensor if count is None else convert_qk(tensor, heads=count, **SLICE, **HOW)
    return result


def same(a, b):
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


def test_a_file_is_converted_and_comes_back_byte_for_byte(tmp_path):
    tensors = checkpoints.model()
    first = checkpoints.saved(tmp_path / "first.safetensors", tensors, {"format": "pt"})
    plan = plan_conversion(first, heads=checkpoints.SHAPE, **HOW)
    assert {step.name for step in plan.steps} == set(tensors)
    assert len(plan.moves) == 2 * 6
    receipt = convert_checkpoint(plan, tmp_path / "second.safetensors")
    assert same(load_file(tmp_path / "second.safetensors"), expected(tensors))
    with safe_open(tmp_path / "second.safetensors", "np") as file:
        assert file.metadata() == {"format": "pt"}

    again = plan_conversion(tmp_path / "second.safetensors", heads=checkpoints.SHAPE, **BACK)
    convert_checkpoint(again, tmp_path / "third.safetensors")
    assert (tmp_path / "third.safetensors").read_bytes() == first.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "first.safetensors",
        "second.safetensors",
        "second.safetensors.receipt.json",
        "third.safetensors",
        "third.safetensors.receipt.json",
    ]
    written = json.loads((tmp_path / "second.safetensors.receipt.json").read_text())
    assert written == receipt
    assert written["files"][0]["sha256_before"] == hashlib.sha256(first.read_bytes()).hexdigest()
    assert (
        written["files"][0]["sha256_after"]
        == hashlib.sha256((tmp_path / "second.safetensors").read_bytes()).hexdigest()
    )
    assert [one["tensor"] for one in written["moved"]] == [step.name for step in plan.moves]
    assert len(written["moved"]) + len(written["left"]) == len(tensors)


def test_a_folder_of_shards_is_converted_whole(tmp_path):
    tensors = checkpoints.model(layers=3)
    folder = checkpoints.sharded(tmp_path / "shards", tensors)
    plan = plan_conversion(folder, heads=[checkpoints.SHAPE, None, checkpoints.SHAPE], **HOW)
    seen = []
    convert_checkpoint(plan, tmp_path / "converted", progress=lambda done, total: seen.append((done, total)))
    found = {}
    for file in plan.files:
        found |= load_file(tmp_path / "converted" / file)
    wanted = expected(tensors)
    wanted |= {name: tensor for name, tensor in tensors.items() if ".layers.1." in name}  # that layer does not rotate
    assert same(found, wanted)
    index = "model.safetensors.index.json"
    assert (tmp_path / "converted" / index).read_bytes() == (folder / index).read_bytes()
    assert (tmp_path / "converted" / "posenc-receipt.json").is_file()
    assert seen[-1][0] == seen[-1][1] == 2 * sum((folder / file).stat().st_size for file in plan.files)
    with pytest.raises(
        ValueError,
        match=r"source must be 'halves', to which this checkpoint was converted according to posenc-receipt.json",
    ):
        convert_checkpoint(plan_conversion(tmp_path / "converted", heads=checkpoints.SHAPE, **HOW), tmp_path / "twice")


def test_narrow_dtypes_are_kept_bit_for_bit(tmp_path):
    torch = pytest.importorskip("torch")
    from safetensors.torch import load_file as load
    from safetensors.torch import save_file as save

    bits = torch.arange(6 * 256, dtype=torch.int32).to(torch.uint8).reshape(24, 64)  # every pattern, NaNs too
    for name, dtype in (("bf16", torch.bfloat16), ("fp8", torch.float8_e4m3fn), ("int8", torch.int8)):
        q = bits.view(dtype)
        path, new = tmp_path / f"{name}.safetensors", tmp_path / f"{name}-new.safetensors"
        save({"layers.0.attention.wq.weight": q, "layers.0.attention.wk.weight": q[:12].clone()}, path)
        convert_checkpoint(plan_conversion(path, heads=HeadShape(heads=4, kv_heads=2, head_dim=6), **HOW), new)
        moved = load(new)["layers.0.attention.wq.weight"]
        assert moved.dtype == dtype
        assert torch.equal(moved.view(torch.uint8), convert_qk(bits, heads=4, head_dim=6, **HOW))


def test_memory_stays_below_twice_the_largest_tensor(tmp_path):
    heads, dim, inputs = 32, 64, 4096  # queries of 32 MiB
    q = np.random.default_rng(0).standard_normal((heads * dim, inputs), np.float32)
    tensors = {"model.layers.0.self_attn.q_proj.weight": q, "model.layers.0.self_attn.k_proj.weight": q[: 8 * dim]}
    tensors["lm_head.weight"] = q
    path = checkpoints.saved(tmp_path / "large.safetensors", tensors)
    plan = plan_conversion(path, heads=HeadShape(heads=heads, kv_heads=8, head_dim=dim), **HOW)
    tracemalloc.start()
    convert_checkpoint(plan, tmp_path / "new.safetensors")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * q.nbytes
    assert peak < 24 << 20  # a few chunks of 4 MiB, whatever the tensor
    assert np.array_equal(
        load_file(tmp_path / "new.safetensors")["model.layers.0.self_attn.q_proj.weight"],
        convert_qk(q, heads=heads, head_dim=dim, **HOW),
    )


@pytest.mark.parametrize("shards", [False, True])
def test_a_killed_run_leaves_the_old_whole_and_no_half(tmp_path, shards):
    tensors = checkpoints.model()
    old = (
        checkpoints.sharded(tmp_path / "old", tensors)
        if shards
        else checkpoints.saved(tmp_path / "old.safetensors", tensors)
    )
    before = {path.name: path.read_bytes() for path in (old.iterdir() if shards else [old])}
    code = f"""
import os, signal
from pathlib import Path
from posenc.models import HeadShape, convert_checkpoint, plan_conversion
plan = plan_conversion(Path({str(old)!r}), heads={checkpoints.SHAPE!r}, source="adjacent", target="halves")
def kill(done, total):
    if done > total // 3:
        os.kill(os.getpid(), signal.SIGKILL)
convert_checkpoint(plan, Path({str(tmp_path / "new.safetensors")!r}), progress=kill)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    assert not (tmp_path / "new.safetensors").exists()
    assert {path.name: path.read_bytes() for path in (old.iterdir() if shards else [old])} == before
    # And the next run is not in its way.
    convert_checkpoint(plan_conversion(old, heads=checkpoints.SHAPE, **HOW), tmp_path / "new.safetensors")


def test_an_interrupted_run_leaves_nothing(tmp_path):
    old = checkpoints.saved(tmp_path / "old.safetensors", checkpoints.model())

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        convert_checkpoint(
            plan_conversion(old, heads=checkpoints.SHAPE, **HOW), tmp_path / "new.safetensors", progress=stop
        )
    assert [path.name for path in tmp_path.iterdir()] == ["old.safetensors"]


def test_a_wrong_byte_on_the_disk_is_seen(tmp_path):
    old = checkpoints.saved(tmp_path / "old.safetensors", checkpoints.model())

    def damage(done, total):
        for path in tmp_path.glob(".new.safetensors*"):
            if done == total // 2:
                with path.open("r+b") as file:
                    file.seek(-3, os.SEEK_END)
                    file.write(b"xyz")

    plan = plan_conversion(old, heads=checkpoints.SHAPE, **HOW)
    with pytest.raises(ValueError, match="must come back byte for byte when converted back"):
        convert_checkpoint(plan, tmp_path / "new.safetensors", progress=damage)
    assert [path.name for path in tmp_path.iterdir()] == ["old.safetensors"]


def test_a_file_that_appears_meanwhile_is_not_overwritten(tmp_path):
    old = checkpoints.saved(tmp_path / "old.safetensors", checkpoints.model())

    def appear(done, total):
        (tmp_path / "new.safetensors").write_bytes(b"someone else's")

    with pytest.raises(ValueError, match=r"output must not exist yet; new\.safetensors does"):
        convert_checkpoint(
            plan_conversion(old, heads=checkpoints.SHAPE, **HOW), tmp_path / "new.safetensors", progress=appear
        )
    assert (tmp_path / "new.safetensors").read_bytes() == b"someone else's"


def test_nothing_is_overwritten_and_a_changed_file_is_seen(tmp_path):
    old = checkpoints.saved(tmp_path / "old.safetensors", checkpoints.model())
    plan = plan_conversion(old, heads=checkpoints.SHAPE, **HOW)
    with pytest.raises(ValueError, match=r"output must not exist yet; old.safetensors does"):
        convert_checkpoint(plan, old)
    with pytest.raises(ValueError, match="output must be in an existing folder"):
        convert_checkpoint(plan, tmp_path / "none" / "new.safetensors")
    checkpoints.saved(old, checkpoints.model(layers=1))
    with pytest.raises(ValueError, match=r"plan must be of this checkpoint; old.safetensors has changed since"):
        convert_checkpoint(plan, tmp_path / "new.safetensors")
    with pytest.raises(ValueError, match="target must differ from source"):
        plan_conversion(old, heads=checkpoints.SHAPE, source="halves", target="halves")
    assert dataclasses.is_dataclass(plan)
