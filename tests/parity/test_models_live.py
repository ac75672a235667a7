"""What from_config reads against tiny live models, layer by layer: which rotate and how, query scaling, the factor
of the logits, and which keys a query sees."""

from __future__ import annotations

import math

import pytest
import torch

pytest.importorskip("transformers")

from model_peers.live_attention import POSITIONS, NotBuiltError, Seen, seen_by_attention, tiny_settings
from model_peers.not_live import COUNTS_TOKENS, NOT_BUILT, NOT_COMPARED, SCALED_BEFORE
from posenc.models import Chunks, LayerGroup, Window, from_config
from posenc.models.config.model_types import MODEL_TYPES

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
#: Angles of thousands of radians in float32, and tables rounded to it.
TOLERANCE = 2e-4


def check(model_type: str) -> None:
    settings = tiny_settings(model_type)
    positions = tuple(range(len(POSITIONS))) if model_type in COUNTS_TOKENS else POSITIONS
    seen = seen_by_attention(model_type, settings, positions)
    read = from_config({"model_type": model_type, **settings}, numerics="float32", length=max(POSITIONS) + 1)
    for one in seen:
        group = group_of(read.groups, one)
        problem = compared(group, one, positions, MODEL_TYPES[model_type].rotated_slice is not None)
        assert not (told := other_keys(group, one.visible)), f"layer {one.layer}, {group.attention}: {told}"
        if model_type not in SCALED_BEFORE:
            factor = one.scale * math.sqrt(one.q.shape[-1])
            assert group.logit_factor == pytest.approx(factor), f"layer {one.layer}: logits times {factor}"
        assert not problem, f"layer {one.layer}, {group.attention}: {problem}; read {group.encodings}"


def group_of(groups: tuple[LayerGroup, ...], seen: Seen) -> LayerGroup:
    own = [group for group in groups if seen.layer in group.layers]
    inside = [group for group in own if group.part in seen.name]
    return (inside or own)[-1]


def other_keys(group: LayerGroup, visible: torch.Tensor | None) -> str:
    """Which keys a query sees that it should not, or the other way round; "" where none does."""
    visible = torch.ones(len(POSITIONS), len(POSITIONS), dtype=torch.bool) if visible is None else visible
    query, key = torch.arange(len(visible))[:, None], torch.arange(len(visible))[None, :]
    expected = torch.ones_like(visible)
    if isinstance(group.window, Window):
        expected = (query - key <= group.window.before) & (key - query <= group.window.after)
    elif isinstance(group.window, Chunks):
        expected = query // group.window.size == key // group.window.size
    causal = not visible[0, 1:].any()
    expected &= (key <= query) if causal else torch.ones_like(visible)
    return "" if torch.equal(expected, visible) else f"queries see {visible.sum(-1).tolist()} keys; read {group.window}"


def compared(group: LayerGroup, seen: Seen, positions: tuple[int, ...], latent: bool) -> str:
    """Which of queries and keys are not the first of them, rotated; "" where both are."""
    wrong = []
    for name, states in (("queries", seen.q.double()), ("keys", seen.k.double())):
        expected = [
            moved(group, order, positions, name == "queries")
            for order in (orders(group, states) if latent else [states])
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
    if group.rotation is not None:
        positions = torch.tensor(places)
        positions = positions if group.rotation.axes == 1 else positions[:, None].expand(-1, group.rotation.axes)
        turn = group.rotation.turn(positions, dtype=torch.float64)
        ones = turn(torch.ones_like(expected)[None], layout="bhtd")[0, :, :1]  # the attention factor, at position 0
        expected = turn((expected / ones)[None], layout="bhtd")[0]
    if query and group.query_temperature is not None:
        factor = group.query_temperature.factor(torch.tensor(places), dtype=torch.float64)
        expected = expected * (factor / factor[0])[:, None]
    return expected, states


@pytest.mark.parametrize("model_type", DAILY)
def test_a_live_model_does_what_is_read(model_type: str):
    check(model_type)


@pytest.mark.nightly
@pytest.mark.parametrize("model_type", [name for name in TYPES if name not in (*DAILY, *NOT_BUILT, *NOT_COMPARED)])
def test_every_live_model_does_what_is_read(model_type: str):
    check(model_type)


@pytest.mark.nightly
@pytest.mark.parametrize("model_type", sorted(NOT_BUILT))
def test_a_type_that_is_not_compared_cannot_be(model_type: str):
    """A type that can be built after all belongs to the others."""
    with pytest.raises(NotBuiltError):
        seen_by_attention(model_type, tiny_settings(model_type), POSITIONS)
