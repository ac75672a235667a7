"""Keys that say which keys a query sees, and that no window holds: two files with other values do not agree in all."""

from __future__ import annotations

from typing import Any

import pytest

from posenc.diagnosis import diagnose, preflight
from posenc.models import diff, from_config
from posenc.models.config.sight_keys import SIGHT_KEYS

BERT, QWEN = {"model_type": "bert"}, {"model_type": "qwen2_5_vl_vision"}
#: A value that no class has of itself.
OTHERS: dict[str, Any] = {
    "attention_type": "original_full",
    "encoder_attention_type": "transient-global",
    "fullatt_block_indexes": [7, 15, 31],
    "window_block_indices": [0, 1],
}


def other(usual: Any) -> Any:
    return not usual if isinstance(usual, bool) else usual + 2


@pytest.mark.parametrize(
    ("model_type", "key"), [(model_type, key) for model_type, keys in SIGHT_KEYS.items() for key in keys]
)
def test_two_files_with_another_value_do_not_agree_in_everything(model_type: str, key: str):
    usual = SIGHT_KEYS[model_type][key]
    silent, changed = {"model_type": model_type, "pad_token_id": 1}, OTHERS[key] if key in OTHERS else other(usual)
    written = {**silent, key: list(usual) if isinstance(usual, tuple) else usual}
    assert diff(from_config(silent), from_config(written)).verdict.startswith("agree in everything")
    for first, second in ((silent, {**silent, key: changed}), ({**silent, key: changed}, written)):
        difference = diff(from_config(first), from_config(second))
        assert difference.verdict == "agree in what was compared"
        (said,) = difference.not_compared
        assert said.startswith(f"{key} = ")
        assert said.endswith("alone)")
        assert diagnose(first, second).exit_code == 3
    same = {**silent, key: changed}
    assert diff(from_config(same), from_config(same)).verdict.startswith("agree in everything")


def test_a_note_says_what_follows_and_lists_differ_at_their_end():
    (said,) = diagnose(BERT, BERT | {"is_decoder": True}).not_compared
    assert said == "is_decoder = True: queries see no later keys (the second alone)"
    one, two = (QWEN | {"fullatt_block_indexes": [*range(40), last]} for last in (50, 51))
    assert len(diff(from_config(one), from_config(two)).not_compared) == 2


def test_preflight_finds_windows_of_a_vision_tower():
    whole = {"model_type": "qwen2_5_vl", "text_config": {"model_type": "qwen2_5_vl_text"}, "vision_config": QWEN}
    result = preflight(whole, whole | {"vision_config": QWEN | {"window_size": 56}})
    assert result.exit_code == 3
    assert "vision_config.window_size = 56: which keys a query sees follows from it (the second alone)" in str(result)
