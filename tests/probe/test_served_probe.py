"""A server is asked over HTTP, by the client of the guide, and its completions show the positions that it applies."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

import pytest

from posenc.probe import read_probe, write_probe
from probe.completions_server import serving
from probe.live_engine import load
from probe.misreadings import ROTATION
from probe.numpy_engine import GUIDE_CLIENT

LLAMA = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 8, "num_hidden_layers": 4, "head_dim": 8,
         "rope_theta": 500_000.0}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_probe(LLAMA, tmp_path_factory.mktemp("served") / "llama", length=32)


def test_the_client_of_the_guide_reads_a_server(folder: Path) -> None:
    names: dict = {}
    exec(compile(GUIDE_CLIENT, "docs/probe.md", "exec"), names)
    model = load(folder)
    with serving(model) as address:
        assert read_probe(folder, names["ask"](address, folder)).diagnosis.agree
        with ROTATION["base"].plant(model):
            reading = read_probe(folder, names["ask"](address, folder))
    assert [finding.name for finding in reading.diagnosis.findings] == ["base"]


def test_servers_that_do_not_echo_are_asked_row_by_row(folder: Path, tmp_path: Path) -> None:
    lines = []
    with serving(load(folder)) as address:
        for prompt in json.loads((folder / "probe.json").read_text())["prompts"]:
            for row in prompt["rows"]:
                body = {"prompt": prompt["tokens"][: row + 1], "max_tokens": 1, "logprobs": 7}
                with urllib.request.urlopen(f"{address}/v1/completions", json.dumps(body).encode()) as response:
                    lines.append({"name": prompt["name"], "row": row, "response": json.load(response)})
    path = tmp_path / "answers.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    assert read_probe(folder, path).diagnosis.agree
    path.write_text("\n".join(map(json.dumps, lines[1:])))
    with pytest.raises(ValueError, match=r"^answers must be finite .* channel_0 has nan for token 10 in row 1"):
        read_probe(folder, path)
