"""Models that encode no positions say so; idle keys are read."""

from __future__ import annotations

from typing import Any

import pytest

from posenc.models import from_config
from posenc.models.config.model_types.no_positions import NO_POSITIONS

NAMES = [name for row in NO_POSITIONS for name in row.names]
WITHOUT_LAYERS = {name for row in NO_POSITIONS if row.reader for name in row.names}
#: Types that are written in files of their own, and nothing besides them.
OWN_FILES = ("falcon_mamba", "jamba", "kimi_linear", "mamba", "mamba2", "nemotron_h", "rwkv", "xlstm", "zamba")


@pytest.mark.parametrize("name", NAMES)
def test_a_model_without_positions_says_so(name: str) -> None:
    found = from_config({"model_type": name})
    assert bool(found.groups) == (name not in WITHOUT_LAYERS)
    assert all(not group.encodings for group in found.groups)
    assert all("no positional encoding" in group.explain() for group in found.groups)
    assert "nothing encodes positions" in found.explain()


@pytest.mark.parity
@pytest.mark.parametrize("name", OWN_FILES)
def test_its_modeling_file_calls_nothing_that_encodes_positions(name: str) -> None:
    """Some define a rotation that they inherited, for a kernel to replace; none calls it."""
    pytest.importorskip("transformers")
    import ast
    from importlib.util import find_spec
    from pathlib import Path

    (folder,) = find_spec("transformers").submodule_search_locations  # type: ignore[union-attr]
    tree = ast.parse((Path(folder) / "models" / name / f"modeling_{name}.py").read_text(encoding="utf-8"))
    called = {
        getattr(node.func, "attr", getattr(node.func, "id", "")).lower()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
    }
    words = ("rotary", "rope", "position_embed", "positionembed", "position_bias", "alibi", "wpe")
    assert not [call for call in called for word in words if word in call and "kernel" not in call]


def test_the_layers_of_jamba_that_attend() -> None:
    types = {group.attention: group.layers for group in from_config({"model_type": "jamba"}).groups}
    assert types["full_attention"] == (4, 12, 20, 28)


def test_the_layers_of_zamba_that_attend_divide_by_the_root_of_half_the_width() -> None:
    linear, hybrid = from_config({"model_type": "zamba", "num_hidden_layers": 16}).groups
    assert (hybrid.layers, linear.logit_factor) == ((2, 7, 13), 1.0)
    assert hybrid.logit_factor == pytest.approx(2**0.5)


def test_floor_scale_is_idle_without_temperature_tuning() -> None:
    file: dict[str, Any] = {"model_type": "llama4_text", "attn_temperature_tuning": False}
    found = from_config({**file, "floor_scale": 8192, "attn_scale": 0.1})
    assert found.groups == from_config(file).groups
    assert all(group.query_temperature is None for group in found.groups)
