"""Every figure of docs/conventions.md is measured again, and every difference it tells of is one."""

from __future__ import annotations

import json
from importlib.metadata import version

import pytest

from generator.choices import CHOICES
from parity.measure import FIGURES, MEASURES

KEPT = json.loads(FIGURES.read_text(encoding="utf-8"))


@pytest.fixture(scope="module", autouse=True)
def peers() -> None:
    for name in (
        "transformers",
        "x_transformers",
        "rotary_embedding_torch",
        "diffusers",
        "equinox",
        "positional_encodings",
    ):
        pytest.importorskip(name)


def test_the_figures_are_of_these_versions() -> None:
    assert {peer: version(peer).partition("+")[0] for peer in KEPT["versions"]} == KEPT["versions"]


def test_every_figure_is_measured_and_told() -> None:
    assert set(KEPT["figures"]) == set(MEASURES)
    assert {choice.figure for choice in CHOICES if choice.figure} == set(MEASURES)


@pytest.mark.parametrize("name", MEASURES)
def test_the_figure_is_what_is_measured(name: str) -> None:
    """To a thousandth: the last digits are those of a machine's float32 cosine."""
    assert MEASURES[name]() == pytest.approx(KEPT["figures"][name], rel=1e-3, abs=1e-6)
