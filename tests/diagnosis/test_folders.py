"""Two folders of one model: rows of queries and keys next to what the configs say, and what a conversion wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from posenc.cli.explain_config import explain_config
from posenc.diagnosis import diagnose
from posenc.models import from_config, head_shapes
from posenc.models.checkpoints.conversion import RECEIPT, convert_checkpoint
from posenc.models.checkpoints.conversion_plan import plan_conversion

CONFIG: dict[str, Any] = {
    "model_type": "qwen3", "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
    "num_hidden_layers": 2, "max_position_embeddings": 512, "rope_theta": 1e6,
}  # fmt: skip
DEEPSEEK: dict[str, Any] = {
    "model_type": "deepseek_v3", "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 4,
    "num_hidden_layers": 1, "max_position_embeddings": 512, "rope_theta": 1e4, "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 16, "v_head_dim": 8, "kv_lora_rank": 8, "q_lora_rank": 8, "rope_interleave": True,
}  # fmt: skip


def drawn(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def weights() -> dict[str, np.ndarray]:
    """Queries, keys, values and norms of two layers."""
    found = {}
    for layer in range(2):
        for seed, (name, shape) in enumerate(
            {"q_proj": (64, 64), "k_proj": (32, 64), "v_proj": (32, 64), "q_norm": (16,), "k_norm": (16,)}.items()
        ):
            found[f"model.layers.{layer}.self_attn.{name}.weight"] = drawn(*shape, seed=10 * layer + seed)
    return found


def folder(path: Path, tensors: dict[str, np.ndarray], config: dict[str, Any] = CONFIG) -> Path:
    path.mkdir()
    (path / "config.json").write_text(json.dumps(config))
    (path / "tokenizer.json").write_text("{}")
    save_file(tensors, path / "model.safetensors")
    return path


def to_adjacent(rows: np.ndarray, width: int = 16) -> np.ndarray:
    """Rows of halves, head by head, as rows of neighbours."""
    return rows.reshape(-1, 2, width // 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def changed(kinds: tuple[str, ...], change: Any) -> dict[str, np.ndarray]:
    return {name: change(rows) if any(kind in name for kind in kinds) else rows for name, rows in weights().items()}


def names(found: Any) -> list[str]:
    return [finding.name for finding in found.findings]


ROTARY = ("q_proj", "k_proj", "q_norm", "k_norm")
CASES: dict[str, tuple[dict[str, np.ndarray], list[str]]] = {
    "nothing": (weights(), []),
    "rounded": (changed(ROTARY, lambda rows: rows.astype(np.float16)), []),
    "everything reordered": (changed(ROTARY, to_adjacent), ["order of rows"]),
    "everything but norms": (changed(ROTARY[:2], to_adjacent), ["order of rows", "norm left behind"]),
    "keys as if there were four": (changed(("k_proj",), lambda rows: to_adjacent(rows, 8)), ["order of rows"]),
}


@pytest.mark.parametrize("case", CASES)
def test_rows_are_compared(case: str, tmp_path: Path) -> None:
    tensors, expected = CASES[case]
    found = diagnose(folder(tmp_path / "one", weights()), folder(tmp_path / "other", tensors))
    assert found.agree == (not expected), str(found)
    assert names(found) == expected
    assert "rows of 10 tensors of attention" in found.compared


def test_a_table_that_one_folder_lacks_is_named(tmp_path: Path) -> None:
    config = {"model_type": "gpt2", "n_embd": 64, "n_head": 4, "n_layer": 1, "n_positions": 32}
    rows = {"transformer.h.0.attn.c_attn.weight": drawn(64, 192)}
    with_table = {**rows, "transformer.wpe.weight": drawn(32, 64)}
    for number, (first, second, said) in enumerate((
        (with_table, rows, "transformer.wpe.weight in the first alone"),
        (rows, with_table, "transformer.wpe.weight in the second alone"),
        ({**rows, "wpe.weight": drawn(32, 64)}, with_table, None),
    )):  # fmt: skip
        found = diagnose(folder(tmp_path / f"{number}", first, config), folder(tmp_path / f"{number}s", second, config))
        assert found.agree
        assert found.exit_code == (0 if said is None else 3), str(found)
        assert said is None or said in str(found)


def test_norms_of_ones_lie_in_any_order(tmp_path: Path) -> None:
    """As a fresh model has them: they were not left behind by weights that moved."""
    ones = {name: np.ones_like(rows) for name, rows in weights().items() if "norm" in name}
    moved = changed(ROTARY[:2], to_adjacent) | ones
    found = diagnose(folder(tmp_path / "one", weights() | ones), folder(tmp_path / "other", moved))
    assert names(found) == ["order of rows"]


QUERIES = "model.layers.0.self_attn.q_proj"
TOWER = "vision_tower.layers.0.self_attn.k_proj.weight"
ROWS_AND_CONFIGS: dict[str, tuple[dict[str, np.ndarray], dict[str, np.ndarray], list[str]]] = {
    "a tensor that is no query or key": (
        {"model.embed_tokens.weight": drawn(7, 64)}, {"model.embed_tokens.weight": drawn(7, 64)[::-1].copy()}, []),
    "a tensor of one folder alone": ({TOWER: drawn(32, 64)}, {}, []),
    "a tower as it was": ({TOWER: drawn(32, 64)}, {TOWER: drawn(32, 64)}, []),
    "a tower reordered": ({TOWER: drawn(32, 64)}, {TOWER: to_adjacent(drawn(32, 64))}, ["tower reordered"]),
    "a tower of another model": ({TOWER: drawn(32, 64)}, {TOWER: drawn(32, 64) + 1}, []),
    "a tower of another size": ({TOWER: drawn(32, 64)}, {TOWER: drawn(16, 64)}, []),
    "a bias left behind": (
        {f"{QUERIES}.bias": drawn(64)},
        {**changed(ROTARY, to_adjacent), f"{QUERIES}.bias": drawn(64)},
        ["order of rows", "bias left behind"]),
    "a scale left behind": (
        {f"{QUERIES}.weight_scale": drawn(64)},
        {**changed(ROTARY, to_adjacent), f"{QUERIES}.weight_scale": drawn(64)},
        ["order of rows", "scale left behind"]),
    "whole numbers reordered": (
        {f"{QUERIES}.weight": np.arange(64 * 64, dtype=np.int32).reshape(64, 64)},
        {**changed(ROTARY, to_adjacent),
            f"{QUERIES}.weight": to_adjacent(np.arange(64 * 64, dtype=np.int32).reshape(64, 64))},
        ["order of rows"]),
    "a shape that fits no head": ({f"{QUERIES}.weight": drawn(60, 64)}, {f"{QUERIES}.weight": drawn(60, 64)}, []),
    "a shape of another model": ({f"{QUERIES}.weight": drawn(64, 64)}, {f"{QUERIES}.weight": drawn(64, 32)}, []),
}  # fmt: skip


@pytest.mark.parametrize("case", ROWS_AND_CONFIGS)
def test_tensors_beside_the_weights_are_told_apart(case: str, tmp_path: Path) -> None:
    first, second, expected = ROWS_AND_CONFIGS[case]
    found = diagnose(folder(tmp_path / "one", weights() | first), folder(tmp_path / "other", weights() | second))
    assert names(found) == expected, str(found)
    assert found.agree == (not expected)


def test_bfloat16_is_compared_with_the_float32_that_it_was_rounded_from(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file as save

    one = folder(tmp_path / "one", weights())
    for name, change, expected in (("same", lambda rows: rows, []), ("moved", to_adjacent, ["order of rows"])):
        other = folder(tmp_path / name, weights())
        rounded = {key: torch.from_numpy(change(rows).copy()).bfloat16() for key, rows in weights().items()}
        kept = {key: rounded[key] if any(kind in key for kind in ROTARY) else torch.from_numpy(rows)
                for key, rows in weights().items()}  # fmt: skip
        save(kept, other / "model.safetensors")
        assert names(diagnose(one, other)) == expected


def test_weights_of_another_model_show_no_order(tmp_path: Path) -> None:
    other = changed(ROTARY, lambda rows: rows + 1)
    found = diagnose(folder(tmp_path / "one", weights()), folder(tmp_path / "other", other))
    assert found.agree
    assert "8 tensors of other numbers" in str(found)


def converted(tmp_path: Path, config: dict[str, Any], tensors: dict[str, np.ndarray], source: Any, target: Any) -> Path:
    folder(tmp_path / "original", tensors, config)
    return convert(tmp_path / "original", tmp_path / "converted", source, target)


def convert(original: Path, new: Path, source: Any, target: Any, **options: Any) -> Path:
    plan = plan_conversion(original, source=source, target=target, heads=head_shapes(original), **options)
    convert_checkpoint(plan, new)
    return new


def test_a_converted_folder_says_what_it_is(tmp_path: Path) -> None:
    there = converted(tmp_path, CONFIG, weights(), "halves", "adjacent")
    assert json.loads((there / "config.json").read_text())["model_type"] == "qwen3-adjacent-pairs"
    assert (there / "tokenizer.json").read_text() == "{}"
    found = diagnose(tmp_path / "original", there)
    assert found.agree, str(found)
    positions = from_config(there)
    assert {group.pairing for group in positions.groups} == {"adjacent"}
    assert "qwen3-adjacent-pairs is a qwen3 whose rows posenc converted" in positions.notes[0]


def test_rows_that_lie_as_their_type_has_them_get_its_name(tmp_path: Path) -> None:
    """Converted back, or rows that never were as the config says: every loader of the type reads the result."""
    there = converted(tmp_path, CONFIG, weights(), "halves", "adjacent")
    back = convert(there, tmp_path / "back", "adjacent", "halves")
    waived = {"source": "adjacent", "target": "halves", "waive": ("pairing",)}
    mended = convert(tmp_path / "original", tmp_path / "mended", **waived)
    for new in (back, mended):
        assert json.loads((new / "config.json").read_text()) == CONFIG


def test_explaining_converted_rows_under_the_old_config_says_so(tmp_path: Path) -> None:
    there = converted(tmp_path, CONFIG, weights(), "halves", "adjacent")
    (there / "config.json").write_text(json.dumps(CONFIG))
    notes = explain_config(str(there), length=None, waive=()).facts()["notes"]
    assert any("converted to pairs that lie adjacent, and the config says halves" in note for note in notes)


def test_a_converted_type_whose_pairs_cannot_lie_so_is_refused() -> None:
    with pytest.raises(ValueError, match="model_type must be that of a model whose pairs can lie adjacent"):
        from_config({"model_type": "bert-adjacent-pairs"})


def test_the_old_config_beside_converted_rows_is_named(tmp_path: Path) -> None:
    there = converted(tmp_path, CONFIG, weights(), "halves", "adjacent")
    (there / "config.json").write_text(json.dumps(CONFIG))
    assert names(diagnose(tmp_path / "original", there)) == ["converted rows under the old config"]
    assert names(diagnose(CONFIG, there)) == ["converted rows under the old config"]
    (there / RECEIPT).unlink()  # the rows alone show it too
    assert names(diagnose(tmp_path / "original", there)) == ["order of rows"]


def test_a_config_that_can_say_the_layout_says_it(tmp_path: Path) -> None:
    tensors = {
        "model.layers.0.self_attn.q_b_proj.weight": drawn(96, 8),
        "model.layers.0.self_attn.kv_a_proj_with_mqa.weight": drawn(24, 64),
    }
    there = converted(tmp_path, DEEPSEEK, tensors, "adjacent", "halves")
    assert json.loads((there / "config.json").read_text()) == DEEPSEEK | {"rope_interleave": False}
    found = diagnose(tmp_path / "original", there)
    assert found.agree, str(found)
    (there / "config.json").write_text(json.dumps(DEEPSEEK))
    assert names(diagnose(tmp_path / "original", there)) == ["converted rows under the old config"]
    moved = load_file(there / "model.safetensors")
    assert not np.array_equal(moved["model.layers.0.self_attn.q_b_proj.weight"], tensors[next(iter(tensors))])


def test_a_source_that_the_config_contradicts_is_refused(tmp_path: Path) -> None:
    original = folder(tmp_path / "original", weights())
    options: dict[str, Any] = {"source": "adjacent", "target": "halves", "heads": head_shapes(CONFIG)}
    with pytest.raises(
        ValueError, match=r"source must be 'halves', the layout that config\.json states; .*waive 'pairing'"
    ):
        plan_conversion(original, **options)
    assert plan_conversion(original, **options, waive=("pairing",)).source == "adjacent"


def test_a_converted_folder_converts_back(tmp_path: Path) -> None:
    there = converted(tmp_path, CONFIG, weights(), "halves", "adjacent")
    plan = plan_conversion(there, source="adjacent", target="halves", heads=head_shapes(CONFIG))
    convert_checkpoint(plan, tmp_path / "back")
    back = load_file(tmp_path / "back" / "model.safetensors")
    assert all(np.array_equal(back[name], rows) for name, rows in weights().items())
    with pytest.raises(ValueError, match="source must be 'adjacent'"):
        plan_conversion(there, source="halves", target="adjacent", heads=head_shapes(CONFIG))


def test_one_projection_of_persimmon_has_groups_of_heads(tmp_path: Path) -> None:
    """transformers reads it as (heads, 3, width): q, k and v of one head, then those of the next."""
    config = {
        "model_type": "persimmon", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 1,
        "max_position_embeddings": 512, "rope_theta": 1e4, "partial_rotary_factor": 0.5, "qk_layernorm": True,
    }  # fmt: skip
    name = "model.layers.0.self_attn.query_key_value.weight"
    heads = drawn(192, 64).reshape(4, 3, 16, 64)
    original = folder(tmp_path / "original", {name: heads.reshape(192, 64)}, config)
    exchanged = heads.copy()
    exchanged[[0, 1], 1] = heads[[1, 0], 1]
    wrong = folder(tmp_path / "wrong", {name: exchanged.reshape(192, 64)}, config)
    assert "k 0 and k 1 exchanged" in str(diagnose(original, wrong))
    heads[:, :2, :8] = to_adjacent(heads[:, :2, :8].reshape(64, 64), 8).reshape(4, 2, 8, 64)
    adjacent = config | {"model_type": "persimmon-adjacent-pairs"}
    there = folder(tmp_path / "adjacent", {name: heads.reshape(192, 64)}, adjacent)
    assert diagnose(original, there).agree
