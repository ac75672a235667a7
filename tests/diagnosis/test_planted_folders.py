"""Mistakes planted in folders of many families are named beside the right folder, and harmless changes are not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from diagnosis.tiny_folders import (
    FAMILIES,
    Tensors,
    by_channel,
    by_head,
    changed,
    copied,
    mistakes,
    save_each,
    tensors_of,
)
from every import every
from posenc.diagnosis import diagnose

pytest.importorskip("transformers")
EVERYTHING = "agree in everything that this evidence can show"
#: Families of which another one lies alike.
ALIKE = ("qwen2", "olmo2", "glm", "bart", "bert", "falcon", "bloom", "stablelm")
BY_DAY = [pytest.param(name, marks=pytest.mark.nightly) if name in ALIKE else name for name in FAMILIES]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("families")
    save_each(path)
    return path


@pytest.mark.parametrize("family", BY_DAY)
def test_every_planted_mistake_is_named(family: str, root: Path, tmp_path: Path) -> None:
    numbers = count()

    def check(mistake: tuple[str, str, Tensors]) -> None:
        _, finding, tensors = mistake
        found = diagnose(root / family, copied(root / family, tensors, tmp_path / str(next(numbers))))
        assert not found.agree
        assert finding in {one.name for one in found.findings}, str(found)

    every(((words, name, tensors) for words, tensors, name in mistakes(family, tensors_of(root / family))), check)


def harmless(family: str, tensors: Tensors) -> Iterator[tuple[str, Tensors]]:
    yield "nothing", tensors
    yield "float16", {name: rows.astype(np.float16) for name, rows in tensors.items()}
    upper = {name: rows.view(np.uint32) + 0x8000 & 0xFFFF0000 for name, rows in tensors.items()}
    yield "bfloat16 and back", {name: rows.astype(np.uint32).view(np.float32) for name, rows in upper.items()}
    words = "model."
    yield "another class", {name[6:] if name.startswith(words) else words + name: r for name, r in tensors.items()}
    yield "a tied head", tensors | {"lm_head.weight": np.zeros((12, 64), np.float32)}
    kind = FAMILIES[family]
    if len(kind.modules) == 4 and family not in ("bert", "t5", "olmo2"):  # biases of heads, and norms of all heads
        q, k, v, o = kind.modules
        groups = [1, 0, *range(2, kind.kv_heads)]
        each = 8 // kind.kv_heads
        heads = [group * each + one for group in groups for one in range(each)]
        moved = changed(tensors, lambda rows: by_head(rows, 8, heads), q)
        moved = changed(moved, lambda rows: by_head(rows, kind.kv_heads, groups), k, v)
        yield "all heads together", changed(moved, lambda r: by_head(r.T, 8, heads).T if r.ndim == 2 else r, o)


@pytest.mark.parametrize("family", BY_DAY)
def test_harmless_changes_are_no_mistakes(family: str, root: Path, tmp_path: Path) -> None:
    numbers = count()

    def check(change: tuple[str, Tensors]) -> None:
        words, tensors = change
        shards = 3 if words == "nothing" else 1
        found = diagnose(root / family, copied(root / family, tensors, tmp_path / str(next(numbers)), shards))
        assert found.verdict == EVERYTHING, str(found)

    every(harmless(family, tensors_of(root / family)), check)


def test_a_folder_beside_a_config_says_that_no_rows_were_compared(root: Path) -> None:
    found = diagnose(root / "llama" / "config.json", root / "llama")
    assert found.agree
    assert found.not_shown == (
        "order of rows: give the folder with its weights, then the other folder or a .gguf file",
    )
    assert found.exit_code == 3


def test_tensors_that_only_one_folder_has_are_named(root: Path, tmp_path: Path) -> None:
    tensors = {name: rows for name, rows in tensors_of(root / "llama").items() if ".1.self_attn.q" not in name}
    found = diagnose(root / "llama", copied(root / "llama", tensors, tmp_path / "other"))
    assert "1 tensor of attention in the first alone, model.layers.1.self_attn.q_proj.weight first" in str(found)
    assert found.exit_code == 3


def test_what_is_said_can_be_acted_on(root: Path, tmp_path: Path) -> None:
    """Sentences of one mistake of each kind."""
    said = {
        ("qwen3", "heads 3 and 5 of q"): "another order: head 3 and head 5 exchanged; those of the keys are right.",
        ("phi", "the whole head"): "pairs from halves to adjacent over all 16 channels of a head, of which 8 rotate",
        (
            "llama",
            "q of another layer",
        ): "layer 0 holds q_proj.weight of layer 1; layer 1 holds q_proj.weight of layer 0",
        ("bert", "projections"): "query holds the rows of key",
        ("gpt_neox", "the other order"): "all queries, then all keys, then all values, in place of each group",
        ("gpt2", "the other order"): "each group of heads with its own q, k and v, in place of all queries",
        ("gpt_neox", "16 channels of q"): "of a head, of which 4 rotate in every q, where",
        ("llama", "some rows lost"): "other numbers in 8 of 64 rows, row 56 first",
        ("llama", "keys with 8 heads"): "with 8 heads in place of 4: a wrong number of heads",
        ("opt", "table two late"): "has 34 rows, shifted by 2: row 2 holds row 0 of the first.",
        ("opt", "table without its offset"): "has 32 rows where 34 are meant, shifted by 2: row 0 holds row 2 of the",
        ("bert", "half a table"): "has 32 rows, of which 16 are those of the first; from row 16 on it holds other",
        ("t5", "heads of a bias"): "are in another order: head 1 is head 2 of the first.",
    }

    def check(case: tuple[tuple[str, str], str]) -> None:
        (family, words), sentence = case
        planted = {name: tensors for name, tensors, _ in mistakes(family, tensors_of(root / family))}
        other = copied(root / family, planted[words], tmp_path / f"{family} {words}")
        assert sentence in str(diagnose(root / family, other)), str(diagnose(root / family, other))

    every(said.items(), check)


def test_channels_of_layers_that_do_not_rotate_may_move_in_queries_and_keys_alike(root: Path, tmp_path: Path) -> None:
    """As a converter moves them in every layer; and posenc convert leaves them."""
    config = json.loads((root / "llama" / "config.json").read_text())
    config |= {"model_type": "smollm3", "no_rope_layers": [1, 0]}
    tensors, order = tensors_of(root / "llama"), np.arange(8).reshape(2, -1).T.ravel()

    def found(name: str, layer: int, *modules: str) -> str:
        own = {key: rows for key, rows in tensors.items() if f".{layer}." in key}
        moved = tensors | changed(own, lambda rows: by_channel(rows, 8, order), *modules)
        folders = [
            copied(root / "llama", one, tmp_path / f"{name} {side}") for side, one in enumerate((tensors, moved))
        ]
        for folder in folders:
            (folder / "config.json").write_text(json.dumps(config))
        return str(diagnose(*folders))

    assert "note: 2 tensors were reordered together, which changes nothing" in found("both", 1, "q_proj", "k_proj")
    assert "those of the keys are right" in found("queries", 1, "q_proj")
    assert "(2 tensors) were reordered, pairs from halves" in found("a layer that rotates", 0, "q_proj", "k_proj")
