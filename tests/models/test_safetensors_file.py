"""Damaged and hostile files: one line, at once, and nothing allocated; pickle is never loaded."""

from __future__ import annotations

import json
import os
import pickle
import tracemalloc

import numpy as np
import pytest

from effort import calls_at_most
from models import checkpoints
from posenc.models import HeadShape, plan_conversion
from posenc.models.formats.safetensors_header import read_header, shards

SHAPE = HeadShape(heads=4, kv_heads=2, head_dim=8)


def written(path, header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes((len(text) if length is None else length).to_bytes(8, "little") + text + data)
    return path


def one(**change):
    return {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]} | change}


def refused(path):
    """The message of the one line that a plan of this file ends in, had quickly and without memory."""
    tracemalloc.start()
    with calls_at_most(), pytest.raises(ValueError, match=r"^[^\n]{1,400}$") as caught:
        plan_conversion(path, source="adjacent", target="halves", heads=SHAPE)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20
    return str(caught.value)


def test_the_header_says_what_the_safetensors_package_says(tmp_path):
    tensors = checkpoints.model()
    path = checkpoints.saved(tmp_path / "a.safetensors", tensors, {"format": "np"})
    header = read_header(path)
    assert {entry.name: entry.shape for entry in header.entries} == {name: each.shape for name, each in tensors.items()}
    data = path.read_bytes()
    for entry in header.entries:
        assert data[header.start + entry.begin : header.start + entry.end] == tensors[entry.name].tobytes()
    empty = checkpoints.saved(tmp_path / "b.safetensors", {"none": np.zeros((0, 3)), "one": np.zeros((), np.float32)})
    assert [entry.shape for entry in read_header(empty).entries] in ([(0, 3), ()], [(), (0, 3)])


@pytest.mark.parametrize(
    ("header", "data", "length", "says"),
    [
        (one(), b"12345678", 1 << 62, "its header would be 4611686018427387904 bytes in a file of"),
        (one(), b"12345678", 0, "its header would be 0 bytes"),
        (one(), b"1234567", None, "its tensors take 8 bytes, and 7 are there"),
        (one(), b"123456789", None, "its tensors take 8 bytes, and 9 are there"),
        (one(data_offsets=[0, 4]), b"1234", None, "'a' has 4 bytes for F32 in shape [2]"),
        (one(data_offsets=[8, 0]), b"12345678", None, "'a' has -8 bytes"),
        (one(data_offsets=[-8, 0]), b"12345678", None, "no whole numbers"),
        (one(data_offsets=[4, 12]), b"123456789012", None, "'a' begins at byte 4, where 0 is next"),
        (one() | {"b": one()["a"]}, b"12345678", None, "'b' begins at byte 0, where 8 is next"),
        (one(dtype="F31"), b"12345678", None, "'a' has the dtype 'F31'"),
        (one(dtype=["F32"]), b"12345678", None, "'a' has the dtype ['F32']"),
        (one(shape=[2.0]), b"12345678", None, "no whole numbers"),
        (one(shape=[True, 2]), b"12345678", None, "no whole numbers"),
        (one(shape=[1] * 99 + [2]), b"12345678", None, "no whole numbers"),
        (one(shape=[1 << 61, 1 << 61]), b"12345678", None, "'a' has 8 bytes for F32"),
        (one(shape=[10**30]), b"12345678", None, "no whole numbers"),
        (one(extra=1), b"12345678", None, "'a' has no dtype, shape and data_offsets"),
        ({"q\n.weight": one()["a"]}, b"12345678", None, r"a tensor's name has a control character: 'q\n.weight'"),
        ({"__metadata__": {"a": 1}}, b"", None, "__metadata__ is no object of strings"),
        (b'{"a": 1, "a": 2}', b"", None, "the key 'a' occurs twice"),
        (b'{"a": ', b"", None, "its header is no JSON object"),
        (b"[1, 2, 3]", b"", None, "its header is no JSON object"),
        (b"{\xff\xfe}      ", b"", None, "its header is no JSON object"),
        (b'{"a":' + b"[" * 100_000 + b"}", b"", None, "nested too deeply"),
        (b'{"a":' + b"9" * 100_000 + b"}", b"", None, "its header is no JSON object"),
    ],
)
def test_damaged_headers(tmp_path, header, data, length, says):
    assert says in refused(written(tmp_path / "bad.safetensors", header, data, length))


@pytest.mark.parametrize("length", [0x0280, 0x0380, 0x0480, 0x0580])
def test_a_header_whose_length_looks_like_a_pickle_is_read(tmp_path, length):
    text = json.dumps(one()).encode()
    path = written(tmp_path / "a.safetensors", text + b" " * (length - len(text)), b"12345678")
    assert path.read_bytes()[:1] == b"\x80"
    assert [entry.name for entry in read_header(path).entries] == ["a"]


def test_huge_headers_are_not_read(tmp_path):
    path = tmp_path / "huge.safetensors"
    with path.open("wb") as file:
        file.write(((1 << 40) - 8).to_bytes(8, "little"))
        file.truncate(1 << 40)  # a file of a terabyte that takes no room
    assert "above 16777216" in refused(path)


def test_pickle_is_named_and_never_loaded(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "loaded"),))

    for name in ("pytorch_model.bin", "model.pt", "model.safetensors"):
        path = tmp_path / name
        path.write_bytes(pickle.dumps(Bomb()))
        assert "which can run any code when loaded" in refused(path)
    zipped = tmp_path / "zip.safetensors"
    zipped.write_bytes(b"PK\x03\x04" + bytes(100))
    assert "pickle file" in refused(zipped)
    assert not (tmp_path / "loaded").exists()


def test_pipes_folders_and_other_formats(tmp_path):
    os.mkfifo(tmp_path / "pipe.safetensors")
    assert "must be a plain file; it is a pipe. Name a file on a disk." in refused(tmp_path / "pipe.safetensors")
    (tmp_path / "a.gguf").write_bytes(b"GGUF" + bytes(100))
    assert "it is a GGUF file" in refused(tmp_path / "a.gguf")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "pytorch_model.bin").write_bytes(b"\x80\x02")
    assert "pytorch_model.bin is a pickle file, which posenc never loads" in refused(tmp_path / "folder")
    with pytest.raises(FileNotFoundError):
        plan_conversion(tmp_path / "none.safetensors", source="adjacent", target="halves", heads=SHAPE)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda index: index["weight_map"].update({"lm_head.weight": "../../elsewhere.safetensors"}),
            "must name a file of this folder"),
        (lambda index: index["weight_map"].update({"lm_head.weight": 3}), "must name a file of this folder"),
        (lambda index: index.pop("weight_map"), "must name a file of this folder"),
        (lambda index: index["weight_map"].pop("model.embed_tokens.weight"),
            "must be in the one file that the index names"),
        (lambda index: index["weight_map"].update({"more": "model-00001-of-00003.safetensors"}),
            "it does not. A file is cut off"),
    ],
)  # fmt: skip
def test_damaged_indices(tmp_path, change, says):
    folder = checkpoints.sharded(tmp_path / "shards", checkpoints.model())
    path = folder / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    change(index)
    path.write_text(json.dumps(index))
    assert says in refused(folder)


def test_a_shard_that_is_missing(tmp_path):
    folder = checkpoints.sharded(tmp_path / "shards", checkpoints.model())
    assert set(shards(folder).values()) == {f"model-0000{i}-of-00003.safetensors" for i in (1, 2, 3)}
    (folder / "model-00002-of-00003.safetensors").unlink()
    with pytest.raises(FileNotFoundError):
        plan_conversion(folder, source="adjacent", target="halves", heads=SHAPE)
    (folder / "model.safetensors.index.json").unlink()
    assert "must have an index, model.safetensors.index.json, for 2 files" in refused(folder)
