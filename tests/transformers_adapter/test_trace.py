"""Positions that a running model used: stock models agree, and each planted fault is named with its first token."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from posenc.transformers import trace
from transformers_adapter.trace_plants import MODELS, POSITION_FAULTS, built, drawn, in_chunks, padded

ROTARY = [model_type for model_type in MODELS if model_type not in ("bloom", "gpt2")]
WITH_POSITIONS = [*ROTARY, "gpt2"]


def traced_run(model: Any, run: Any, **stated: Any) -> Any:
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with torch.no_grad(), trace(model, **stated) as traced:
        run(model)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    return traced


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_stock_decoding_with_padding_agrees(attention: str) -> None:
    model = built("llama", attention)
    traced = traced_run(model, lambda model: in_chunks(model, 8, new=3, mask=padded()))
    found = traced.check()
    assert found.verdict == "agree in everything that this evidence can show", str(found)
    assert str(traced).splitlines()[-2:] == [
        "  row 0, layers 0-2: q and k at 24-26; the last query sees tokens 0-26 (27 of 27 slots)",
        "  row 1, layers 0-2: q and k at 21-23; the last query sees tokens 3-26 (24 of 27 slots)",
    ]


@pytest.mark.parametrize(("model_type", "fault"), [("llama", "restarted"), ("gpt2", "padding")])
def test_a_planted_fault_is_named(model_type: str, fault: str) -> None:
    _named(model_type, fault)


@pytest.mark.nightly
@pytest.mark.parametrize("fault", POSITION_FAULTS)
@pytest.mark.parametrize("model_type", WITH_POSITIONS)
def test_every_planted_fault_is_named(model_type: str, fault: str) -> None:
    _named(model_type, fault)


def _named(model_type: str, fault: str) -> None:
    run, stated, name = POSITION_FAULTS[fault]
    found = traced_run(built(model_type), run, **stated).check()
    assert [finding.name for finding in found.findings][:1] == [name], str(found)
    assert found.exit_code == 1


def test_the_first_wrong_token_is_told() -> None:
    run, _, _ = POSITION_FAULTS["restarted"]
    (finding,) = traced_run(built("llama"), run).check().findings
    assert finding.sentence.startswith(
        "Call 1, layer 0, row 0: the query of token 8 is rotated to position 0 where 8 is meant."
    )


def test_padding_under_a_rotation_is_a_note_and_no_alarm() -> None:
    def run(model: Any) -> None:
        model(drawn(2, 24), attention_mask=padded())  # positions count the padding: one shift of the whole row

    found = traced_run(built("llama"), run).check()
    assert found.agree, str(found)
    assert "all positions of row 1 are shifted by +3" in found.notes[0]


def test_what_cannot_be_traced_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^model must be a loaded model of transformers; got 3"), trace(3):
        pass
    model = built("llama")
    alone = pytest.raises(ValueError, match=r"^positions must come alone; got documents or offset as well")
    with alone, trace(model, positions=torch.arange(3), offset=2):
        pass
    short = pytest.raises(ValueError, match=r"^documents must hold every token of a row; got lengths that sum to 5")
    with short, trace(model, documents=(2, 3)):
        model(drawn(1, 8))
    with pytest.raises(ValueError, match=r"^record must hold a call"), trace(model) as traced:
        traced.check()
