"""Flags by which queries see later keys: notes on them, and no verdict that says more than what was compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from posenc.diagnosis import diagnose
from posenc.models import Window, diff, from_config, manifest
from posenc.models.notes import AsStated, Idle, NotRead

SIZES: dict[str, Any] = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 6, "head_dim": 16}
FLAG = "use_bidirectional_attention"
NO_MASK = "queries see later keys where attention takes no mask, as sdpa without padding, and not elsewhere"
IMAGES = "tokens of one image see each other"
MINE = "what mine does with it is not known here"
#: Configs, and what is noted on the flag that they state.
NOTED: list[tuple[dict[str, Any], type[str] | None, str]] = [
    ({"model_type": "llama", "is_causal": False}, AsStated, "is_causal = False: queries see later keys"),
    ({"model_type": "llama", "is_causal": True}, None, ""),
    ({"model_type": "llama", FLAG: True}, Idle, f"{FLAG} = True is not read by its class"),
    ({"model_type": "gemma", FLAG: True}, AsStated, f"{FLAG} = True: {NO_MASK}"),
    ({"model_type": "gemma2", FLAG: True}, AsStated, f"{FLAG} = True: {NO_MASK}"),
    ({"model_type": "gemma2", FLAG: False}, None, ""),
    ({"model_type": "vaultgemma", FLAG: True}, Idle, f"{FLAG} = True is not read by its class"),
    ({"model_type": "gemma3_text", FLAG: True}, None, ""),  # its windows show it
    ({"model_type": "mistral", "is_causal": False, "sliding_window": 8}, None, ""),
    ({"model_type": "gemma4_text", FLAG: "vision"}, AsStated, f"{FLAG} = 'vision': {IMAGES}"),
    ({"model_type": "mine", "rope_theta": 1e4, "is_causal": False}, NotRead, f"is_causal = False is not read: {MINE}"),
]  # fmt: skip


def read(config: dict[str, Any], **options: Any) -> Any:
    stated = {"stated": {"pairing": "halves"}} if config["model_type"] == "mine" else {}
    return from_config({**SIZES, **config}, **stated, **options)


@pytest.mark.parametrize(("config", "kind", "said"), NOTED, ids=[one[0]["model_type"] for one in NOTED])
def test_a_flag_is_noted_unless_a_window_shows_it(config: dict[str, Any], kind: type[str] | None, said: str) -> None:
    model = read(config)
    notes = [note for note in model.notes if FLAG in note or "is_causal" in note]
    assert [(type(note), str(note)) for note in notes] == ([] if kind is None else [(kind, said)])
    without = read({key: value for key, value in config.items() if key not in ("is_causal", FLAG)})
    found = diff(without, model)
    same = found.same and said in " ".join(found.not_compared) and bool(found.not_compared) == bool(said)
    assert same or (kind is None and not found.same), str(found)
    if kind in (AsStated, Idle):
        assert diff(model, model).not_compared == (), "both state it"
        assert [type(note) for note in from_config(manifest(model).to_dict()).idle] == [kind]


def test_a_flag_that_is_waived_is_named_as_waived() -> None:
    (note,) = read({"model_type": "llama", "is_causal": False}, waive=("is_causal",)).not_read
    assert "is_causal" in note
    assert "waived" in note


def test_a_default_of_a_class_is_the_same_as_the_value_in_a_file() -> None:
    unified = {"model_type": "gemma4_unified_text", "head_dim": 256}
    assert diff(read(unified), read({**unified, FLAG: "vision"})).not_compared == ()
    assert diff(read(unified), read({**unified, FLAG: None})).not_compared != ()
    text = {**SIZES, "model_type": "gemma", "vocab_size": 64}
    older, newer = (
        from_config({"model_type": "paligemma", "text_config": part}, waive=("vision_config",))
        for part in (text, {**text, FLAG: True})
    )
    assert diff(older, newer).not_compared == tuple(map(str, older.not_read))


def test_step_sees_as_many_keys_behind_as_before_where_it_says_so() -> None:
    step = {"model_type": "step3p5", "sliding_window": 8, "layer_types": ["sliding_attention"] * 6}
    windows = [read({**step, FLAG: both}).groups[0].window for both in (False, True)]
    assert windows == [Window(7), Window(7, 7)]


@pytest.mark.parametrize(("flags", "agree"), [({}, False), ({"is_causal": False}, True)])
def test_weights_of_later_keys_are_no_mistake_where_a_flag_shows_them(flags: dict[str, Any], agree: bool) -> None:
    config = {**SIZES, "model_type": "llama", "num_hidden_layers": 1, **flags}
    draw, rates = np.random.default_rng(0), 1e4 ** (-np.arange(8) / 8)
    q, k = draw.normal(size=(2, 4, 12, 16))
    angles = np.exp(1j * np.arange(12)[:, None] * rates)
    turned = [(x[..., :8] + 1j * x[..., 8:]) * angles for x in (q, k)]
    weights = np.exp(np.einsum("hid,hjd->hij", turned[0], turned[1].conj()).real / 4.0)
    found = diagnose(config, {"q": q, "k": k, "probabilities": weights / weights.sum(-1, keepdims=True)})
    assert found.agree is agree, str(found)
