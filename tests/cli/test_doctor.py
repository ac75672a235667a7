"""`posenc doctor` and `posenc diff`: exit codes, JSON, and bad input in one line."""

from __future__ import annotations

import json

import numpy as np
import pytest

from effort import calls_at_most
from posenc.diagnosis import Capture
from posenc.diagnosis.model_capture import Recorded
from posenc.models import from_config

CONFIG = {
    "model_type": "llama",
    "rope_theta": 500_000.0,
    "hidden_size": 256,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "max_position_embeddings": 8192,
}
MODULE = """
import torch

class Rotary(torch.nn.Module):
    def forward(self, x, position_ids):
        angle = position_ids[..., None].float() * {base} ** (-torch.arange(0, 64, 2) / 64)
        return torch.cat([angle, angle], -1).cos(), torch.cat([angle, angle], -1).sin()

rotary = Rotary()
"""


def test_keys_of_the_configs_in_records_are_waived(posenc, files):
    """A record of `Capture.save` holds its config; arrays hold none, and are no config to read."""
    q = np.random.default_rng(0).standard_normal((1, 4, 32, 64))
    rotated = from_config(CONFIG).groups[0].rotary_encoding.rotation(np.arange(32))(q, layout="bhtd")
    arrays = {"q": q, "q_rotated": rotated, "k": q, "k_rotated": rotated}
    rotations = tuple(Recorded(arrays, layer, layout="bhtd") for layer in (0, 1))
    for name, more in (("one", {"use_mrope": True}), ("other", {"use_mrope": True}), ("plain", {})):
        Capture(rotations, config=CONFIG | more, attends="causal").save(files / f"{name}.npz")
    ran = posenc("doctor", "one.npz", "other.npz", "--waive", "use_mrope")
    assert (ran.code, ran.err) == (3, "")
    assert "use_mrope = True is waived" in ran.out
    np.savez(files / "arrays.npz", inv_freq=500_000.0 ** (-np.arange(32) / 32))
    for sides, key in ((("plain.npz", "plain.npz"), "use_mrope"), (("a.json", "arrays.npz"), "nonsense")):
        ran = posenc("doctor", *sides, "--waive", key)
        assert ran.code == 2
        assert f"waive must name keys of the config that posenc would otherwise reject; got {key!r}" in ran.err


def test_the_help_says_what_may_be_compared_and_a_manifest_is(posenc, files):
    described = " ".join(posenc("doctor", "--help").out.replace("│", " ").split())
    for side in (
        "a manifest of `posenc manifest`",
        "the folder of a checkpoint or a .gguf file, whose rows are compared",
    ):
        assert side in described
    (files / "manifest.json").write_text(posenc("manifest", "a.json", "--json").out)
    assert (posenc("doctor", "a.json", "manifest.json").code, posenc("doctor", "b.json", "manifest.json").code) == (
        0,
        1,
    )


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").write_text(json.dumps(CONFIG))
    (tmp_path / "b.json").write_text(json.dumps(CONFIG | {"rope_theta": 10_000.0}))
    (tmp_path / "good.py").write_text(MODULE.format(base="500000.0"))
    (tmp_path / "bad.py").write_text(MODULE.format(base="10000.0"))
    return tmp_path


def test_exit_codes_say_whether_they_agree(posenc, files):
    assert posenc("doctor", "a.json", "a.json").code == 0
    assert posenc("doctor", "a.json", "b.json").code == 1
    assert posenc("doctor", "a.json", "missing.json").code == 2
    assert posenc("diff", "a.json", "a.json").code == 0
    assert posenc("diff", "a.json", "b.json").code == 1
    assert posenc("diff", "a.json", "RoPE(dim=64").code == 2


def test_json_says_the_verdict_where_nothing_can_be_compared_too(posenc, files):
    (files / "mine.py").write_text("def table(length, dim):\n    raise RuntimeError('no')\n")
    (files / "damaged.npz").write_bytes(b"PK")
    for words in (
        ("doctor", "a.json", "missing.json"), ("doctor", "a.json", "damaged.npz"), ("doctor", "a.json"),
        ("diff", "a.json", "RoPE(dim=64"), ("preflight", "a.json", "missing.json"), ("check", "mine.py:table"),
    ):  # fmt: skip
        ran = posenc(*words, "--json")
        assert (ran.code, ran.data["verdict"]) == (4 if "check" in words else 2, "cannot be compared"), words
        assert ran.data["error"] in ran.err
    assert posenc("doctor", "a.json", "missing.json").out == ""


def test_check_says_one_of_the_verdicts(posenc, files):
    # A function is checked in a tenth of the time that an encoding takes.
    (files / "function.py").write_text(
        "import posenc\ndef rows(length, dim):\n    return posenc.Sinusoidal(dim=dim).embed(range(length))\n"
    )
    said = posenc("check", "function.py:rows", "--json").data
    assert said["verdict"] == "agree in everything that this evidence can show"
    ran = posenc("check", "function.py:rows", "--against", "Sinusoidal(dim=16, base=100.0)", "--json")
    assert (ran.code, ran.data["verdict"]) == (1, "differ")


def test_json_names_the_mistake(posenc, files):
    said = posenc("doctor", "a.json", "b.json", "--json").data
    assert (said["agree"], said["explained"]) == (False, True)
    assert said["findings"][0]["name"] == "base"
    assert said["difference"]["parts"][0]["fields"][0] == {"name": "base", "first": "500000.0", "second": "10000.0"}
    said = posenc("diff", "a.json", "b.json", "--json").data
    assert said["same"] is False
    assert len(set(said["fingerprints"])) == 2
    assert [effect["position"] for effect in said["difference"]["parts"][0]["effects"]] == [1024, 8192, 131_072]


def test_a_module_of_ones_own_is_asked(posenc, files):
    pytest.importorskip("torch")
    assert posenc("doctor", "a.json", "good.py:rotary").code == 3  # cosines and sines alone
    ran = posenc("doctor", "a.json", "bad.py:rotary")
    assert ran.code == 1
    assert "mistake: base" in ran.out


def test_what_is_not_explained_says_so_and_shows_the_difference(posenc, files):
    other = CONFIG | {"rope_theta": 3e4, "head_dim": 32, "rope_scaling": {"rope_type": "linear", "factor": 3.0}}
    (files / "c.json").write_text(json.dumps(other))
    ran = posenc("doctor", "a.json", "c.json")
    assert ran.code == 1
    assert "none of the known mistakes explains it" in ran.out
    assert "base: 500000.0 and 30000.0" in ran.out


def test_harmless_notes_are_told(posenc, files):
    angle = np.arange(1, 65)[:, None] * 5e5 ** (-np.arange(0, 64, 2) / 64)
    np.savez(files / "late.npz", cos=np.cos(angle), sin=np.sin(angle))
    ran = posenc("doctor", "a.json", "late.npz")
    assert ran.code == 3
    assert "shifted by 1" in ran.out
    assert "not compared: key positions: give k and k_rotated\n" in ran.out


@pytest.mark.parametrize(
    ("second", "content"),
    [
        ("deep.json", b"[" * 100_000),
        ("pickle.safetensors", b"\x80\x04\x95junk"),
        ("cut.safetensors", b"\x00\x01\x00\x00\x00\x00\x00\x00{"),
        ("bomb.npz", b"PK\x03\x04" + b"\x00" * 1000),
        ("weights.pt", b"\x80\x04\x95junk"),
        ("nan.json", b'{"model_type": "llama", "rope_theta": NaN, "hidden_size": 256, "num_attention_heads": 4}'),
        ("huge.json", b'{"model_type": "llama", "hidden_size": 1e400}'),
        ("negative.json", json.dumps(CONFIG | {"num_attention_heads": -4}).encode()),
        ("list.json", b"[1, 2]"),
    ],
)
@pytest.mark.parametrize("verb", ["doctor", "diff"])
def test_bad_files_are_one_line_at_once(posenc, files, second, content, verb):
    (files / second).write_bytes(content)
    with calls_at_most():
        ran = posenc(verb, "a.json", second)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert ran.err.startswith(f"posenc {verb}: ")


@pytest.mark.parametrize("word", ["a sentence", "Linear(factor=2.0)", "PerLayer((RoPE(dim=8),))"])
def test_what_is_neither_encoding_nor_config_is_refused(posenc, files, word):
    for verb, side in (("doctor", "expected"), ("diff", "first")):
        ran = posenc(verb, word, "a.json")
        assert (ran.code, ran.err.count("\n")) == (2, 1)
        assert f"{side} must be" in ran.err


LIVE = """
from transformers import MistralConfig, MistralModel

sizes = {"vocab_size": 64, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "sliding_window": 32}
sizes |= {"intermediate_size": 64, "num_key_value_heads": 2}
right = MistralModel(MistralConfig(**sizes))
wrong = MistralModel(MistralConfig(**sizes | {"sliding_window": 33}))
"""


def test_a_loaded_model_is_run(posenc, files):
    pytest.importorskip("transformers")
    (files / "live.py").write_text(LIVE)
    sizes = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2}
    (files / "mistral.json").write_text(json.dumps({"model_type": "mistral", "sliding_window": 32, **sizes}))
    assert posenc("doctor", "mistral.json", "live.py:right").code == 0
    short = posenc("doctor", "mistral.json", "live.py:right", "--tokens", "24")
    assert short.code == 3
    assert "not compared: window" in short.out
    assert posenc("doctor", "mistral.json", "live.py:wrong").out.startswith("mistake: window")
    refused = posenc("doctor", "mistral.json", "mistral.json", "--tokens", "24")
    assert refused.code == 2
    assert "tokens must come with FILE.py:NAME" in refused.err
