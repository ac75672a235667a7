"""Values of released checkpoints, each with the mark of how far it is backed, read through from_config.

Marks: D, class default of transformers 5.23.0; S, read in its source; C, its conversion script; L, litgpt's table of
checkpoints; P, quoted in a third-party repository. What is only remembered is not here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from posenc import StepTemperature
from posenc.models import from_config

RELEASED = json.loads((Path(__file__).parent / "released.json").read_text(encoding="utf-8"))
BY_NAME = {one["checkpoint"]: one for one in RELEASED}


@pytest.mark.parametrize("one", RELEASED, ids=lambda one: one["checkpoint"])
def test_released(one: dict[str, Any]):
    assert set(one["mark"].split(", ")) <= {"R", "S", "D", "C", "L", "P"}
    found = from_config(one["config"])
    said = [[group.attention, len(group.layers), " ".join(map(repr, group.encodings))] for group in found.groups]
    assert said == one["expect"]


def only(name: str) -> Any:
    return from_config(BY_NAME[name]["config"]).groups[0]


def test_what_multiplies_logits_and_queries():
    """m(mscale_all_dim)² of DeepSeek-V3, 1.8738542…, from its formula; the temperatures of Llama 4 and Ministral 3."""
    assert only("DeepSeek-V3").logit_factor == pytest.approx((0.1 * 3.6888794541139363 + 1) ** 2, rel=1e-15)
    assert only("DeepSeek-V3").rotary_encoding.encoding.attention_factor == 1.0
    rotating, still = from_config(BY_NAME["Llama 4 Scout"]["config"]).groups
    assert (rotating.query_temperature, still.query_temperature) == (None, StepTemperature(128, 0.1, 8192, start=1))
    assert only("Ministral 3, class defaults").query_temperature == StepTemperature(128, 0.1, 16384, start=0)
    assert only("OPT 125M").offset == 2
    assert only("T5 small").logit_factor == 8.0
