"""What from_config reads against tiny live models, layer by layer: which rotate and how, query scaling, the factor
of the logits, and which keys a query sees."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
import torch

pytest.importorskip("transformers")

from model_peers.live_attention import (
    POSITIONS,
    NoAttentionError,
    NotBuiltError,
    Seen,
    seen_by_attention,
    tiny_settings,
)
from model_peers.not_live import (
    COUNTS_TOKENS,
    FIRST_HEAD_ALONE,
    NEVER_ATTEND,
    NO_WINDOWS,
    NOT_BUILT,
    NOT_COMPARED,
    RUN_AGAIN,
    SCALED_AFTER_NORM,
    SCALED_BEFORE,
)
from model_peers.rotary import config_class
from model_peers.tiny import other_scales, other_windows
from posenc.models import Chunks, LayerGroup, Window, from_config
from posenc.models.config.model_types import MODEL_TYPES
from posenc.models.pair_rotation import pair_rotation

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
TYPES = sorted(
    name for name, row in MODEL_TYPES.items() if row.part != "vision" and row.reader is None and not row.unsupported
)
#: Types that run in the day's tests: one of each habit.
DAILY = (
    "beam",
    "cohere2_moe",
    "deepseek_v3",
    "gemma3_text",
    "granite",
    "kolibri1",
    "llama",
    "llama4_text",
    "ministral3",
)
#: Types that other tests run, or none.
ELSEWHERE = (*NOT_BUILT, *NOT_COMPARED, *NEVER_ATTEND)
#: Angles of thousands of radians in float32, and tables rounded to it.
TOLERANCE = 2e-4


def check(
    model_type: str, stated: Mapping[str, Any] = MappingProxyType({}), misread: Mapping[str, Any] = MappingProxyType({})
) -> None:
    """stated: further keys of the config.   misread: keys that the file to read states otherwise than the model's."""
    settings = {**tiny_settings(model_type), **stated}
    positions = tuple(range(len(POSITIONS))) if model_type in COUNTS_TOKENS else POSITIONS
    seen = seen_by_attention(model_type, copy.deepcopy(settings), positions)  # some classes write in their lists
    read = from_config({"model_type": model_type, **settings, **misread}, numerics="float32", length=max(POSITIONS) + 1)
    groups = [group for group in read.groups if group.part == MODEL_TYPES[model_type].part]
    rotate = {layer for group in groups if group.rotary_encoding is not None for layer in group.layers}
    unseen = set() if model_type in RUN_AGAIN else rotate - {one.layer for one in seen}
    assert not unseen, f"layers {sorted(unseen)} were not seen"
    for one in seen:
        group = group_of(groups, one)
        if model_type in FIRST_HEAD_ALONE:
            assert torch.equal(one.q[1:], one.q[1:, :1].expand(one.q[1:].shape)), "another head than the first rotates"
            one = replace(one, q=one.q[:1], k=one.k[:1])
        sorts = MODEL_TYPES[model_type].rotated_slice is not None or model_type in FIRST_HEAD_ALONE
        problem = compared(group, one, positions, sorts)
        assert not (told := other_keys(group, one.visible)), f"layer {one.layer}, {group.attention}: {told}"
        factor = one.scale * (1.0 if model_type in SCALED_BEFORE else math.sqrt(one.q.shape[-1]))
        if model_type in SCALED_AFTER_NORM:
            factor *= float(one.q.square().mean(-1).sqrt().max())
        within = 1e-3 if model_type in SCALED_AFTER_NORM else 1e-6  # ε of the norm shortens small vectors
        assert group.logit_factor == pytest.approx(factor, rel=within), f"layer {one.layer}: logits times {factor}"
        assert not problem, f"layer {one.layer}, {group.attention}: {problem}; read {group.encodings}"


def group_of(groups: list[LayerGroup], seen: Seen) -> LayerGroup:
    own = [group for group in groups if seen.layer in group.layers]
    inside = [group for group in own if group.part in seen.name]
    return (inside or own)[-1]


def other_keys(group: LayerGroup, visible: torch.Tensor | None) -> str:
    """Which keys a query sees that it should not, or the other way round; "" where none does."""
    visible = torch.ones(len(POSITIONS), len(POSITIONS), dtype=torch.bool) if visible is None else visible
    query_positions, key_positions = torch.arange(len(visible))[:, None], torch.arange(len(visible))[None, :]
    expected = torch.ones_like(visible)
    if isinstance(group.window, Window):
        expected = (query_positions - key_positions <= group.window.before) & (
            key_positions - query_positions <= group.window.after
        )
    elif isinstance(group.window, Chunks):
        expected = query_positions // group.window.size == key_positions // group.window.size
    causal = not visible[0, 1:].any()
    expected &= (key_positions <= query_positions) if causal else torch.ones_like(visible)
    return "" if torch.equal(expected, visible) else f"queries see {visible.sum(-1).tolist()} keys; read {group.window}"


def compared(group: LayerGroup, seen: Seen, positions: tuple[int, ...], sorts: bool) -> str:
    """Which of queries and keys are not the first of them, rotated; "" where both are."""
    wrong = []
    for name, states in (("queries", seen.q.double()), ("keys", seen.k.double())):
        expected = [
            moved(group, order, positions, name == "queries")
            for order in (orders(group, states) if sorts else [states])
        ]
        if min(float((a - b).abs().max() / b.abs().max()) for a, b in expected) > TOLERANCE:
            wrong.append(f"{name} differ")
    return " and ".join(wrong)


def orders(group: LayerGroup, states: torch.Tensor) -> list[torch.Tensor]:
    """The channels as they are, and in the orders that classes bring latent attention's rotated slice into."""
    if group.pairing != "adjacent":
        return [states]
    pairs = group.channels
    order = list(range(states.shape[-1]))
    end = pairs.start + pairs.width
    order[pairs.start : end] = [*range(pairs.start, end, 2), *range(pairs.start + 1, end, 2)]
    back = torch.argsort(torch.tensor(order))
    rolled = torch.roll(states, pairs.start, -1)
    return [states, states[..., back], rolled, rolled[..., back]]


def moved(
    group: LayerGroup, states: torch.Tensor, places: tuple[int, ...], query: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """What the vectors at position 0 become at every position, and what they are."""
    expected = states[:, :1].expand(states.shape)
    if group.rotary_encoding is not None:
        positions = torch.tensor(places)
        positions = (
            positions if group.rotary_encoding.axes == 1 else positions[:, None].expand(-1, group.rotary_encoding.axes)
        )
        rotation = group.rotary_encoding.rotation(positions, dtype=torch.float64)
        ones = rotation(torch.ones_like(expected)[None], layout="bhtd")[0, :, :1]  # the attention factor, at position 0
        expected = rotation((expected / ones)[None], layout="bhtd")[0]
    if query and group.query_temperature is not None:
        factor = group.query_temperature.factor(torch.tensor(places), dtype=torch.float64)
        expected = expected * (factor / factor[0])[:, None]
    return expected, states


@pytest.mark.parametrize("model_type", DAILY)
def test_a_live_model_does_what_is_read(model_type: str):
    check(model_type)


@pytest.mark.nightly
@pytest.mark.parametrize("model_type", [name for name in TYPES if name not in (*DAILY, *ELSEWHERE)])
def test_every_live_model_does_what_is_read(model_type: str):
    check(model_type)


@pytest.mark.nightly
@pytest.mark.parametrize("model_type", [name for name in TYPES if name not in (*ELSEWHERE, *NO_WINDOWS)])
def test_windows_are_those_that_the_keys_say(model_type: str):
    """Windows stated, not used, and in other layers."""
    for done, stated in other_windows(config_class(model_type)(**tiny_settings(model_type))).items():
        try:
            check(model_type, stated)
        except AssertionError as problem:
            raise AssertionError(f"{done}, {stated}: {problem}") from problem


@pytest.mark.nightly
@pytest.mark.parametrize("model_type", [name for name in TYPES if name not in ELSEWHERE])
def test_widths_and_scales_are_those_that_the_keys_say(model_type: str):
    for stated in other_scales(config_class(model_type)(**tiny_settings(model_type))):
        with suppress(NotBuiltError):  # some classes cannot compute with another width
            check(model_type, stated)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("model_type", "misread", "told"),
    [
        ("csm", {"rope_theta": 1e4}, "queries differ and keys differ"),
        ("moonshine", {"partial_rotary_factor": 0.5}, "queries differ and keys differ"),
        ("codegen", {"rotary_dim": 16}, "queries differ and keys differ"),
        ("bamba", {"attn_layer_indices": [1, 2]}, "were not seen"),
        ("bamba", {"attn_layer_indices": [1]}, "differ"),
        ("dots1", {"sliding_window": 5, "max_window_layers": 0}, "queries see"),
        ("mimi", {"sliding_window": 5}, "queries see"),
        ("t5_gemma_module", {"is_decoder": True}, "queries see"),
        ("qwen2_5_omni_dit", {"block_size": 3}, "queries see"),
        ("t5gemma2_text", {"query_pre_attn_scalar": 128}, "logits times"),
        ("zamba2", {"use_mem_rope": False}, "differ"),
        ("wav2vec2-bert", {"rotary_embedding_base": 1e5}, "queries differ and keys differ"),
    ],
)
def test_a_wrong_reading_is_seen(model_type: str, misread: dict[str, Any], told: str):
    with pytest.raises(AssertionError, match=told):
        check(model_type, misread=misread)


@pytest.mark.nightly
@pytest.mark.parametrize("model_type", sorted(NOT_BUILT))
def test_a_type_that_is_not_compared_cannot_be(model_type: str):
    """A type that can be built after all belongs to the others."""
    with pytest.raises(NotBuiltError):
        seen_by_attention(model_type, tiny_settings(model_type), POSITIONS)


@pytest.mark.nightly
@pytest.mark.parametrize("model_type", NEVER_ATTEND)
def test_a_type_without_attention_has_none(model_type: str):
    assert all(not group.encodings for group in from_config({"model_type": model_type}).groups)
    with pytest.raises(NoAttentionError):
        seen_by_attention(model_type, tiny_settings(model_type), POSITIONS)


@pytest.mark.nightly
@pytest.mark.parametrize("window", [4, None])
def test_the_window_of_blt_is_that_of_the_whole(window: int | None):
    """Its local encoder and decoder take the mask that the model around them makes."""
    small = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 32}
    parts = {f"{part}_config": {**small, "vocab_size": 260} for part in ("encoder", "decoder", "global", "patcher")}
    parts["encoder_config"]["sliding_window"] = 7
    parts["decoder_config"]["hidden_size_global"] = 64
    settings = {"local_attention_window_len": window, "patch_in_forward": False, "encoder_hash_byte_group_vocab": 100}
    seen = seen_by_attention("blt", {**settings, **parts}, tuple(range(len(POSITIONS))))
    decoder, encoder = from_config({"model_type": "blt", **settings, **parts}).groups[:2]
    assert len(seen) == len(encoder.layers) + len(decoder.layers)
    for one in seen:
        assert not other_keys(decoder if "decoder" in one.name else encoder, one.visible)


@pytest.mark.parametrize("decoder", [4, 8])
def test_both_stacks_of_moonshine_rotate_by_the_heads_of_its_encoder(decoder: int):
    """Its encoder writes its number of heads into the config that the decoder is built from; a note says so."""
    from transformers import MoonshineConfig, MoonshineModel

    settings = tiny_settings("moonshine") | {"hidden_size": 128, "decoder_num_attention_heads": decoder}
    model = MoonshineModel(MoonshineConfig(**settings))
    read = from_config({"model_type": "moonshine", **settings})
    same = {}
    for part in ("encoder", "decoder"):
        (group,), live = read.of(part), getattr(model, part).rotary_emb.inv_freq
        expected = torch.tensor(pair_rotation(group.encodings[0]).radians(), dtype=torch.float32)
        same[part] = expected.shape == live.shape and torch.allclose(expected, live, rtol=1e-6)
    assert same == {"encoder": True, "decoder": decoder == 4}
    assert bool(read.notes) == (decoder != 4)
