"""A file without one of the configs that its class can hold: it reads as what the class saves, or a note says so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("transformers")

from posenc.models import ModelPositions, from_config
from posenc.models.config.config_classes import config_classes as known_classes
from write_model_classes import config_classes

pytestmark = pytest.mark.parity
CLASSES = config_classes()
TYPES = sorted(name for name, known in known_classes().items() if known.parts and name in CLASSES)


def saved(model_type: str, file: dict[str, Any]) -> dict[str, Any] | None:
    """A file as its class saves it; None where the class refuses it."""
    try:
        made = CLASSES[model_type].from_dict(json.loads(json.dumps(file))).to_json_string(use_diff=False)
    except Exception:
        return None
    return {**json.loads(made), "model_type": model_type}


def read(config: dict[str, Any] | None) -> ModelPositions | None:
    try:
        return None if config is None else from_config(config)
    except (ValueError, TypeError):
        return None


def files_without_a_part(model_type: str) -> Iterator[dict[str, Any]]:
    yield {"model_type": model_type}
    whole = saved(model_type, {"model_type": model_type}) or {}
    for part in known_classes()[model_type].parts:
        if part in whole:
            yield {key: value for key, value in whole.items() if key != part}


def what_layers_do(positions: ModelPositions) -> list[tuple[Any, ...]]:
    return [
        (group.part, group.attention, group.layers, group.encodings, group.logit_factor, group.window)
        for group in positions.groups
    ]


@pytest.mark.nightly
@pytest.mark.parametrize("model_type", TYPES)
def test_a_part_that_is_not_in_the_file_is_read_or_noted(model_type: str):
    for file in files_without_a_part(model_type):
        ours, theirs = read(file), read(saved(model_type, file))
        if ours is None or theirs is None or what_layers_do(ours) == what_layers_do(theirs):
            continue
        assert any("is not in the file" in note for note in ours.notes), sorted(file)


def test_a_part_that_a_class_fills_in_is_noted_and_an_optional_one_is_not():
    notes = from_config({"model_type": "csm"}).notes
    assert [note.split()[0] for note in notes if "is not in the file" in note] == [
        "codec_config",
        "depth_decoder_config",
    ]
    assert not from_config({"model_type": "gemma4", "text_config": {"model_type": "gemma4_text"}}).notes
