"""Probes are written for any engine, and read what it does, with the engine of the guide and mistakes planted in it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from posenc.probe import read_probe, write_probe
from probe.numpy_engine import GUIDE_ENGINE, GUIDE_RUN, engine

LLAMA = {
    "model_type": "llama", "hidden_size": 128, "num_attention_heads": 8, "num_hidden_layers": 4, "head_dim": 16,
    "rope_theta": 500_000.0,
}  # fmt: skip
BASE = 500_000.0
#: Text of the guide's engine, what it becomes, and the mistake that is named.
PLANTED = {
    "base": ((), 10_000.0, "base"),
    "direction": ((("np.tile(np.sin(angle), 2)", "-np.tile(np.sin(angle), 2)"),), BASE, "sign"),
    "pairs": (
        (
            ("np.tile(np.cos(angle), 2), np.tile(np.sin(angle), 2)",
             "np.repeat(np.cos(angle), 2, -1), np.repeat(np.sin(angle), 2, -1)"),
            ("np.concatenate([-x[..., dim // 2 :], x[..., : dim // 2]], -1)",
             "np.stack([-x[..., 1::2], x[..., ::2]], -1).reshape(x.shape)"),
        ), BASE, "layout",
    ),
    "positions scaled": ((("base ** (", "0.25 * base ** ("),), BASE, "scaling added"),
    "softmax scale": ((("/ np.sqrt(dim)", "/ np.sqrt(dim / 2)"),), BASE, "logit factor"),
    "window": ((("np.tri(n, dtype=bool)", "np.tri(n, dtype=bool) & ~np.tri(n, k=-32, dtype=bool)"),), BASE, "window"),
    "values": ((('h @ w[p + "self_attn.v_proj.weight"].T', 'rotate(h @ w[p + "self_attn.v_proj.weight"].T)'),), BASE,
               "values rotated"),
    "no rotation": ((("return x * cos + ", "return x + 0 * "),), BASE, "not rotated"),
    "keys": ((("k, v = rotate(h @", "k, v = (h @"),), BASE, "keys not rotated"),
    "table ends": ((("np.outer(prompt[\"position_ids\"] or np.arange(n)",
                     "np.outer(np.minimum(np.arange(n), 15)"),), BASE, "table ends"),
    "16-bit angles": (
        (("x = w[", "cos, sin = (a.astype(np.float16).astype(float) for a in (cos, sin)); x = w["),), BASE,
        "computed in 16 bits",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_probe(LLAMA, tmp_path_factory.mktemp("probes") / "llama", length=64)


@pytest.fixture(scope="module")
def answers(folder: Path) -> dict[str, object]:
    return engine()(folder, BASE)


def test_what_a_right_engine_applies_is_read(folder: Path, answers: dict[str, object]) -> None:
    reading = read_probe(folder, answers)
    assert reading.diagnosis.agree
    assert reading.diagnosis.verdict == "agree in everything that this evidence can show"
    assert not reading.diagnosis.not_shown
    assert reading.engine == "thirty lines of NumPy"
    assert len(reading.layers) == 3
    for layer in reading.layers:
        assert (layer.pairing, layer.direction, layer.start, layer.width) == ("halves", 1, 0, 16)
        gap = np.abs(np.array(layer.frequencies) - BASE ** (-np.arange(0, 16, 2) / 16))
        assert np.all(gap <= layer.errors)
        assert max(layer.errors) < 1e-6
        assert abs(layer.amplitude - 1) <= layer.amplitude_error < 1e-5


@pytest.mark.parametrize("layers", [1, 2])
def test_a_model_of_fewer_layers_is_probed_whole(layers: int, tmp_path: Path) -> None:
    folder = write_probe({**LLAMA, "num_hidden_layers": layers}, tmp_path / "probe", length=64)
    reading = read_probe(folder, engine()(folder, BASE))
    assert reading.diagnosis.agree
    assert len(reading.layers) == layers


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_mistake_is_named(name: str, folder: Path) -> None:
    changes, base, mistake = PLANTED[name]
    reading = read_probe(folder, engine(*changes)(folder, base))
    assert not reading.diagnosis.agree
    assert [finding.name for finding in reading.diagnosis.findings] == [mistake]


def test_other_heads_than_the_first_count(folder: Path) -> None:
    change = ("k, v =", "q[1] = h @ w[p + 'self_attn.q_proj.weight'].T[:, dim : 2 * dim]; k, v =")
    reading = read_probe(folder, engine(change)(folder, BASE))
    assert not reading.diagnosis.agree
    assert "the mean of 2 query heads with 1 of keys" in reading.diagnosis.compared


@pytest.mark.parametrize("by_ids", [False, True])
def test_keys_count_as_looked_at_where_one_stands_elsewhere_than_at_0(by_ids: bool, tmp_path: Path) -> None:
    for length, is_asked in ((1, False), (2, True)):
        folder = write_probe(LLAMA, tmp_path / str(length), length=length, position_ids=by_ids)
        found = read_probe(folder, engine()(folder, BASE)).diagnosis
        assert found.agree
        assert ("key positions" in found.looked_at) == is_asked
        assert any(line.startswith("key positions") for line in found.not_shown) != is_asked


def test_keys_show_their_rotation_inside_a_narrow_window(tmp_path: Path) -> None:
    config = {**LLAMA, "model_type": "mistral", "num_key_value_heads": 8, "sliding_window": 5}
    folder = write_probe(config, tmp_path / "narrow", length=64)
    mask = ("np.tri(n, dtype=bool)", "np.tri(n, dtype=bool) & ~np.tri(n, k=-5, dtype=bool)")
    assert read_probe(folder, engine(mask)(folder, BASE)).diagnosis.agree
    (finding,) = read_probe(folder, engine(mask, *PLANTED["keys"][0])(folder, BASE)).diagnosis.findings
    assert finding.name == "keys not rotated"


def test_a_window_that_ends_between_two_asked_distances_is_a_range(folder: Path) -> None:
    (finding,) = read_probe(folder, engine(*PLANTED["window"][0])(folder, BASE)).diagnosis.findings
    assert finding.sentence == "Queries see 17 to 32 positions where all keys are meant."


def test_a_window_between_two_asked_distances_is_all_that_is_found(tmp_path: Path) -> None:
    """Prompts whose key stands elsewhere count all keys before a query, and so say nothing beyond what is seen."""
    for length, size, keys_shown in ((64, 40, False), (100, 60, False), (300, 33, False), (100, 80, True)):
        folder = write_probe(LLAMA, tmp_path / f"{length} {size}", length=length)
        mask = ("np.tri(n, dtype=bool)", f"np.tri(n, dtype=bool) & ~np.tri(n, k=-{size}, dtype=bool)")
        found = read_probe(folder, engine(mask)(folder, BASE)).diagnosis
        assert ([finding.name for finding in found.findings], found.worst) == (["window"], ())
        assert ("key positions" in found.looked_at) == keys_shown


def test_a_window_counts_as_looked_at_where_its_edge_was_asked(tmp_path: Path) -> None:
    mask = PLANTED["window"][0][0]
    cases = ((32, (mask,), True), (32_768, (), False))
    for size, changes, is_asked in cases:
        config = {**LLAMA, "model_type": "mistral", "num_key_value_heads": 8, "sliding_window": size}
        folder = write_probe(config, tmp_path / str(size), length=64)
        found = read_probe(folder, engine(*changes)(folder, BASE)).diagnosis
        assert found.agree
        assert ("window" in found.looked_at) == is_asked
        assert found.exit_code == (0 if is_asked else 3)
        assert any(line.startswith("window") for line in found.not_shown) != is_asked


def test_the_guide_prints_the_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile("\n".join((GUIDE_ENGINE, GUIDE_RUN)), "docs/probe.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["the config and the engine: not the same", "layers 0-2, main:"]
    assert lines[2].startswith("  base: 500000 and 10000 ± 0.0")
    assert lines[3:5] == ["mistake: base", "The base is 10000 where 500000 is meant."]


def test_position_ids_reach_far_with_three_tokens(tmp_path: Path) -> None:
    folder = write_probe(LLAMA, tmp_path / "placed", length=1 << 16, position_ids=True)
    prompts = json.loads((folder / "probe.json").read_text())["prompts"]
    assert {len(prompt["tokens"]) for prompt in prompts} == {3, 8}
    reading = read_probe(folder, engine()(folder, BASE))
    assert reading.diagnosis.agree
    assert max(reading.layers[0].errors[4:]) < 1e-9
    assert any(line.startswith("window") for line in reading.diagnosis.not_shown)


def test_log_probabilities_and_completions_serve_as_well(
    folder: Path, answers: dict[str, object], tmp_path: Path
) -> None:
    lines = []
    for prompt in json.loads((folder / "probe.json").read_text())["prompts"]:
        logits = np.asarray(answers[prompt["name"]], np.float64)
        rows = logits - np.log(np.exp(logits).sum(1, keepdims=True))
        top = [None] * (len(prompt["tokens"]) + 1)
        for row, values in zip(prompt["rows"], rows, strict=True):
            best = np.argsort(-values, kind="stable")[:7]  # as few as three layers need
            top[row + 1] = {str(token): float(np.float32(values[token])) for token in best}  # type: ignore[call-overload]
        lines.append({"name": prompt["name"], "response": {"choices": [{"logprobs": {"top_logprobs": top}}]}})
    path = tmp_path / "answers.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    reading = read_probe(folder, path)
    assert reading.diagnosis.agree
    assert 1e-6 < reading.layers[0].amplitude_error < 1e-2


def test_a_narrow_answer_has_wide_error_bars(folder: Path, answers: dict[str, object]) -> None:
    rounded = {name: np.asarray(rows, np.float16) for name, rows in answers.items() if name != "engine"}
    reading = read_probe(folder, rounded)
    assert reading.dtype == "float16"
    assert reading.diagnosis.agree
    assert reading.layers[0].amplitude_error > 1e-4


def _softmax(rows: np.ndarray) -> np.ndarray:
    return np.exp(rows) / np.exp(rows).sum(1, keepdims=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda held: held.pop("channel_3"), "answers must hold channel_3; it is missing. Run every prompt"),
        (lambda held: held.update(channel_3=held["channel_3"][:2]), r"answers must have shape .* for channel_3"),
        (lambda held: held.update(channel_3=np.array(["a"])), r"answers must have shape .* for channel_3"),
        (lambda held: held.update(channel_3=held["channel_3"][:, :-1]), r"answers must have shape .* for channel_3"),
        (
            lambda held: held.update(channel_3=np.pad(held["channel_3"], ((0, 0), (0, 999)))),
            r"answers must have shape .* of the probe's own tokens",
        ),
        (
            lambda held: held.update(channel_3=held["channel_3"] * np.nan),
            r"answers must be finite .* channel_3 has nan for token 18 in row 1\. Return all logits",
        ),
        (
            lambda held: held.update(channel_3=_softmax(held["channel_3"])),
            r"answers must be logits or log-probabilities; those of channel_3 sum to 1",
        ),
    ],
)
def test_a_missing_answer_is_named(change, message: str, folder: Path, answers: dict[str, object]) -> None:
    held = dict(answers)
    change(held)
    with pytest.raises(ValueError, match=message):
        read_probe(folder, held)


def test_bad_files_are_one_line(folder: Path, tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "whole.npz", **{f"channel_{channel}": np.eye(9) for channel in range(16)})
    whole = (tmp_path / "whole.npz").read_bytes()
    for name, content in (
        ("a.npz", b"PK\x03\x04"),
        ("b.npz", whole[: len(whole) // 2]),
        ("c.npz", whole[:60] + bytes(20) + whole[80:]),
        ("a.jsonl", b"{"),
        ("b.jsonl", b'{"name": "other"}'),
        ("a.pt", b""),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=r"^answers must "):
            read_probe(folder, tmp_path / name)
    with pytest.raises(TypeError, match=r"^answers must "):
        read_probe(folder, 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^folder must hold probe.json"):
        read_probe(tmp_path, {})
    for schema, version in (("other", 1), ("posenc.probe", 2)):
        (tmp_path / "probe.json").write_text(json.dumps({"schema": schema, "version": version}))
        with pytest.raises(ValueError, match=r"^folder must hold a probe of version 1"):
            read_probe(tmp_path, {})


@pytest.mark.parametrize(
    ("config", "options", "message"),
    [
        ({"model_type": "rwkv"}, {}, "config must be of a model type that a probe can be written for; got 'rwkv'"),
        (LLAMA, {"length": 0}, "length must be"),
        (LLAMA, {"layers": 5}, "layers must be"),
        ({**LLAMA, "model_type": "glm"}, {"gguf": True}, "gguf must be left out for this architecture"),
    ],
)
def test_what_cannot_be_written_leaves_nothing(config, options, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        write_probe(config, tmp_path / "probe", **options)
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"^folder must not exist yet"):
        write_probe(LLAMA, folder)
