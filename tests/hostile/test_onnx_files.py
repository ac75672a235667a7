"""Hostile ONNX files: one line, in bounded time and memory. A file may promise anything; two of its bytes may become a
hundred of memory."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from effort import calls_at_most
from posenc.models import from_onnx
from posenc.models.formats.onnx import MOST_PARTS, more_parts_than

GRAPH, NODE, INITIALIZER, ATTRIBUTE, SUBGRAPH, INTEGERS = 7, 1, 5, 5, 6, 7


def model(**changes: Any) -> Any:
    """A RotaryEmbedding node with right caches, to be spoilt."""
    from onnx import helper, numpy_helper

    angles = np.arange(9)[:, None] * 10_000.0 ** (-np.arange(4) / 4)
    caches = [
        numpy_helper.from_array(table.astype(np.float32), name)
        for table, name in ((np.cos(angles), "cos"), (np.sin(angles), "sin"))
    ]
    node = helper.make_node("RotaryEmbedding", ["x", "cos", "sin", "p"], ["y"], **changes)
    return helper.make_model(helper.make_graph([node], "g", [], [], caches))


def tensor(**changes: Any) -> Callable[[Any], None]:
    def spoil(whole: Any) -> None:
        cache = whole.graph.initializer[0]
        for name, value in changes.items():
            cache.ClearField(name)
            if isinstance(value, list):
                getattr(cache, name).extend(value)
            else:
                setattr(cache, name, value)

    return spoil


def external(whole: Any) -> None:
    cache = whole.graph.initializer[0]
    cache.ClearField("raw_data")
    cache.data_location = cache.EXTERNAL
    for key, value in (("location", "../../../../etc/passwd"), ("length", str(10**18))):
        entry = cache.external_data.add()
        entry.key, entry.value = key, value


def more_nodes(whole: Any) -> None:
    for _ in range(10_000):
        whole.graph.node.append(whole.graph.node[0])


SPOILT: dict[str, tuple[Callable[[Any], None], str]] = {
    "huge dims": (
        tensor(dims=[2**62, 2**19]),
        "'cos' must hold the numbers of shape (4611686018427387904, 524288); it",
    ),
    "endless width": (tensor(dims=[2, 2**62]), "'cos' must hold floats, with a row for each position"),
    "negative dims": (tensor(dims=[-9, -4]), "'cos' must hold floats"),
    "many dims": (tensor(dims=[1] * 10_000), "'cos' must hold floats"),
    "type of strings": (tensor(data_type=8), "'cos' must hold floats"),
    "unknown type": (tensor(data_type=999), "'cos' must hold floats"),
    "cut raw data": (tensor(raw_data=b"12345"), "'cos' must hold the numbers of shape (9, 4); it holds 1.25"),
    "no data": (
        lambda whole: whole.graph.initializer[0].ClearField("raw_data"),
        "'cos' must hold the numbers of shape",
    ),
    "another shape": (tensor(dims=[4, 9]), "caches must have one shape; got (4, 9) of cos and (9, 4) of sin"),
    "external data": (external, "'cos' must be an initializer inside the graph"),
    "no inputs": (lambda whole: whole.graph.node[0].ClearField("input"), "RotaryEmbedding must have the inputs"),
    "ten thousand nodes": (more_nodes, "model must have from 1 to 8192 RotaryEmbedding nodes; it has 10001"),
    "a name as a number": (
        lambda whole: whole.graph.node[0].attribute.append(onnx.helper.make_attribute("interleaved", "yes")),
        "interleaved must be one number; the node has another kind",
    ),
}


@pytest.mark.parametrize("name", SPOILT)
def test_a_spoilt_file_gives_one_line(tmp_path: Path, name: str) -> None:
    spoil, message = SPOILT[name]
    whole = model()
    spoil(whole)
    path = tmp_path / "a.onnx"
    path.write_bytes(whole.SerializeToString())
    with calls_at_most(), pytest.raises(ValueError, match=r"^[^\n]{1,400}$") as caught:
        from_onnx(path)
    assert str(caught.value).startswith(message)


def test_nodes_that_name_the_same_caches_read_them_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or thousands of nodes would read a long cache as often."""
    whole, read = model(), []
    for _ in range(99):
        whole.graph.node.append(whole.graph.node[0])
    to_array = onnx.numpy_helper.to_array
    monkeypatch.setattr(onnx.numpy_helper, "to_array", lambda cache: (read.append(cache.name), to_array(cache))[1])
    (group,) = from_onnx(whole).groups
    assert (len(group.layers), read) == (100, ["cos", "sin"])


def varint(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)


def field(number: int, body: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(body)) + body


def nested(depth: int) -> bytes:
    """A node with an attribute that is a graph with a node, and so on."""
    body = b""
    for _ in range(depth):
        body = field(NODE, field(ATTRIBUTE, field(SUBGRAPH, body)))
    return field(GRAPH, body)


ENDLESS: dict[str, Callable[[int], bytes]] = {
    "nodes": lambda many: field(GRAPH, field(NODE, b"") * many),
    "initializers": lambda many: field(GRAPH, field(INITIALIZER, b"") * many),
    "attributes": lambda many: field(GRAPH, field(NODE, field(ATTRIBUTE, b"") * many)),
    "names": lambda many: field(GRAPH, field(NODE, field(1, b"") * many)),
    "packed integers": lambda many: field(GRAPH, field(INITIALIZER, field(INTEGERS, b"\1" * (40 * many)))),
    "graphs in graphs": lambda many: nested(many // 3),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_parts_are_counted_through_every_message(name: str) -> None:
    data, message = ENDLESS[name](300), onnx.ModelProto.DESCRIPTOR
    assert more_parts_than(299, data, message)
    assert not more_parts_than(380, data, message)


ASK = """
import resource, sys
from posenc.models import from_onnx
resource.setrlimit(resource.RLIMIT_AS, (1 << 31, 1 << 31))
try:
    from_onnx(sys.argv[1])
except ValueError as error:
    sys.exit(str(error))
"""


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["nodes", "initializers", "attributes"])
def test_more_parts_than_any_model_are_counted_and_not_made(tmp_path: Path, name: str) -> None:
    """In a process of its own with 2 GiB of memory: parsed, these 40 MB would be 2.8 GB (70 bytes of memory for each
    byte of an empty node, measured)."""
    path = tmp_path / "a.onnx"
    path.write_bytes(ENDLESS[name](20_000_000))
    began = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    ran = subprocess.run([sys.executable, "-c", ASK, path], capture_output=True, text=True, check=False)
    assert ran.stderr == (
        f"model must have at most {MOST_PARTS} parts (nodes, names, numbers); a.onnx has more. Export the rotation "
        "alone.\n"
    )
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - began < 30


@pytest.mark.parametrize("depth", [200, 5_000])
def test_nesting(tmp_path: Path, depth: int) -> None:
    path = tmp_path / "deep.onnx"
    path.write_bytes(nested(depth))
    with pytest.raises(ValueError, match=r"^model must be an ONNX file; deep\.onnx is damaged"):
        from_onnx(path)


def test_every_cut_and_every_changed_byte(tmp_path: Path) -> None:
    whole, path = model(interleaved=1).SerializeToString(), tmp_path / "a.onnx"
    rng = np.random.default_rng(0)
    spoilt, messages = [whole[:length] for length in range(0, len(whole), 3)], []
    for at in rng.integers(0, len(whole), 150):
        spoilt.append(whole[:at] + bytes([rng.integers(256)]) + whole[at + 1 :])
    for data in spoilt:
        path.write_bytes(data)
        try:
            from_onnx(path)
        except (ValueError, TypeError) as error:
            messages.append(str(error))
    assert len(messages) > 100
    assert all("\n" not in message and len(message) < 400 for message in messages), messages


def test_what_is_no_plain_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.onnx")
    with pytest.raises(ValueError, match=r"^model must be a plain file; it is a pipe\. Give a graph"):
        from_onnx(tmp_path / "pipe.onnx")
    (tmp_path / "a.json").write_text('{"graph": {"node": []}}')  # whose suffix says text to onnx.load
    with pytest.raises(ValueError, match=r"^model must be an ONNX file; a\.json is damaged"):
        from_onnx(tmp_path / "a.json")
