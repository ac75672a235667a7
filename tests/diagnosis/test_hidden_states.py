"""Hidden states: sinusoids and rows of a learned table that were added to embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from posenc import Sinusoidal
from posenc.diagnosis import diagnose
from posenc.inspect.rounding import to_bfloat16

RANDOM = np.random.default_rng(0)
EMBEDDINGS = RANDOM.standard_normal((60, 32)).astype(np.float32)
TABLE = RANDOM.standard_normal((128, 32)).astype(np.float32) * 0.02
GPT2 = {"model_type": "gpt2", "n_embd": 32, "n_head": 4, "n_layer": 2, "n_positions": 128, "vocab_size": 100}
OPT = {
    "model_type": "opt", "hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2, "word_embed_proj_dim": 32,
    "max_position_embeddings": 126, "vocab_size": 100, "ffn_dim": 64,
}  # fmt: skip


def sinusoids(base: float = 1e4, start: int = 0) -> np.ndarray:
    angle = (np.arange(60) + start)[:, None] / base ** (np.arange(0, 32, 2) / 32)
    return np.stack([np.sin(angle), np.cos(angle)], -1).reshape(60, 32)


def added(vectors: np.ndarray, **more: Any) -> dict[str, Any]:
    return {"embeddings": EMBEDDINGS, "hidden_states": (EMBEDDINGS + vectors).astype(np.float32), **more}


def rows(numbers: Any) -> dict[str, Any]:
    return added(TABLE[numbers], table=TABLE)


def in_bfloat16(there: dict[str, Any]) -> dict[str, Any]:
    """The same as a model in bfloat16 computes it, held in float32."""
    narrow = {name: to_bfloat16(array) for name, array in there.items()}
    return narrow | {"hidden_states": to_bfloat16(there["hidden_states"])}


TOKENS = np.arange(60)
FAR = np.arange(240, 300)
LONG_OPT = OPT | {"max_position_embeddings": 510}
LONG_TABLE = RANDOM.standard_normal((512, 32)).astype(np.float32) * 0.02


def far_rows(numbers: Any) -> dict[str, Any]:
    return added(LONG_TABLE[numbers.astype(int)], table=LONG_TABLE, positions=FAR)


CASES: dict[str, tuple[Any, dict[str, Any], list[str]]] = {
    "sinusoids": (Sinusoidal(32), added(sinusoids()), []),
    "sinusoids beside large embeddings": (Sinusoidal(32), {"embeddings": EMBEDDINGS * 20,
        "hidden_states": (EMBEDDINGS * 20 + sinusoids()).astype(np.float32)}, []),
    "sinusoids of another base": (Sinusoidal(32), added(sinusoids(1e3)), ["base"]),
    "sinusoids from 1": (Sinusoidal(32), added(sinusoids(start=1)), ["off by one"]),
    "rows": (GPT2, rows(TOKENS), []),
    "rows from the third": (OPT, rows(TOKENS + 2), []),
    "rows from the first where the third is meant": (OPT, rows(TOKENS), ["offset of a table"]),
    "rows read again": (GPT2, rows(TOKENS % 40), ["rows that are read"]),
    "rows twice": (GPT2, added(2 * TABLE[TOKENS], table=TABLE), ["table added twice"]),
    "no rows": (GPT2, added(0 * TABLE[TOKENS], table=TABLE), ["table not added"]),
    "rows in bfloat16": (GPT2, in_bfloat16(rows(TOKENS)), []),
    "rows from the first, in bfloat16": (OPT, in_bfloat16(rows(TOKENS)), ["offset of a table"]),
    "no rows in bfloat16": (GPT2, in_bfloat16(added(0 * TABLE[TOKENS], table=TABLE)), ["table not added"]),
    "far rows": (LONG_OPT, far_rows(FAR + 2), []),
    "positions in bfloat16": (LONG_OPT, far_rows(to_bfloat16(FAR) + 2), ["narrow positions"]),
    "rows in bfloat16 positions": (LONG_OPT, far_rows(to_bfloat16(FAR + 2)), ["narrow positions"]),
    "NaN": (GPT2, rows(TOKENS) | {"table": np.full((128, 32), np.nan)}, ["not finite"]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_was_added_is_compared(case: str) -> None:
    meant, there, names = CASES[case]
    found = diagnose(meant, there)
    assert found.agree == (not names), str(found)
    assert [finding.name for finding in found.findings] == names


def test_rows_of_a_batch_are_counted_each_from_its_own_first() -> None:
    embeddings = EMBEDDINGS[:20].reshape(2, 10, 32)
    there = {"embeddings": embeddings, "hidden_states": embeddings + TABLE[:10], "table": TABLE}
    assert diagnose(GPT2, there).agree
    assert diagnose(GPT2, there | {"positions": np.arange(10)}).agree
    assert not diagnose(GPT2, there | {"positions": np.arange(20)}).agree


def test_rows_of_no_table_differ() -> None:
    found = diagnose(GPT2, added(sinusoids(), table=TABLE))
    assert (found.agree, found.findings) == (False, ())
    assert "the nearest of the table" in str(found)


@pytest.mark.parametrize(
    ("meant", "arrays", "message"),
    [
        (Sinusoidal(32), {"hidden_states": EMBEDDINGS}, "^embeddings must come with hidden_states"),
        (Sinusoidal(32), added(sinusoids()) | {"embeddings": EMBEDDINGS.astype(np.float16)}, "^hidden_states must be"),
        (Sinusoidal(32), in_bfloat16(added(sinusoids())), "^hidden_states must be float32"),
        (GPT2, in_bfloat16(added(1e-4 * TABLE[:60], table=1e-4 * TABLE)), "^hidden_states must be float32"),
        (GPT2, added(TABLE[:60]), "^table must be the learned table"),
        (GPT2, rows(TOKENS) | {"positions": [0, 1]}, "^positions must have a number for each of 60 tokens"),
    ],
)
def test_bad_input_is_named(meant: Any, arrays: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        diagnose(meant, arrays)


def test_a_table_shows_nothing_of_what_attention_does() -> None:
    found = diagnose(GPT2, rows(TOKENS))
    assert found.verdict == "agree in what was compared"
    assert any("causal mask" in line for line in found.not_shown), str(found)
