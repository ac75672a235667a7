"""Stored answers of engines: the file, the config that a given one is like, and a size computed by itself."""

from __future__ import annotations

import numpy as np
import pytest

from posenc.explorer.engine_answers import answers_for, answers_of, stored_answers
from posenc.explorer.views.config_view import ConfigView
from posenc.models import from_config

GPT_OSS = "gpt-oss 20B"


def config_of(name: str) -> dict:
    return dict(next(model["config"] for model in stored_answers()["models"] if model["name"] == name))


def row(answers: dict, engine: str) -> dict:
    return next(row for row in answers["rows"] if row["engine"] == engine)


def verdicts(answers: dict) -> dict:
    return {row["engine"]: [(cell["field"], cell["differs"]) for cell in row["cells"]] for row in answers["rows"]}


def differing(answers: dict, engine: str) -> list[str]:
    return [cell["field"] for cell in row(answers, engine)["cells"] if cell["differs"]]


def test_every_stored_config_is_read_and_is_its_own():
    """Two stored configs may have the same keys: then engines must have given the same answers."""
    models = stored_answers()["models"]
    assert len(models) >= 40
    for model in models:
        config = config_of(model["name"])
        assert from_config(config).groups
        found, own = answers_for(config), answers_of(model["name"])
        assert found["same"]
        one, other = verdicts(found), verdicts(own)
        both = one.keys() & other.keys()  # an engine may not have been asked about one of them
        assert {name: one[name] for name in both} == {name: other[name] for name in both}, own["model"]


def test_what_is_known_of_gpt_oss():
    """llama.cpp ignores `truncate: false`; transformers does not."""
    answers = answers_of(GPT_OSS)
    assert differing(answers, "transformers") == []
    assert "frequencies" in differing(answers, "llama.cpp")
    (value,) = (cell["value"] for cell in row(answers, "llama.cpp")["cells"] if cell["field"] == "frequencies")
    assert "truncate is True where False is meant" in value


def test_how_far_logits_move():
    """sqrt of the mean over distances of amplitude⁴ · Σ over pairs of 2·|e^(iθd) - e^(iφd)|² / head_dim."""
    first, second = (yarn(truncate) for truncate in (False, True))
    amplitude = 0.1 * np.log(32) + 1
    for length, stored in row(answers_of(GPT_OSS), "llama.cpp")["effects"]:
        distances = np.unique(np.linspace(length / 2, length, 64).round())
        gaps = np.abs(np.exp(1j * np.outer(distances, first)) - np.exp(1j * np.outer(distances, second)))
        moved = np.sqrt((amplitude**4 * 2 * gaps**2).sum(1).mean() / 64)
        # What was read of the engine has errors of its own, from its float16 cache.
        assert stored == pytest.approx(moved, rel=0.05)


def yarn(truncate: bool) -> np.ndarray:
    """Frequencies of gpt-oss by the formula of YaRN, arXiv:2309.00071: 64 channels, base 150000, 32 times 4096."""
    exponents = np.arange(0, 64, 2) / 64
    plain = 150_000.0**-exponents
    ends = [64 * np.log(4096 / (turns * 2 * np.pi)) / (2 * np.log(150_000.0)) for turns in (32.0, 1.0)]
    low, high = (np.floor(ends[0]), np.ceil(ends[1])) if truncate else ends
    ramp = np.clip((np.arange(32) - max(low, 0)) / (min(high, 63) - max(low, 0)), 0, 1)
    return plain * (1 - ramp) + plain / 32 * ramp


def test_a_config_with_the_same_keys_is_alike_and_others_are_not():
    config = config_of(GPT_OSS)
    fewer = {"num_hidden_layers": 4, "layer_types": config["layer_types"][:4]}
    assert answers_for(config | fewer | {"rope_theta": 123_456.0})["same"] is False
    assert answers_for(config | fewer)["same"] is True
    narrow = config_of("Qwen2 0.5B") | {"hidden_size": 14 * 48}  # 24 pairs a head, with frequencies of their own
    assert (answers_for(narrow)["model"], answers_for(narrow)["same"]) == ("Qwen2 0.5B", False)
    truncated = config["rope_scaling"] | {"truncate": True}
    assert answers_for(config | {"rope_scaling": truncated}) is None
    assert answers_for({"model_type": "opt"}) is None


def test_the_page_is_told():
    facts = ConfigView(config=config_of(GPT_OSS)).facts()
    assert facts["engines"] == answers_of(GPT_OSS)
    assert ConfigView(config={"model_type": "opt"}).facts()["engines"] is None
