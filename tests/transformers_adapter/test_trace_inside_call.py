"""Faults inside one forward: blocks that begin again, positions that stay at the last, one layer of another base."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

from posenc.transformers import trace
from transformers_adapter.test_trace import traced_run
from transformers_adapter.trace_plants import Change, built, drawn, in_chunks, plant

IDS = drawn(1, 32)


def changed(change: Change, run: Any = lambda model: model(IDS)) -> Any:
    model = built("llama")
    plant(model, change)
    return traced_run(model, run)


def other_angles(model: Any, layer: int, rotary: Any, change: Change = lambda ids: ids) -> None:
    """Give one layer the cosines and sines of another rotation or of other positions."""
    attention = model.model.layers[layer].self_attn
    own = attention.forward

    def forward(hidden_states: torch.Tensor, **named: Any) -> Any:
        ids = change(torch.arange(hidden_states.shape[1])[None])
        return own(hidden_states, **named | {"position_embeddings": rotary(hidden_states, ids)})

    attention.forward = forward


@pytest.mark.parametrize(
    ("start", "end", "low", "used"),
    [(16, 24, 16, "0-15 0-7 24-31"), (16, 32, 16, "0-15 0-15"), (20, 32, 13, "0-19 7-18")],
)
def test_a_block_that_begins_again_inside_a_call_is_named(start: int, end: int, low: int, used: str) -> None:
    moved = low * ((torch.arange(32) >= start) & (torch.arange(32) < end))
    traced = changed(lambda ids: ids - moved)
    assert str(traced).splitlines()[1:] == [
        f"  row 0, layers 0-2: q and k at {used}; the last query sees tokens 0-31 (32 of 32 slots)"
    ]  # a zero has no sign: all layers in one line
    (finding,) = traced.check().findings
    assert finding.name == "positions restarted"
    assert f"the query of token {start} is rotated to position {start - low} where {start} is meant" in finding.sentence
    assert "inside this call" in finding.sentence
    assert "a rank of a split sequence does not add its offset" in finding.sentence


def test_positions_that_only_fall_behind_do_not_restart() -> None:
    found = changed(lambda ids: ids - 2 * (ids >= 16) * (ids % 2)).check().findings
    assert [finding.name for finding in found] == ["other positions"]


def test_positions_that_stay_at_the_last_are_named_with_their_layers() -> None:
    model = built("llama")
    for layer in (1, 2):
        other_angles(model, layer, model.model.rotary_emb, lambda ids: ids.clamp(max=20))
    (finding,) = traced_run(model, lambda model: model(IDS)).check().findings
    assert (finding.name, finding.where) == ("table ends", "layers 1-2")
    assert (
        "Call 0, layer 1, row 0: the query of token 21 is rotated to position 20 where 21 is meant" in finding.sentence
    )


def test_tokens_that_stay_at_the_last_one_by_one_are_named() -> None:
    (finding,) = changed(lambda ids: ids.clamp(max=25), lambda model: in_chunks(model, 8, new=5)).check().findings
    assert finding.name == "table ends"
    assert "the query of token 26 is rotated to position 25 where 26 is meant" in finding.sentence


def test_layers_of_another_base_are_told() -> None:
    model = built("llama")
    bases = {1: 500000.0, 2: 1000.0}
    for layer, base in bases.items():
        config = type(model.config)(
            **model.config.to_dict() | {"rope_parameters": {"rope_type": "default", "rope_theta": base}}
        )
        other_angles(model, layer, LlamaRotaryEmbedding(config))
    with trace(model) as traced:
        model(IDS)
    unknown = [line.split(";")[0] for line in str(traced).splitlines()[2:]]
    assert unknown == ["  row 0, layers 1-2: q and k at 0 ?"]
    found = traced.check().findings
    assert [(finding.name, finding.where, finding.sentence.split()[3]) for finding in found] == [
        ("base", "layer 1", "500000"), ("base", "layer 2", "1000"),
    ]  # fmt: skip


@pytest.mark.parametrize("masked", [False, True])
def test_a_restart_that_is_ignored_is_told(masked: bool) -> None:
    lengths = (5, 8, 19)
    ids = torch.cat([torch.arange(length) for length in lengths])[None]
    model = built("llama")
    run_on = torch.cat([torch.arange(5), torch.arange(27)])[None]  # the third document goes on from the second
    if masked:
        plant(model, lambda ids: run_on)
    else:
        inner = model.model.forward
        model.model.forward = lambda *rest, position_ids=None, **named: inner(*rest, position_ids=run_on, **named)
    found = traced_run(model, lambda model: model(IDS, position_ids=ids, use_cache=False)).check()
    assert "all positions of the third document of row 0 are shifted by +8" in found.notes[0]
    assert "a whole document whose tokens see no other" in found.notes[0]
    assert [finding.name for finding in found.findings] == ([] if masked else ["documents leak"])
    for finding in found.findings:
        assert "the query of token 13 sees tokens 5, 6" in finding.sentence
        assert finding.sentence.endswith("The restart at token 13 was ignored: it is at position 8 where 0 is meant.")
        assert finding.fix.startswith("Mask keys of other documents, and begin at 0 in each")
