"""Evidence that shows little, nothing, or two things at once: no verdict beyond what it shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from posenc import GridSinusoidal, RoPE
from posenc.diagnosis import Diagnosis, diagnose, preflight
from posenc.diagnosis.judge_masks import compare_mask
from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.named_arrays import MOST
from posenc.diagnosis.sets_in_words import set_in_words
from posenc.diagnosis.verdict import merged_diagnosis

DRAWN = np.random.default_rng(0)
FREQUENCIES = 1e4 ** (-np.arange(0, 8, 2) / 8)
ROPE = RoPE(8, pairing="halves")
LLAMA: dict[str, Any] = {
    "model_type": "llama", "head_dim": 8, "num_attention_heads": 2, "hidden_size": 16, "num_hidden_layers": 2
}  # fmt: skip
LLAMA4 = {"model_type": "llama4_text"}
Q, K = DRAWN.standard_normal((2, 64, 8))


def turned(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Pairs as halves, rotated by complex multiplication."""
    half = x.shape[-1] // 2
    rates = 1e4 ** (-np.arange(half) / half)
    y = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * positions[:, None] * rates)
    return np.concatenate([y.real, y.imag], -1)


def logits(q: np.ndarray = Q, k: np.ndarray = K, positions: np.ndarray | None = None) -> np.ndarray:
    at = np.arange(len(q)) if positions is None else positions
    return turned(q, at) @ turned(k, at).T / np.sqrt(q.shape[-1])


def causal(values: np.ndarray, seen: int | None = None) -> np.ndarray:
    distance = np.subtract.outer(*map(np.arange, values.shape))
    return np.where((distance < 0) | (distance >= (seen or len(values))), -np.inf, values)


def test_position_0_shows_nothing() -> None:
    x = Q[:1]
    both = {"q": x, "q_rotated": x, "k": x, "k_rotated": x}
    for shown in (both, {"q": x, "k": x, "probabilities": [[1.0]]}, {"q": x, "k": x, "logits": x @ x.T / np.sqrt(8)}):
        found = diagnose(RoPE(8, base=5e5), shown)
        assert (found.exit_code, found.looked_at) == (3, ())
    with pytest.raises(ValueError, match=r"^positions must hold others than 0"):
        diagnose(RoPE(64), {"cos": np.ones((1, 32)), "sin": np.zeros((1, 32))})


def test_positions_beyond_float32_are_refused() -> None:
    far = 120_000 + np.arange(64)
    with pytest.raises(ValueError, match=r"^actual must hold numbers that show a rotation; got logits"):
        diagnose(ROPE, {"q": Q, "k": K, "logits": logits(positions=far), "positions": far})
    near = 50_000 + np.arange(64)
    assert diagnose(ROPE, {"q": Q, "k": K, "logits": logits(positions=near), "positions": near}).agree


@pytest.mark.parametrize("factor", [np.nan, np.inf, -1.0])
def test_no_such_attention_factor_agrees(factor: float) -> None:
    found = diagnose(LLAMA, {"inv_freq": FREQUENCIES, "attention_factor": factor})
    assert not found.agree
    assert np.isfinite(factor) or [finding.name for finding in found.findings] == ["not finite"]


def test_a_stated_scale_is_compared_with_nothing() -> None:
    stated = {"q": Q, "k": K, "scale": 7.0, "logits": 7.0 * np.sqrt(8) * logits()}
    found = diagnose(LLAMA, stated)
    assert found.agree
    assert "softmax scale" not in found.looked_at
    assert "not compared: softmax scale: give q, k and logits without scale" in str(found)
    with pytest.raises(ValueError, match=r"^scale must be one number; got 2"):
        diagnose(LLAMA, stated | {"scale": [7.0, 9.0]})


def test_the_temperature_of_far_queries_is_compared() -> None:
    positions = 8191 + np.arange(32)
    q, k = DRAWN.standard_normal((2, 32, 128))
    there = {"q": q, "k": k, "positions": positions}
    tempered = q * (1 + 0.1 * np.log1p((positions + 1) // 8192))[:, None]
    found = diagnose(LLAMA4, there | {"logits": tempered @ k.T / np.sqrt(128)}, layer=3)
    assert found.agree
    assert "query temperature" in found.looked_at
    lost = diagnose(LLAMA4, there | {"logits": q @ k.T / np.sqrt(128)}, layer=3)
    assert [finding.name for finding in lost.findings] == ["query temperature"]
    assert "query temperature" in lost.looked_at
    near = diagnose(LLAMA4, {"q": q, "k": k, "logits": q @ k.T / np.sqrt(128)}, layer=3)
    assert near.agree
    assert "query temperature" not in near.looked_at


def test_a_mask_shows_chunks_only_across_their_border() -> None:
    q, k = DRAWN.standard_normal((2, 16, 128))
    rotated = RoPE(128, base=5e5).rotation(np.arange(16))
    within = causal(rotated(q) @ rotated(k).T / np.sqrt(128))
    assert "window" not in diagnose(LLAMA4, {"q": q, "k": k, "logits": within}, layer=0).looked_at
    chunked = LLAMA4 | {"attention_chunk_size": 8}
    across = np.where(np.subtract.outer(np.arange(16) // 8, np.arange(16) // 8) > 0, -np.inf, within)
    assert "window" in diagnose(chunked, {"q": q, "k": k, "logits": across}, layer=0).looked_at
    found = diagnose(chunked, {"q": q, "k": k, "logits": within}, layer=0)
    assert [finding.name for finding in found.findings] == ["window"]


def test_a_head_that_sees_less_is_named() -> None:
    both = np.stack([causal(logits()), causal(logits(), seen=2)])
    found = diagnose(LLAMA, {"q": np.stack([Q, Q]), "k": np.stack([K, K]), "logits": both})
    assert [(finding.name, finding.where) for finding in found.findings] == [("window", "head 1")]


def test_tokens_that_are_all_of_one_image_show_no_window() -> None:
    at, together = np.arange(4), np.ones((4, 4), bool)
    whole = compare_mask(None, together, at, at, True, together)
    assert (whole.agree, whole.looked_at) == (True, ())
    hidden = compare_mask(None, np.tril(together), at, at, True, together)
    assert [finding.name for finding in hidden.findings] == ["images masked"]


def test_nan_in_positions_is_named_beside_a_mask() -> None:
    positions = np.arange(64.0)
    positions[1] = np.nan
    found = diagnose(LLAMA, {"q": Q, "k": K, "logits": causal(logits()), "positions": positions})
    assert [finding.name for finding in found.findings] == ["not finite"]


def test_a_grid_in_hidden_states_is_read_off_rounded_rows() -> None:
    meant, places = GridSinusoidal(dims=(8, 8)), np.indices((6, 6)).reshape(2, -1).T
    table = np.asarray(meant.embed(places), np.float32)
    embeddings = DRAWN.standard_normal(table.shape).astype(np.float32)
    assert diagnose(meant, {"embeddings": embeddings, "hidden_states": embeddings + table}).agree
    exchanged = np.asarray(meant.embed(places[:, ::-1]), np.float32)
    wrong = diagnose(meant, {"embeddings": embeddings, "hidden_states": embeddings + exchanged})
    assert [finding.name for finding in wrong.findings] == ["axes exchanged"]


def test_arrays_that_nothing_reads_are_refused(tmp_path: Path) -> None:
    angles = np.arange(64)[:, None] * FREQUENCIES
    cos, sin = np.cos(angles), np.sin(angles)
    cache = {"cos_sin_cache": np.concatenate([cos, sin], 1)}
    for more, message in (
        ({"cos": sin, "sin": cos}, "^cos_sin_cache must come without cos and sin"),
        ({"positions": np.arange(64)}, "^positions must be left out with cos_sin_cache"),
        ({"attention_factor": 2.0}, "^attention_factor must come with inv_freq"),
    ):
        with pytest.raises(ValueError, match=message):
            diagnose(ROPE, cache | more)
    assert "the inv_freq that it holds" in str(diagnose(ROPE, cache | {"inv_freq": 9 * FREQUENCIES}))
    named = {"q": Q, "q_rotated": turned(Q, 5 + np.arange(64)), "position": 5 + np.arange(64)}
    large = np.zeros(MOST + 1, np.int8)  # which is not read to be refused
    np.savez_compressed(tmp_path / "misspelt.npz", **named, v=large)
    save_file({**named, "v": large}, tmp_path / "misspelt.safetensors")
    for file in ("misspelt.npz", "misspelt.safetensors"):
        with pytest.raises(ValueError, match=f"got position, v in {file}. Leave that out of the file, or rename it: "):
            diagnose(ROPE, tmp_path / file)


def test_frequencies_of_every_layer_count(tmp_path: Path) -> None:
    held = {f"layers.{layer}.inv_freq": FREQUENCIES for layer in range(3)} | {"w": np.zeros(2)}
    save_file(held, tmp_path / "alike.safetensors")
    assert diagnose(ROPE, tmp_path / "alike.safetensors").agree
    save_file(held | {"layers.2.inv_freq": 2 * FREQUENCIES}, tmp_path / "unlike.safetensors")
    with pytest.raises(ValueError, match=r"^actual must hold the same inv_freq in every layer; .* and layers\.2"):
        diagnose(ROPE, tmp_path / "unlike.safetensors")
    with pytest.raises(ValueError, match=r"^inv_freq must hold numbers; got a tensor on the meta device"):
        diagnose(ROPE, {"inv_freq": torch.ones(4, device="meta")})


def test_what_is_unexplained_shows_beside_a_named_mistake() -> None:
    named = Diagnosis(False, (Finding("base", "The base is 5 where 6 is meant.", "Set it to 6."),))
    merged = merged_diagnosis([named, Diagnosis(False, worst=("layer 1: off by 3",))])
    assert not merged.explained
    assert str(merged).splitlines()[-2:] == [
        "besides, they differ where none of the known mistakes explains it", "layer 1: off by 3"
    ]  # fmt: skip
    assert named.explained


def test_preflight_repairs_all_that_differs() -> None:
    meant = LLAMA | {"rope_theta": 5e5, "max_position_embeddings": 131_072}
    scaled = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32_768}
    assert preflight(meant | {"rope_scaling": scaled}, meant | {"rope_theta": 1e4}).to_write == (
        "rope_theta: 500000.0 in the served file, where it is 10000.0",
        "Set rope_scaling.rope_type to 'yarn'; set rope_scaling.factor to 4.0; "
        "set rope_scaling.original_max_position_embeddings to 32768.",
    )
    linear = {"rope_scaling": {"rope_type": "linear", "factor": 4.0}}
    (repair,) = preflight(meant | {"rope_scaling": scaled}, meant | linear).to_write
    assert repair.startswith("Set rope_scaling.rope_type to 'yarn', where it is 'linear'; set rope_scaling.original_")


def test_a_scale_of_logits_is_repaired_by_keys_of_the_file() -> None:
    """1/√(width · query_pre_attn_scalar/width): no file states the factor itself."""
    gemma = {"model_type": "gemma2", "head_dim": 32}
    found = preflight(gemma | {"query_pre_attn_scalar": 200}, gemma | {"query_pre_attn_scalar": 400})
    assert "Set it to 0.4: logits are q·k/√width times it; look at query_pre_attn_scalar" in found.to_write[0]
    llama4 = {"model_type": "llama4_text", "attn_temperature_tuning": True}
    found = preflight(llama4 | {"floor_scale": 8192}, llama4 | {"floor_scale": 16384})
    assert "attn_scale and floor_scale" in found.to_write[0]


def test_sets_of_numbers_end_where_the_words_say() -> None:
    assert set_in_words("head", [0, 2, 4], range(8)) == "heads 0, 2, 4"
    assert set_in_words("head", [0, 2, 4, 6], range(8)) == "every 2 heads, from 0 on"
    assert set_in_words("position", [0.25, 0.5, 0.75], [0.0, 0.25, 0.5, 0.75, 1.5]) == "positions 0.25 to 0.75"


@pytest.mark.parametrize("shift", [-5000, -1, 1])
@pytest.mark.parametrize("heads", [1, 3])
def test_a_shift_of_one_token_alone_is_no_harmless_one(shift: int, heads: int) -> None:
    q, k = (x[:1] + np.zeros((heads, 1, 1)) for x in (Q, K))
    at = np.array([5000])
    given = {"q": q, "k": k, "positions": at}

    def verdict(position: np.ndarray) -> Diagnosis:
        return diagnose(ROPE, given | {"q_rotated": turned(q, position), "k_rotated": turned(k, position)})

    assert verdict(at).agree
    assert not verdict(at + shift).agree
    assert verdict(at + shift).findings
    table = {name: wave((at + shift)[:, None] * FREQUENCIES) for name, wave in (("cos", np.cos), ("sin", np.sin))}
    assert not diagnose(ROPE, table | {"positions": at}).agree
    # Without stated positions nobody says which one it is.
    unstated = {"q": q, "k": k, "q_rotated": turned(q, at * 0 + 7), "k_rotated": turned(k, at * 0 + 7)}
    assert diagnose(ROPE, unstated).agree


@pytest.mark.parametrize(("model_type", "keys"), [
    ("gpt_neox", {"rotary_pct": 0.25}), ("glm", {"partial_rotary_factor": 0.5, "head_dim": 64}),
])  # fmt: skip
def test_frequencies_of_a_share_that_nothing_explains_are_shown(model_type: str, keys: dict[str, Any]) -> None:
    config = {"model_type": model_type, "hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 2, **keys}
    width = 16 if model_type == "gpt_neox" else 32
    rates = 1e4 ** (-np.arange(0, width, 2) / width)
    assert diagnose(config, {"inv_freq": rates}).agree
    rates[-1] *= 1.01
    verdict = diagnose(config, {"inv_freq": rates})
    assert verdict.exit_code == 1
    assert f"pair {width // 2 - 1}" in str(verdict)


def test_hidden_logits_do_not_dilute_the_share_that_differs():
    q, k = np.random.default_rng(0).normal(size=(2, 32, 16))
    hidden = np.triu(np.ones((32, 32), bool), 1)
    logits = np.where(hidden, -np.inf, 100 + np.random.default_rng(1).normal(size=(32, 32)) * 30)
    (line,) = diagnose(RoPE(dim=16), {"q": q, "k": k, "logits": logits}).worst
    assert line.endswith("; 100.0% of the numbers compared differ")
