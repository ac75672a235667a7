"""Every option of every verb has an effect or gives an error: each is added to commands that it fits and that it does
not, read off the parser, and what comes out must differ."""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path

import numpy as np
import pytest

from models import checkpoints
from posenc.cli.main import VERBS, verb_class
from posenc.cli.plot import PICTURES

MINE = """
import numpy as np
def table(length, d_model):
    angle = np.arange(length)[:, None] / 10000 ** (np.arange(0, d_model, 2) / d_model)
    return np.stack([np.sin(angle), np.cos(angle)], -1).reshape(length, d_model)
class Module:
    def __init__(self, d_model):
        self.table = table(4096, d_model)
    def __call__(self, x):
        return x + self.table[: x.shape[1]]
"""
SENTENCES = ("Dog bites man", "--versus", "Man bites dog")
RECORDS = {
    "adds": "Sinusoidal(dim=44)",
    "rotates": "RoPE(dim=44)",
    "biases": "T5Bias(heads=20)",
    "learns": "Learned(dim=44, length=200)",
}
DRAWN = {
    **dict.fromkeys(("rotation", "rotation_matrix", "rotated", "pairing"), "LearnedRoPE(dim=8)"),
    **dict.fromkeys(("bias", "bias_by_distance", "heads", "score_by_distance"), RECORDS["biases"]),
    "scalings": "RoPE(dim=8)",
    **dict.fromkeys(("waves", "wavelengths", "binary", "dials", "number_waves"), "Sinusoidal(dim=8)"),
    **dict.fromkeys(("shift_matrix", "derivation", "derivative", "look_back"), "Sinusoidal(dim=8)"),
}
OF_RECORDS = [name for name, picture in PICTURES.items() if picture.of_any_encoding]
CONVERT = ("--source", "halves", "--target", "adjacent", "--dry-run")

REVERSED = ("--source", "adjacent", "--target", "halves", "--dry-run")

#: Commands of each verb that work, one of every kind that it takes.
COMMANDS: dict[str, list[tuple[str, ...]]] = {
    "explain": [
        *((encoding,) for encoding in RECORDS.values()),
        ("TransformerXL(dim=4, heads=20, model_dim=8)",),
        ("RoPE(dim=2)", "--query-vector", "1", "2", "--key-vector", "3", "4"),
        ("Sinusoidal(dim=2)", "--query-vector", "1", "2", "--key-vector", "3", "4"),
        SENTENCES,
        (*SENTENCES, "--encoding", "LearnedRoPE(dim=8)"),
        ("config.json",),
        ("dynamic.json", "--waive", "rope_style", "--length", "8192"),
    ],
    "manifest": [("config.json",), ("dynamic.json", "--waive", "rope_style", "--length", "8192")],
    "plot": [
        *((DRAWN.get(name, RECORDS["learns"]), "--picture", name, "--output", "x.svg") for name in OF_RECORDS),
        ("config.json", "--picture", "layers", "--output", "x.svg"),
        ("text 2, video 8x2x2x1x1, text 3", "--picture", "media_positions", "--output", "x.svg"),
        ("RoPE(dim=16)", "--picture", "trained_attention", "--steps", "1", "--output", "x.svg"),
        ("RoPE(dim=8)", "--picture", "rotation", "--output", "x.png"),
        ("Sinusoidal(dim=8)", "--picture", "dimensions", "--output", "x.png"),
    ],
    "recover": [("--dim", "16", "--at", "0=0.1411")],
    "list": [(), ("RoPE",)],
    "check": [
        ("mine.py:table",),
        ("mine.py:Module",),
        ("--questions",),
        ("--question", "chapter-position", "--answer", "7"),
    ],
    "plan": [("config.json", "--length", "262144")],
    "diff": [("RoPE(dim=64)", "RoPE(dim=64, base=500)"), ("draft", "target", "--draft")],
    "preflight": [("config.json", "served.json"), ("target", "target")],
    "doctor": [
        ("config.json", "served.json"),
        ("config.json", "dumped.npz"),
        ("RoPE(dim=128, base=500000.0, pairing='halves')", "dumped.npz"),
        ("RoPE(dim=8)", "heads.npz", "--layout", "bhtd"),
    ],
    "convert": [
        ("model.safetensors", "--config", "config.json", *CONVERT),
        ("model.safetensors", "--config", "config.json", "--waive", "pairing", *REVERSED),
        ("model.safetensors", "--heads", "32", "--kv-heads", "8", "--head-dim", "128", *CONVERT),
    ],
}

#: A value of each option that is none of its defaults.
VALUES: dict[str, dict[str, tuple[str, ...]]] = {
    "explain": {
        "position": ("5",),
        "key": ("1",),
        "query_vector": ("5", "6"),
        "key_vector": ("7", "8"),
        "dims": ("0",),
        "all": (),
        "versus": ("Man dog bites",),
        "encoding": ("RoPE(dim=8)",),
        "length": ("200000",),
        "waive": ("rope_style",),
        "seed": ("7",),
    },
    "plot": {
        "picture": ("all",),
        "output": ("other.svg",),
        "positions": ("31",),
        "position": ("7",),
        "at": ("3", "4"),
        "pair": ("1",),
        "steps": ("2",),
        "offset": ("2",),
        "sentence": ("Man bites dog",),
        "embedding": (f"Dog={' '.join(map(str, range(44)))}",),
        "other": ("Bites man dog",),
        "causal": (),
        "after": ("extent",),
        "dims": ("2", "3"),
        "dpi": ("50",),
        "seed": ("7",),
        "labels": ("mine",),
        "width": ("89mm",),
    },
    "recover": {
        "dim": ("18",),
        "at": ("2=0.3",),
        "base": ("100",),
        "exponent": ("i/d",),
        "layout": ("concatenated",),
        "first": ("cosine",),
        "start": ("1",),
        "largest": ("1000",),
    },
    "list": {"door": ("biases",), "models": ()},
    "check": {
        "dim": ("8",),
        "base": ("100",),
        "against": ("Sinusoidal(dim=8, base=50)",),
        "layout": ("sequence-first",),
        "seconds": ("0.001",),
        "memory": ("0.01",),
        "questions": (),
        "file": ("mine.py",),
        "output": ("grades.csv",),
        "question": ("lecture-d8",),
        "answer": ("8",),
    },
    "manifest": {"length": ("200000",), "waive": ("rope_style",)},
    "plan": {"length": ("524288",), "typical": ("100",), "trained": ("1000",)},
    "diff": {"waive": ("rope_style",), "draft": (), "length": ("4096",)},
    "preflight": {
        "length": ("200000",),
        "draft": ("draft",),
        "engine": ("no-such-engine",),
        "cache": ("there",),
        "waive": ("rope_style",),
    },
    "doctor": {
        "layer": ("99",),
        "part": ("decoder",),
        "layout": ("bthd",),
        "length": ("200000",),
        "tokens": ("8",),
        "waive": ("rope_style",),
    },
    "convert": {
        "source": ("adjacent",),
        "target": ("halves",),
        "config": ("served.json",),
        "heads": ("16",),
        "kv_heads": ("4",),
        "head_dim": ("64",),
        "output": ("new.safetensors",),
        "width": ("64",),
        "start": ("2",),
        "latent": ("512",),
        "fused": ("grouped",),
        "under": ("decoder",),
        "leave": ("other*",),
        "dry_run": (),
        "waive": ("pairing",),
    },
}


def options(verb: str) -> list[str]:
    """The options that the parser of a verb knows, apart from what every verb has and what has no name."""
    words = [field for field in dataclasses.fields(verb_class(verb)) if field.name != "json"]
    return [field.name for field in words if "Positional" not in str(field.type)]


def cases() -> list[tuple[str, tuple[str, ...], str]]:
    found = []
    for verb, commands in COMMANDS.items():
        for command in commands:
            given = {word[2:].replace("-", "_") for word in command if word.startswith("--")}
            found += [(verb, command, option) for option in [*options(verb), "json"] if option not in given]
    return found


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """What a command prints and writes, and its exit code; each plain command is run once."""
    folder = tmp_path_factory.mktemp("files")
    checkpoints.for_examples(folder)
    (folder / "mine.py").write_text(MINE)
    q = np.random.default_rng(0).normal(size=(1, 3, 5, 8))
    np.savez(folder / "heads.npz", q=q, q_rotated=q)
    kept = {}

    def run(posenc, monkeypatch, words):
        if words not in kept:
            monkeypatch.chdir(folder)
            before = {path: path.stat().st_mtime_ns for path in Path().iterdir()}
            ran = posenc(*words)
            new = [path for path in sorted(Path().iterdir()) if before.get(path) != path.stat().st_mtime_ns]
            drawn = {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in new if path.is_file()}
            kept[words] = (ran.code, ran.out, ran.err, drawn)
        return kept[words]

    return run


def test_every_verb_and_option_is_asked():
    # In browser, cli and lab.
    own_tests = {"tour", "explore", "claims", "compare", "extend", "frequencies", "report", "probe", "trace", "audit"}
    own_tests |= {"engines"}
    assert set(COMMANDS) == set(VERBS) - own_tests
    for verb in COMMANDS:
        assert set(options(verb)) == set(VALUES[verb]), verb


def by_night(case: tuple[str, tuple[str, ...], str]) -> bool:
    """Whether a case waits for the night: `posenc plot` has as many pictures as the other verbs have options."""
    verb, command, _ = case
    return verb == "plot" and not {"heatmap", "layers", "rotation"} & set(command)


@pytest.mark.parametrize(
    ("verb", "command", "option"),
    [pytest.param(*case, marks=[pytest.mark.nightly] if by_night(case) else []) for case in cases()],
)
def test_each_option_has_an_effect_or_gives_an_error(posenc, monkeypatch, outcome, verb, command, option):
    without = outcome(posenc, monkeypatch, (verb, *command))
    assert without[0] in (0, 1, 3), without
    name = f"--{option.replace('_', '-')}"
    added = outcome(posenc, monkeypatch, (verb, *command, name, *(VALUES[verb] | {"json": ()})[option]))
    assert added != without, f"{name} changes nothing"
    if added[0] == 2:
        assert added[1] == ""
        assert added[2].count("\n") == 1
