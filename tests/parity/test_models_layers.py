"""Which layer is of which type, and which do not rotate, against what the config classes of transformers 5.23.0 work
out."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

pytest.importorskip("transformers")

from model_peers.ledger import CASES, SETTINGS
from model_peers.rotary import peer
from posenc.models import from_config

pytestmark = pytest.mark.parity
#: A class for each model type; types that name no layers of their own are left out where the test runs.
ONE_CLASS = sorted({case.split()[1]: case for case in CASES}.values())


def kinds(config: dict[str, Any]) -> dict[int, str]:
    return {layer: group.attention for group in from_config(config).groups for layer in group.layers}


@pytest.mark.parametrize("case", ONE_CLASS)
def test_types_of_layers(case: str):
    one = peer(case)
    settings = SETTINGS.get(one.model_type, {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        config = one.config(**settings)
    wanted = config.__dict__.get("layer_types") or config.__dict__.get("layers_block_type")
    found = kinds({"model_type": one.model_type, **settings})
    if wanted is None:
        assert len(found) == getattr(config, "num_hidden_layers", len(found))
    else:
        assert found == dict(enumerate(wanted))


@pytest.mark.parametrize("name", ["llama4.Llama4TextRotaryEmbedding", "smollm3.SmolLM3RotaryEmbedding"])
@pytest.mark.parametrize("settings", [{}, {"no_rope_layer_interval": 3}, {"no_rope_layers": [1, 0, 0, 1] * 6}])
def test_layers_that_rotate(name: str, settings: dict[str, Any]):
    one = peer(name)
    settings = {"num_hidden_layers": 24, **settings}
    config = one.config(**settings)
    found = {
        layer: int(group.rotary_encoding is not None)
        for group in from_config({"model_type": one.model_type, **settings}).groups
        for layer in group.layers
    }
    assert found == dict(enumerate(config.no_rope_layers))
