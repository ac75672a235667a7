"""Configs with one thing changed, each read as the live class of transformers 5.23.0 computes it, or refused with a
reason."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

pytest.importorskip("transformers")

from model_peers import ask, sweep
from model_peers.ledger import CASES
from model_peers.rotary import Peer, peer
from posenc import Backward, Partial
from posenc.models import LayerGroup, from_config
from posenc.models.model_positions import ModelPositions

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
#: Types that run in the day's tests, one of each habit, and how many of their configs.
BY_DAY = ("gemma3_text", "glm4_moe_lite", "llama", "mimo_v2_flash")
DAILY = 60
#: What the live class computes otherwise than the file says, which the encodings follow: the type, words of what was
#: done to the config, and the reason.
FOLLOWS_THE_FILE = (
    ("bailing_hybrid", "original_max_position_embeddings left out", "it fills in a length before it reads this one"),
    # These make frequencies for other channels than qk_rope_head_dim, which their own attention cannot rotate.
    ("longcat_flash", "head_dim", "it makes them for head_dim, whatever qk_rope_head_dim is"),
    ("mistral4", "rope_parameters empty", "the default rope_type makes them for the whole head"),
    ("mistral4", "rope_type left out", "the default rope_type makes them for the whole head"),
    ("mistral4", "in rope_scaling", "it fills in no share of the head there"),
    # Alone it makes those of the decoder; the encoder writes its number of heads over the decoder's before it asks.
    ("moonshine", "decoder_num_attention_heads", "it knows nothing of the encoder's heads"),
    ("moonshine", "encoder_num_attention_heads", "it knows nothing of the encoder's heads"),
)
POSITIONS = 9


def judged(one: Peer, file: dict[str, Any]) -> str:
    """Where what is read differs from the live class; "" where it equals it, or where either refuses the config."""
    found = read(one.model_type, file)
    rotating = [] if found is None else [group for group in found.groups if group.rotary_encoding is not None]
    if not rotating:  # nothing asks the rotary class
        return ""
    try:
        module = one.built(one.configured(copy.deepcopy(file)))
        live = [_live(module, group) for group in rotating]
    except Exception:  # the class refuses it, when it is built or when it is run
        return ""
    return next(filter(None, map(_difference, rotating, live)), "")


def read(model_type: str, file: dict[str, Any]) -> ModelPositions | None:
    """The positions of a config; None where it is refused by a message that begins with a name."""
    try:
        return from_config({"model_type": model_type, **copy.deepcopy(file)}, numerics="float32", length=1)
    except (ValueError, TypeError) as problem:
        if " must " not in str(problem):
            raise AssertionError(f"no reason that names a rule: {problem!r}") from problem
        return None


def _inner(group: LayerGroup) -> Any:
    encoding: Any = group.rotary_encoding
    while isinstance(encoding, Partial | Backward):
        encoding = encoding.encoding
    return encoding


def _positions(axes: int) -> torch.Tensor:
    places = torch.arange(POSITIONS)
    return places if axes == 1 else torch.stack([places.roll(axis) for axis in range(axes)], -1)


def _live(module: torch.nn.Module, group: LayerGroup) -> tuple[torch.Tensor, float | None, tuple[torch.Tensor, ...]]:
    """Frequencies, attention factor and tables of the live class for one type of layer."""
    labels = (group.attention, "main" if group.attention == "sliding_attention" else "compress")
    positions = _positions(getattr(_inner(group), "axes", 1))
    made = ask.raw(module, positions, labels, group.part == "vision")
    return ask.buffer(module, labels), ask.factor(module, labels), made


def _difference(group: LayerGroup, live: tuple[torch.Tensor, float | None, tuple[torch.Tensor, ...]]) -> str:
    inner, (frequencies, factor, made) = _inner(group), live
    axes = getattr(inner, "axes", 1)
    own = inner.frequencies.float32(torch.zeros(())) if axes == 1 else frequencies
    if not torch.equal(own, frequencies):
        return f"{group.attention}: frequencies of {inner!r}"
    rotation = inner.rotation(_positions(axes), dtype=torch.float32)
    try:
        tables = ask.tables(made, rotation.pairing)
    except (AssertionError, RuntimeError):
        return f"{group.attention}: {rotation.pairing} and a table of another width"
    if len(made) > 1 and not all(map(torch.equal, (rotation.cos, rotation.sin), tables)):
        return f"{group.attention}: cos and sin of {inner!r}"
    scaled = factor is not None and inner.attention_factor not in (factor, float(tables[0].max()))
    return f"{group.attention}: attention factor {inner.attention_factor} for {factor}" if scaled else ""


def check(case: str, most: int | None = None) -> None:
    one = peer(case)
    known = [words for model_type, words, _ in FOLLOWS_THE_FILE if model_type == one.model_type]
    configs = list(sweep.changed_rotations(one, case))
    chosen = configs if most is None else configs[:: max(1, len(configs) // most)]
    found = [
        f"{done}: {problem}\n  {file}"
        for done, file in chosen
        if not any(words in done for words in known) and (problem := judged(one, file))
    ]
    assert not found, f"{len(found)} of {len(chosen)}: " + "\n".join(found[:5])


@pytest.mark.parametrize("case", [case for case in CASES if case.split()[1] in BY_DAY])
def test_a_sample_of_configs_reads_as_the_class_computes(case: str):
    check(case, DAILY)


@pytest.mark.nightly
@pytest.mark.parametrize("case", CASES)
def test_every_config_reads_as_the_class_computes(case: str):
    check(case)


def test_a_wrong_reading_is_seen():
    """The judge against a config that says something else."""
    one = peer(next(case for case in CASES if case.endswith(" llama")))
    files = [{"rope_theta": 1e4}, {"rope_scaling": {"rope_type": "linear", "factor": 2.0}, "rope_theta": 5e5}]
    module = one.built(one.configured(copy.deepcopy(files[1])))
    group = from_config({"model_type": "llama", **files[0]}, numerics="float32").groups[0]
    assert "frequencies of RoPE" in _difference(group, _live(module, group))
    assert not judged(one, files[1])
