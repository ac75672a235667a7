"""A config beside a GGUF file: compared at every length that either tells apart, with remedies for that file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from every import every
from posenc.diagnosis import diagnose
from posenc.models import GGUFHead, ModelPositions, diff, from_config, from_gguf, to_gguf

LLAMA = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "rope_theta": 500_000.0,
         "max_position_embeddings": 65_536}  # fmt: skip
SHORT, LONG = "rope_factors_short.weight", "rope_factors_long.weight"
#: Numbers that float32 does not hold, as in real files, and a factor on cosines and sines.
PHI = {**LLAMA, "model_type": "phi3", "original_max_position_embeddings": 4096,
       "rope_scaling": {"type": "longrope", "short_factor": [1.0 + 0.01 * pair for pair in range(8)],
                        "long_factor": [1.0 + 1.1 * pair for pair in range(8)]}}  # fmt: skip
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 8192}  # fmt: skip
SCALINGS = {
    "plain": None,
    "linear": {"rope_type": "linear", "factor": 4.0},
    "yarn": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16_384},
    "llama3": LLAMA3,
    "half": {**LLAMA3, "factor": 4.0},
    "dynamic": {"rope_type": "dynamic", "factor": 4.0},
}
Change = Callable[[dict[str, Any], dict[str, np.ndarray]], object]


def scaled(name: str) -> dict[str, Any]:
    return {**LLAMA, "model_type": "llama", "rope_scaling": SCALINGS[name]}


def gguf_of(config: dict[str, Any], change: Change = lambda keys, tensors: None) -> ModelPositions:
    """What llama.cpp's converter makes of a config, in float32, with a mistake planted in it."""
    arch, suffix = {"llama": ("llama", "-adjacent-pairs"), "phi3": ("phi3", "")}[config["model_type"]]
    model = from_config({**config, "model_type": config["model_type"] + suffix})
    keys, tensors = to_gguf(model, arch, context_length=config["max_position_embeddings"])
    change(keys, tensors)
    single = {key: float(np.float32(value)) if isinstance(value, float) else value for key, value in keys.items()}
    return from_gguf(GGUFHead(single, tuple(tensors), {name: tuple(map(float, one)) for name, one in tensors.items()}))


def test_a_right_file_agrees():
    def check(config: dict[str, Any]) -> None:
        model, file = from_config(config), gguf_of(config)
        assert diagnose(model, file).exit_code == diagnose(file, model).exit_code == 0
        assert diff(model, file).same

    every([PHI, *(scaled(name) for name in SCALINGS if name != "dynamic")], check)


LISTS: dict[str, tuple[Change, str]] = {
    "long list in both": (lambda keys, tensors: tensors.update({SHORT: tensors[LONG]}), SHORT),
    "short list in both": (lambda keys, tensors: tensors.update({LONG: tensors[SHORT]}), LONG),
    "exchanged": (lambda keys, tensors: tensors.update({SHORT: tensors[LONG], LONG: tensors[SHORT]}), LONG),
    "another short list": (lambda keys, tensors: tensors.update({SHORT: 2 * tensors[SHORT]}), SHORT),
    "another long list": (lambda keys, tensors: tensors.update({LONG: 2 * tensors[LONG]}), LONG),
    "trained length": (
        lambda keys, tensors: keys.update({"phi3.rope.scaling.original_context_length": 8192}),
        "phi3.rope.scaling.original_context_length",
    ),
}


@pytest.mark.parametrize(("change", "names"), LISTS.values(), ids=list(LISTS))
def test_a_wrong_list_differs_whatever_length_the_files_state(change: Change, names: str):
    """One list is used up to the trained length, the other beyond it: at 65,536 tokens the short one does not show."""
    model, file = from_config(PHI), gguf_of(PHI, change)
    found = diagnose(model, file)
    assert (found.verdict, diagnose(file, model).verdict, diff(model, file).same) == ("differ", "differ", False)
    assert names in str(found)


def test_a_scaling_that_begins_beyond_the_trained_length_differs_from_none():
    dynamic, plain = from_config(scaled("dynamic")), gguf_of(scaled("plain"))
    assert diagnose(dynamic, plain).findings[0].name == "scaling ignored"
    assert diagnose(plain, dynamic).findings[0].name == "scaling added"
    assert not diff(dynamic, plain).same


REMEDIES = {
    ("llama3", "plain"): "Write the tensor rope_freqs.weight: posenc.models.to_gguf makes it of",
    ("llama3", "half"): "Write the tensor rope_freqs.weight anew: posenc.models.to_gguf makes it of",
    ("plain", "llama3"): "Leave out the tensor rope_freqs.weight.",
    ("yarn", "plain"): "Set llama.rope.scaling.type to 'yarn', where it is 'none'; set llama.rope.scaling.factor to "
    "4.0, where it is missing; set llama.rope.scaling.original_context_length to 16384, where it is missing; ",
    ("plain", "linear"): "Set llama.rope.scaling.type to 'none', where it is 'linear'.",
}


@pytest.mark.parametrize(("meant", "there"), REMEDIES, ids=[f"{one} for {two}" for two, one in REMEDIES])
def test_a_remedy_names_keys_and_tensors_of_the_file(meant: str, there: str):
    found = diagnose(from_config(scaled(meant)), gguf_of(scaled(there)))
    assert found.findings[0].fix.startswith(REMEDIES[meant, there])
    assert "rope_scaling" not in str(found)


def test_a_config_beside_a_gguf_file_gets_no_keys_of_that_file():
    """The file on the other side has names of its own: nothing says to leave out rope_theta, which it lacks."""
    found = diagnose(gguf_of({**scaled("half"), "rope_theta": 10_000.0}), from_config(scaled("llama3")))
    assert found.verdict == "differ"
    assert "eave out" not in str(found)
