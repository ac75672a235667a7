"""An audit of running models: stock ones hold, planted faults break the check that they concern."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from posenc.transformers import audit
from posenc.transformers.auditing.audit_model import _in_tf32
from posenc.transformers.auditing.audit_report import AuditReport, AuditResult
from transformers_adapter.trace_plants import built, drawn, plant

ALL = ["batch", "left padding", "left padding with ids", "packed", "cached", "chunked", "shift", "generate then train",
       "long positions", "cast", "autocast", "TF32"]  # fmt: skip


def sharpened(model_type: str) -> Any:
    """A model whose attention depends on positions."""
    model = built(model_type, "sdpa")
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() == 2 and "embed" not in name and "wpe" not in name and "wte" not in name:
                weight.normal_(std=2 * weight.shape[1] ** -0.5, generator=torch.Generator().manual_seed(len(name)))
    return model


def outcomes(model: Any) -> dict[str, str]:
    return {result.name: result.outcome for result in audit(model).results}


def test_a_stock_llama_holds_but_where_its_frequencies_are_cast() -> None:
    model = sharpened("llama")
    before = {name: value.clone() for name, value in model.state_dict().items()}
    report = audit(model)
    assert [result.name for result in report.results] == ALL
    assert [result.name for result in report.breaks] == ["cast"]
    assert (report.breaks[0].place, report.breaks[0].token) == ("layer 0", 12)
    assert report.exit_code == 1
    assert str(report).startswith(
        "llama: the runs differ\ncast: breaks from token 12 of row 0, first seen in layer 0 ("
    )
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_a_table_read_behind_padding_breaks() -> None:
    found = outcomes(built("gpt2"))
    assert found["left padding"] == "breaks"
    assert found["left padding with ids"] == "holds"
    assert found["shift"] == "not compared"


def test_planted_faults_break_their_check() -> None:
    restarted = sharpened("llama")
    plant(restarted, lambda ids: ids - ids[..., :1])
    found = outcomes(restarted)
    assert (found["cached"], found["chunked"], found["batch"]) == ("breaks", "breaks", "holds")
    counted = sharpened("llama")
    plant(counted, lambda ids: torch.arange(ids.shape[-1])[None] + (ids[..., :1] > 0) * ids[..., :1])
    assert outcomes(counted)["packed"] == "holds"  # one shift of a whole document


def test_positions_of_one_row_for_the_whole_batch_break_the_full_row_in_a_padded_batch() -> None:
    model = sharpened("llama")
    plant(model, lambda ids: ids[:1].expand(ids.shape))
    padded = next(result for result in audit(model).results if result.name == "left padding with ids")
    assert (padded.outcome, padded.row) == ("breaks", 1)


@pytest.mark.nightly
@pytest.mark.parametrize("model_type", ["qwen3", "gemma3_text", "gpt_neox", "mistral", "cohere2"])
def test_stock_models_hold(model_type: str) -> None:
    found = outcomes(sharpened(model_type))
    assert {name for name, outcome in found.items() if outcome == "breaks"} <= {"cast"}


def test_a_report_says_where_nothing_was_compared():
    result = AuditResult("batch", "rows in a batch, and alone", "not compared", reason="the model reads no tokens")
    none = AuditReport("t5", (result,))
    assert (str(none).splitlines()[0], none.exit_code) == ("t5: nothing was compared", 3)
    one = AuditReport("t5", (result, replace(result, outcome="holds")))
    assert str(one).splitlines()[0] == "t5: the runs agree in what was compared"


def test_what_cannot_be_audited_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^model must be a loaded model of transformers; got 3"):
        audit(3)
    with pytest.raises(ValueError, match=r"^length must be"):
        audit(built("llama"), length=4)
    with pytest.raises(ValueError, match=r"^length must be one that the model reads; got 80, .* IndexError"):
        audit(built("gpt2"), length=80)
    with pytest.raises(ValueError, match=r"^model must have at most most_weights=10 weights"):
        audit(built("llama"), most_weights=10)


@pytest.mark.parametrize("error", [RuntimeError("no kernel"), KeyError("rope"), IndexError("index out of range")])
@pytest.mark.parametrize("length", [16, 24])
def test_an_error_at_any_length_is_shown_as_it_was(error: Exception, length: int) -> None:
    def failing(*given: Any, **named: Any) -> None:
        raise error

    model = built("llama")
    model.model.layers[1].forward = failing
    with pytest.raises(ValueError, match=r"^model must run over") as told:
        audit(model, length=length)
    assert f"{length} tokens; got LlamaForCausalLM, which raises {type(error).__name__}: {error}." in str(told.value)
    assert told.value.__cause__ is error


def test_products_in_tf32_are_asked_for_and_taken_back() -> None:
    tokens, near = drawn(2, 8), torch.arange(8)
    found, allowed = _in_tf32(built("llama"), tokens, near, near + 100 * (near > 3))
    assert torch.get_float32_matmul_precision() == "highest"
    assert all(float(gap.max()) == 0.0 for gap in (*found, *allowed)), "a CPU has no TF32"
    tf32 = audit(built("llama")).results[-1]
    assert (tf32.outcome, tf32.reason) == ("not compared", "a CPU has no TF32; run it on a GPU")
