"""Data of the doctor about types of transformers, against the live classes: scales of towers, and causal types."""

from __future__ import annotations

import importlib
import inspect
import math
import re
from typing import Any

import pytest
import torch
from huggingface_hub.errors import StrictDataclassError
from torch import nn
from transformers import PreTrainedModel
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from posenc.diagnosis.causal_types import CAUSAL_TYPES
from posenc.diagnosis.layers_after_tables import UNSCALED_TOWERS
from posenc.models.config.config_classes import config_classes
from posenc.models.config.embedding_scale import KEY, WITHOUT_EFFECT
from posenc.models.config.model_types.patch_tables import PATCH_TABLES
from posenc.models.config.sight_keys import SIGHT_KEYS
from write_model_classes import config_classes as config_classes_live

pytestmark = [pytest.mark.parity, pytest.mark.nightly, pytest.mark.filterwarnings("ignore")]

TOWERS = [name for row in PATCH_TABLES for name in row.names if row.part == "vision"]
TINY = dict.fromkeys(("hidden_size", "embed_dim", "d_model", "intermediate_size", "mlp_dim", "d_ff"), 32)
TINY |= dict.fromkeys(("num_hidden_layers", "num_layers", "depth", "num_attention_heads", "num_heads"), 2)
WIDTHS = ("head_dim", "attention_head_size", "key_value_proj_dim")
TINY |= {"image_size": 16, "patch_size": 4, "d_kv": 16}


def tower(name: str) -> nn.Module | None:
    """A small model of the first class that takes this config; None where its sizes do not go together."""
    kind = CONFIG_MAPPING[name]
    keys = {key: value for key, value in TINY.items() if isinstance(getattr(kind(), key, None), int)}
    module = importlib.import_module(kind.__module__.replace("configuration", "modeling"))
    classes = [
        one
        for _, one in inspect.getmembers(module, inspect.isclass)
        if issubclass(one, PreTrainedModel)
        and one.config_class is kind
        and not one.__name__.endswith("PreTrainedModel")
    ]
    try:
        with torch.device("meta"):
            return min(classes, key=lambda one: len(one.__name__))(kind(**keys))
    except (ValueError, IndexError, StrictDataclassError):
        return None


def scales(model: nn.Module) -> dict[str, float]:
    """What each attention module multiplies q·k by, times the root of the width of its heads."""
    found = {}
    for name, part in model.named_modules():
        scale = next((one for one in (getattr(part, key, None) for key in ("scale", "scaling")) if one), None)
        width: Any = next((one for one in (getattr(part, key, None) for key in WIDTHS) if one), None)
        if type(part).__name__.endswith("Attention") and isinstance(scale, float) and width:
            found[name] = scale * math.sqrt(width)
    return found


def test_vision_towers_with_tables_divide_by_the_root_of_the_width() -> None:
    models = {name: model for name in TOWERS if name in CONFIG_MAPPING and (model := tower(name)) is not None}
    found = {name: set(scales(model).values()) for name, model in models.items()}
    shown = {name: of_type for name, of_type in found.items() if of_type}
    assert len(shown) >= 30, sorted(found)
    wrong = {name for name, of_type in shown.items() if any(abs(one - 1.0) > 1e-6 for one in of_type)}
    assert wrong == UNSCALED_TOWERS & set(shown), {name: shown[name] for name in wrong}


def test_types_that_predict_the_next_token_alone_are_the_causal_ones() -> None:
    """Heads for the next token, in transformers' own tables, and none for masked ones."""
    next_token = set(modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)
    masked = set(modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES)
    assert next_token - masked == CAUSAL_TYPES


def test_types_that_compute_a_scale_of_embeddings_and_multiply_nothing_by_it() -> None:
    found = set()
    for name, known in config_classes().items():
        if KEY in known.defaults and name in CONFIG_MAPPING:
            module = CONFIG_MAPPING[name].__module__.replace("configuration", "modeling")
            source = inspect.getsource(importlib.import_module(module))
            multiplies = re.search(r"\* self\.embed_scale|self\.embed_scale \*", source)
            assert "config.scale_embedding" in source or "embed_scale" not in source, name
            found |= set() if multiplies else {name}
    assert found == WITHOUT_EFFECT


def test_keys_of_sight_have_the_values_of_their_classes_which_read_them() -> None:
    for model_type, keys in SIGHT_KEYS.items():
        kind = config_classes_live()[model_type]
        source = inspect.getsource(importlib.import_module(kind.__module__.replace("configuration", "modeling")))
        for key, usual in keys.items():
            held = getattr(kind(), key)
            assert (tuple(held) if isinstance(held, list) else held) == usual, (model_type, key)
            assert re.search(rf"config\.{key}\b", source), (model_type, key)
