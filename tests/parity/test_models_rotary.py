"""What from_config reads against the live classes of transformers 5.23.0: frequencies, tables and rotated vectors, bit
for bit."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
import torch

pytest.importorskip("transformers")

from model_peers import ask, draw
from model_peers.ledger import BY_HAND, CASES, REASONS, SETTINGS, VERIFIED
from model_peers.rotary import Peer, names, peer
from posenc import Backward, Partial
from posenc.models import LayerGroup, from_config

pytestmark = pytest.mark.parity
LIKE = torch.zeros(())
#: A rounding of each product and of their sum, for numbers below 4 and sums below 8.
ROUNDINGS = 3 * 8 * 2.0**-24


def check(case: str, settings: dict[str, Any]) -> None:
    """Every group of layers of a config against the module that the class builds from it."""
    one = peer(case)
    module = one.built(one.configured(copy.deepcopy(settings)))
    found = from_config({"model_type": one.model_type, **settings}, numerics="float32", length=1)
    groups = [group for group in found.groups if group.rotary_encoding is not None]
    assert groups, "nothing rotates"
    for group in groups:
        check_group(one, module, group)


def unwrapped(encoding: Any) -> Any:
    """What rotates, without the head around it and whichever way round."""
    return unwrapped(encoding.encoding) if isinstance(encoding, Partial | Backward) else encoding


def check_group(one: Peer, module: torch.nn.Module, group: LayerGroup) -> None:
    encoding = group.rotary_encoding
    inner = unwrapped(encoding)
    labels = (group.attention, "main" if group.attention == "sliding_attention" else "compress")
    vision, axes = group.part == "vision", getattr(inner, "axes", 1)
    if axes == 1:
        frequencies = inner.frequencies.float32(LIKE)
        assert torch.equal(frequencies, ask.buffer(module, labels)), f"{group.attention}: frequencies of {encoding!r}"
    scale = ask.factor(module, labels)
    if scale is not None and one.model_type != "phimoe":  # which multiplies by a value of its own in its forward pass
        assert inner.attention_factor == scale
    generator = torch.Generator().manual_seed(0)
    positions = torch.arange(9) if axes == 1 else torch.randint(0, 1000, (9, axes), generator=generator)
    made = ask.raw(module, positions, labels, vision)
    pairing = inner.rotation(positions).pairing
    cos, sin = ask.tables(made, pairing)
    rotation = inner.rotation(positions, dtype=torch.float32)
    if len(made) == 1:  # torch.polar, whose sines are other ones than torch.sin's, and a product of complex numbers
        assert (
            max((rotation.cos - cos).abs().max(), (rotation.sin - sin).abs().max())
            <= 2 * 2.0**-24 * inner.attention_factor
        )
    else:
        assert torch.equal(rotation.cos, cos)
        assert torch.equal(rotation.sin, sin)
    x = torch.randn(1, ask.HEADS, 9, inner.head_dim, generator=generator).clamp(-4, 4)
    own = Backward(inner) if isinstance(encoding, Backward) else inner
    ours = own.rotation(positions, dtype=torch.float32)(x, layout="bhtd")
    theirs = ask.rotated(one, x, made, inner.pairing, vision)
    assert (ours - theirs).abs().max() <= ROUNDINGS * max(1.0, inner.attention_factor)


def test_every_class_is_verified_or_has_its_reason():
    """A class that a new transformers brings is in neither list, and fails here."""
    assert set(names()) == {*VERIFIED, *BY_HAND, *REASONS}
    assert len(names()) == len(VERIFIED) + len(BY_HAND) + len(REASONS)


@pytest.mark.parametrize("case", CASES)
def test_default_config(case: str):
    check(case, SETTINGS.get(case.split()[1], {}))


@pytest.mark.parametrize("case", CASES)
def test_a_drawn_config(case: str):
    drawn(case, 1)


@pytest.mark.nightly
@pytest.mark.parametrize("case", CASES)
def test_many_drawn_configs(case: str):
    drawn(case, 21)


def check_length(case: str, settings: dict[str, Any], length: int) -> None:
    """The frequencies for one stated length, of the types that depend on it."""
    one = peer(case)
    config = one.configured(copy.deepcopy(settings))
    rope = config.rope_parameters
    made = getattr(one.module, "ROPE_INIT_FUNCTIONS", {}).get(rope.get("rope_type"))
    if made is None or "alpha" in rope:
        return
    frequencies, factor = made(config, None, seq_len=length)
    found = from_config({"model_type": one.model_type, **settings}, numerics="float32", length=length)
    encoding = next(group.rotary_encoding for group in found.groups if group.rotary_encoding is not None)
    inner = unwrapped(encoding)
    if getattr(inner, "axes", 1) == 1:
        assert torch.equal(inner.frequencies.float32(LIKE), frequencies)
        assert one.model_type == "phimoe" or inner.attention_factor == factor


def drawn(case: str, count: int) -> None:
    name, model_type = case.split()
    source, one = random.Random(name), peer(case)
    chosen = list(draw.kinds(one))
    source.shuffle(chosen)
    needed = {
        key: value
        for key, value in SETTINGS.get(model_type, {}).items()
        if key not in ("head_dim", "partial_rotary_factor")
    }
    for i in range(count):
        settings = needed | draw.settings(one, source, chosen[i % len(chosen)])
        try:
            check(case, settings)
            if chosen[i % len(chosen)] in ("dynamic", "longrope"):
                check_length(case, settings, 200_000)
        except Exception as problem:
            raise AssertionError(f"{case} with {settings}: {problem}") from problem


def test_the_long_factors_of_phimoe_are_read_where_its_class_ignores_them():
    """The note of its row: beyond the original length the class still rotates by short_factor."""
    from transformers import PhimoeConfig
    from transformers.models.phimoe.modeling_phimoe import PhimoeRotaryEmbedding

    scaling = {"type": "longrope", "short_factor": [1.0] * 4, "long_factor": [2.0] * 4, "short_mscale": 1.25,
               "long_mscale": 1.5, "original_max_position_embeddings": 16}  # fmt: skip
    sizes = {"hidden_size": 32, "num_attention_heads": 4, "max_position_embeddings": 64, "num_hidden_layers": 1}
    cos, sin = PhimoeRotaryEmbedding(PhimoeConfig(**sizes, rope_scaling=dict(scaling)))(LIKE, torch.arange(40)[None])
    turns = torch.atan2(sin, cos)[0, 1, :4]
    (group,) = from_config({"model_type": "phimoe", **sizes, "rope_scaling": scaling}).groups
    frequencies = group.rotary_encoding.frequencies.float32(LIKE)
    assert torch.allclose(turns, 2.0 * frequencies, rtol=1e-5)
    assert group.rotary_encoding.attention_factor == pytest.approx(float(torch.hypot(cos, sin)[0, 1, 0]), rel=1e-6)
    assert any("rotates by short_factor at every length" in note for note in group.notes)


def test_yarn_in_an_object_for_a_type_of_layer_is_truncated_by_its_class_alone():
    """The note of such a group: the function of transformers looks for truncate outside of the object."""
    one = peer(next(case for case in CASES if case.endswith(" gemma3_text")))
    rope = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096, "rope_theta": 1e6}
    for truncate in (True, False):
        ropes = {"full_attention": {**rope, "truncate": truncate}, "sliding_attention": {"rope_type": "default"}}
        ropes["sliding_attention"]["rope_theta"] = 1e4
        settings = {"num_hidden_layers": 2, "layer_types": list(ropes), "rope_parameters": ropes}
        module = one.built(one.configured(copy.deepcopy(settings)))
        found = from_config({"model_type": "gemma3_text", **settings}, numerics="float32")
        group = found.at(0)[0]
        same = torch.equal(group.rotary_encoding.frequencies.float32(LIKE), ask.buffer(module, (group.attention,)))
        assert (same, bool(group.notes)) == (truncate, not truncate)
