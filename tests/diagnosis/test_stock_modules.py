"""No false alarm: the rotary module of every model type that can be built and read agrees with its config; damaged, it
is named."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers.models.auto.configuration_auto import CONFIG_MAPPING, CONFIG_MAPPING_NAMES

from posenc.diagnosis import diagnose
from posenc.models import ModelPositions, from_config

SAMPLE = (
    "llama",
    "gemma3_text",
    "gpt_neox",
    "gpt_oss",
    "cohere",
    "deepseek_v3",
    "phi3",
    "qwen3",
    "mlcd_vision_model",
    "qwen2_vl_vision",
    "deepseek_v4",
)
#: Types that were built, read and compared when this was written; fewer would mean that something is no longer seen.
LEAST = 200


def built(model_type: str) -> tuple[ModelPositions, Any] | None:
    """The positions of a type's default config and its live rotary module; None where either cannot be had."""
    try:
        kind = CONFIG_MAPPING[model_type]
        place = importlib.util.find_spec(kind.__module__.replace("configuration_", "modeling_"))
        if place is None or "RotaryEmbedding" not in Path(str(place.origin)).read_text():
            return None
        module = importlib.import_module(place.name)
        candidates = [name for name, found in vars(module).items() if _is_rotary(name, found, module)]
        # A text type has the class of its text first, a tower its own.
        rotary = vars(module)[min(candidates, key=lambda name: ("Vision" in name) != ("vision" in model_type))]
        config = kind()
        inside = tuple(kind.sub_configs)  # whose rotations other modules make
        return from_config(json.loads(config.to_json_string()), waive=inside), rotary(config)
    except Exception:  # most configs are of models made of parts, whose modules want a part
        return None


def _is_rotary(name: str, found: Any, module: Any) -> bool:
    return (
        name.endswith("RotaryEmbedding")
        and name != "Llama4VisionRotaryEmbedding"  # holds complex numbers alone
        and "Audio" not in name
        and inspect.isclass(found)
        and found.__module__ == module.__name__
        and "config" in inspect.signature(found.__init__).parameters
    )


def compared(meant: ModelPositions, live: Any) -> bool:
    """Whether it agrees when healthy and is named when its frequencies went through bfloat16."""
    if not any(
        group.rotary_encoding for group in meant.groups
    ):  # the type makes a module that its default config does not use
        return False
    assert diagnose(meant, live).agree, str(diagnose(meant, live))
    found = diagnose(meant, live.to(torch.bfloat16).float())
    if found.agree:  # a module that makes its frequencies anew at every call
        assert "are others than it uses" in str(found)
    else:
        assert {finding.name for finding in found.findings} == {"frequencies in bfloat16"}
    return True


@pytest.mark.parametrize("model_type", SAMPLE)
def test_a_sample_of_model_types(model_type: str) -> None:
    found = built(model_type)
    assert found is not None
    assert compared(*found)


@pytest.mark.nightly
def test_every_model_type_that_can_be_built_and_read() -> None:
    pairs = [(model_type, built(model_type)) for model_type in sorted(set(CONFIG_MAPPING_NAMES))]
    done = [model_type for model_type, found in pairs if found is not None and compared(*found)]
    assert len(done) >= LEAST, len(done)
