"""`posenc convert`: a dry run, a run, and what is refused."""

from __future__ import annotations

import json

import pytest

from models import checkpoints

WORDS = (
    "--source",
    "adjacent",
    "--target",
    "halves",
    "--heads",
    "12",
    "--kv-heads",
    "4",
    "--head-dim",
    "10",
    "--width",
    "6",
)


@pytest.fixture
def old(tmp_path):
    return checkpoints.saved(tmp_path / "old.safetensors", checkpoints.model())


def test_a_dry_run_lists_every_tensor_and_writes_nothing(posenc, old, tmp_path):
    ran = posenc("convert", str(old), *WORDS, "--dry-run")
    assert (ran.code, ran.err) == (0, "")
    assert "12 of 21 tensors in 1 files would move. Nothing was written." in ran.out
    assert all(name in ran.out for name in checkpoints.model())
    data = posenc("convert", str(old), *WORDS, "--dry-run", "--json").data
    assert len(data["moves"]) == 12
    assert {one["tensor"] for one in data["moves"] + data["stays"]} == set(checkpoints.model())
    assert [path.name for path in tmp_path.iterdir()] == ["old.safetensors"]


def test_there_and_back(posenc, old, tmp_path):
    new, third = tmp_path / "new.safetensors", tmp_path / "third.safetensors"
    ran = posenc("convert", str(old), *WORDS, "--output", str(new))
    assert (ran.code, ran.err) == (0, "")
    assert "12 of 21 tensors moved, adjacent to halves" in ran.out
    back = ("--source", "halves", "--target", "adjacent", *WORDS[4:])
    assert posenc("convert", str(new), *back, "--output", str(third), "--json").data["source"] == "halves"
    assert third.read_bytes() == old.read_bytes()
    assert new.read_bytes() != old.read_bytes()
    assert json.loads(new.with_name("new.safetensors.receipt.json").read_text())["made_by"].startswith("posenc ")
    twice = posenc("convert", str(new), *WORDS, "--dry-run")
    assert twice.code == 2
    assert twice.err.startswith(
        "posenc convert: source must be 'halves', to which this checkpoint was converted according to new.safetensors."
    )


def test_heads_are_read_from_the_config_of_the_folder(posenc, tmp_path):
    folder = checkpoints.sharded(tmp_path / "model", checkpoints.model())
    config = {"model_type": "stablelm", "hidden_size": 120, "num_attention_heads": 12, "num_key_value_heads": 4}
    config |= {"num_hidden_layers": 2, "max_position_embeddings": 64, "rope_theta": 1e4, "partial_rotary_factor": 0.6}
    (folder / "config.json").write_text(json.dumps(config))
    words = ("--source", "halves", "--target", "adjacent", "--output", str(tmp_path / "new"), "--json")
    made = posenc("convert", str(folder), *words).data
    assert len(made["moved"]) == 12
    assert "width=6" in made["moved"][0]["how"]
    stated = posenc("convert", str(folder), *WORDS[4:], *words[:5], str(tmp_path / "other"), "--json").data
    assert [one["sha256_after"] for one in made["files"]] == [one["sha256_after"] for one in stated["files"]]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--output", "{old}"), "output must not exist yet; old.safetensors does"),
        ((), "output must be given, or --dry-run, and not both"),
        (("--dry-run", "--heads", "5"), "kv_heads must divide heads; got heads=5, kv_heads=4"),
        (("--dry-run", "--source", "halves"), "target must differ from source"),
        (
            ("--dry-run", "--config", "config.json"),
            "heads must come with --kv-heads and --head-dim, and without --config",
        ),
        (("--dry-run", "--kv-heads", "12"), "k_norm.weight must have a known form"),
    ],
)
def test_what_is_refused_in_one_line(posenc, old, words, says):
    ran = posenc("convert", str(old), *WORDS, *(word.format(old=old) for word in words))
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err
    assert ran.err.count("\n") == 1


def test_a_pickle_file_is_refused(posenc, tmp_path):
    path = tmp_path / "pytorch_model.bin"
    path.write_bytes(b"\x80\x04.")
    ran = posenc("convert", str(path), *WORDS, "--dry-run")
    assert ran.code == 2
    assert "posenc never loads it" in ran.err


def test_on_a_terminal_a_bar_shows_the_time_left(monkeypatch, capfd):
    import sys

    from posenc.cli.convert import _bar

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with _bar() as progress:
        progress(5, 10)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    with _bar() as progress:
        assert progress is None
