"""Mistakes in rotations next to those of attention: in an indexer, in compressed keys."""

from __future__ import annotations

from typing import Any

from posenc.diagnosis import diagnose
from posenc.models import RoleRotation, diff, from_config

DSA: dict[str, Any] = {"model_type": "deepseek_v32", "num_hidden_layers": 2}
V4: dict[str, Any] = {"model_type": "deepseek_v4", "num_hidden_layers": 4}


def names(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    return [finding.name for finding in diagnose(from_config(first), from_config(second)).findings]


def test_an_indexer_that_pairs_otherwise_is_named() -> None:
    right, wrong = DSA, DSA | {"indexer_rope_interleave": True}
    assert not diff(from_config(right), from_config(wrong)).same
    assert names(right, wrong) == ["indexer: layout"]


def test_a_wrong_base_is_one_mistake_although_the_indexer_has_it_too() -> None:
    assert names(DSA, DSA | {"rope_theta": 5e5}) == ["base"]


def test_another_rate_of_compression_is_named() -> None:
    (group,) = (group for group in from_config(V4).groups if "heavily" in group.attention)
    assert [(own.role, own.rate) for own in group.roles] == [("compressor", 128), ("values", 1), ("output", 1)]
    assert "vector i at position 128·i" in group.explain()
    assert "compressor: rate" in names(V4, V4 | {"compress_rate_hca": 64})


def test_a_role_that_is_not_there_is_none() -> None:
    (group,) = from_config(DSA).groups
    assert group.rotary_encoding_of("output") is None
    assert isinstance(group.roles[0], RoleRotation)
