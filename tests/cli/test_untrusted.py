"""Words from files reach the terminal as text: escape sequences spelled out, long values cut, a line a line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile

import numpy as np
import pytest

ESCAPES = "\x1b[2J\x1b]0;title\x07\x9b31m\u202e\x7f\r\nposenc: forged"
RUN = [sys.executable, "-m", "posenc"]
LLAMA = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}


VERB_WORDS = [["explain"], ["diff", "RoPE(dim=16)"], ["plan", "--length", "99999"]]


def harmless(ran, *, is_json: bool = False) -> None:
    """Nothing but printable characters and ends of lines, no line forged, none endless; values in JSON are whole."""
    for text in (ran.out, ran.err):
        assert all(letter.isprintable() or letter == "\n" for letter in text), text
        assert not re.search(r"^posenc: forged", text, re.MULTILINE)
        assert is_json or max((len(line) for line in text.splitlines()), default=0) < 5_000


@pytest.mark.parametrize("word", [ESCAPES, "a" * 100_000], ids=["escapes", "long"])
@pytest.mark.parametrize(
    "verb", [["explain"], ["diff", "RoPE(dim=16)"], ["plan", "--length", "99999"]], ids=lambda v: v[0]
)
@pytest.mark.parametrize("place", ["model_type", "rope_type", "key", "value", "layer type"])
def test_words_of_a_config(posenc, tmp_path, word, verb, place):
    config = dict(LLAMA)
    if place == "model_type":
        config["model_type"] = word
    elif place == "rope_type":
        config["rope_scaling"] = {"rope_type": word, "factor": 2.0}
    elif place == "key":
        config[f"rope_{word}"] = 3
    elif place == "value":
        config["rope_theta"] = word
    else:
        config["layer_types"] = [word, "full_attention"]
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    words = [*verb, str(path)] if verb[0] == "diff" else [verb[0], str(path), *verb[1:]]
    harmless(posenc(*words))
    harmless(posenc(*words, "--json"), is_json=True)


@pytest.mark.parametrize("word", ["\x1b[2J\x9b31m", "b" * 50_000], ids=["escapes", "long"])
def test_names_in_an_npz(posenc, tmp_path, word):
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w") as archive, archive.open(f"{word}.npy", "w") as file:
        np.lib.format.write_array(file, np.zeros(3))
    ran = posenc("doctor", "RoPE(dim=8)", str(path))
    assert ran.code == 2
    harmless(ran)


@pytest.mark.parametrize("word", ["\x1b[2J\x9b31m", "c" * 50_000], ids=["escapes", "long"])
def test_names_of_tensors(posenc, tmp_path, word):
    path = tmp_path / "x.safetensors"
    head = json.dumps({f"{word}.q_proj.weight": {"dtype": "F32", "shape": [4, 4], "data_offsets": [0, 64]}}).encode()
    path.write_bytes(len(head).to_bytes(8, "little") + head + bytes(64))
    harmless(posenc("doctor", "RoPE(dim=8)", str(path)))
    words = ("--heads", "1", "--kv-heads", "1", "--head-dim", "4", "--source", "halves", "--target", "adjacent")
    harmless(posenc("convert", str(path), *words, "--dry-run"))
    harmless(posenc("convert", str(path), *words, "--dry-run", "--json"), is_json=True)


@pytest.mark.parametrize("shape", [[0, 2**61], [2**31, 2**33, 0]])
def test_a_tensor_of_no_numbers_in_a_shape_beyond_all(posenc, tmp_path, shape):
    path = tmp_path / "x.safetensors"
    head = json.dumps({"inv_freq": {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]}}).encode()
    path.write_bytes(len(head).to_bytes(8, "little") + head)
    ran = posenc("doctor", "RoPE(dim=8)", str(path))
    assert (ran.code, "inv_freq must hold numbers; got none" in ran.err) == (2, True), ran


def test_words_of_an_exception_and_of_a_student_s_names(posenc, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(f"def mine(length, dim):\n    raise ValueError({ESCAPES!r} * 1000)\n")
    harmless(posenc("check", f"{path}:mine"))
    ones = "import numpy as np\ndef mine(length, dim):\n    return np.ones((length, dim))\n"
    path.write_text(f"{ones}mine.__name__ = {ESCAPES!r}\n")
    harmless(posenc("check", f"{path}:mine"))
    harmless(posenc("explain", f"RoPE({ESCAPES})"))
    harmless(posenc(ESCAPES))


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "latin-1", "utf-8"])
def test_every_encoding_of_a_terminal(encoding):
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    told = [["explain", "RoPE(dim=4)"], ["list", "RoPE", "--json"]] if encoding == "ascii" else []
    for words in (*told, ["explain", "Řope", "--versus", "→"]):
        ran = subprocess.run([*RUN, *words], capture_output=True, env=environment, check=False)
        assert ran.returncode == 0, ran
        ran.stdout.decode(encoding)
        assert ran.stdout


def test_a_terminal_without_columns_and_one_without_output(monkeypatch, posenc):
    monkeypatch.setenv("COLUMNS", "0")
    assert "RoPE" in posenc("list").out
    ran = subprocess.run(f"{sys.executable} -m posenc list >&-", shell=True, capture_output=True, check=False)
    assert (ran.returncode, ran.stderr.startswith(b"posenc list: stdout must be open")) == (2, True)
