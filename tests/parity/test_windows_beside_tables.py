"""Windows of models that add positions before their layers: the keys that live layers let a query see."""

from __future__ import annotations

from typing import Any

import pytest
import torch

pytest.importorskip("transformers")

from transformers import AutoConfig, AutoModel

from posenc.diagnosis import diagnose
from posenc.models import Window, diff, from_config

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
LENGTH, QUERY = 24, 12
SMALL = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 32, "pad_token_id": 1}
NEO = {"model_type": "gpt_neo", "num_layers": 1, "num_heads": 2, "attention_types": [[["local"], 1]], **SMALL}
LONG = {"model_type": "longformer", "num_hidden_layers": 1, "num_attention_heads": 2, **SMALL}
LED = {
    "model_type": "led", "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
    "decoder_attention_heads": 2, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "vocab_size": 64,
}  # fmt: skip
#: A config, and the keys that give it another window.
WINDOWED = [
    (NEO | {"window_size": 5}, {"window_size": 3}),
    (NEO | {"window_size": 5}, {"attention_types": [[["global"], 1]]}),
    (LONG | {"attention_window": 8}, {"attention_window": [4]}),
    (LED | {"attention_window": [8]}, {"attention_window": 4}),
]


def reach(config: dict[str, Any]) -> tuple[int, int]:
    """How far before and behind it a query of a live model of one layer sees keys."""
    torch.manual_seed(0)
    model = AutoModel.from_config(AutoConfig.for_model(**config)).eval()
    model = model.get_encoder() if config["model_type"] == "led" else model
    tokens = torch.arange(LENGTH)[None] + 10
    with torch.no_grad():
        meant = model(tokens)[0][0, QUERY]
        seen = []
        for key in range(LENGTH):
            other = tokens.clone()
            other[0, key] = 5
            seen += [key] if float((model(other)[0][0, QUERY] - meant).abs().max()) > 1e-6 else []
    return QUERY - min(seen), max(seen) - QUERY


@pytest.mark.parametrize(("config", "other"), WINDOWED)
def test_windows_are_read_as_live_layers_have_them_and_others_differ(config: dict[str, Any], other: dict[str, Any]):
    for stated in (config, config | other):
        window = next(group.window for group in from_config(stated).groups if group.layers)
        assert reach(stated) == ((QUERY, 0) if window is None else (window.before, window.after))
    assert isinstance(next(group.window for group in from_config(config).groups if group.layers), Window)
    assert diff(from_config(config), from_config(config | other)).verdict == "differ"
    assert [finding.name for finding in diagnose(config, config | other).findings] == ["window"]


def test_a_list_of_one_number_for_every_layer_is_that_number():
    assert diagnose(LONG | {"attention_window": 8}, LONG | {"attention_window": [8]}).exit_code == 0


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (
            NEO | {"attention_types": [[["global"], 2]]},
            r"attention_types must say for 1 layers whether they are global",
        ),
        (NEO | {"attention_types": [[["near"], 1]]}, r"attention_types must say for 1 layers"),
        (NEO | {"attention_types": [[[], 1 << 40]]}, r"attention_types must say for 1 layers"),
        (NEO | {"attention_types": [[["global"], 1 << 40], [["global"], 1 - (1 << 40)]]}, r"attention_types must"),
        (NEO | {"attention_types": [[["global"], -1], [["global"], 1]]}, r"attention_types must say for 1 layers"),
        (NEO | {"attention_types": 1}, r"attention_types must say for 1 layers"),
        (LONG | {"attention_window": [8, 8]}, r"attention_window must be an even number, or one for each of 1 layers"),
        (LONG | {"attention_window": 7}, r"attention_window must be an even number"),
    ],
)
def test_windows_that_no_layers_can_have_are_refused(config: dict[str, Any], words: str):
    with pytest.raises(ValueError, match=f"^{words}"):
        from_config(config)
