"""Documents packed into rows: in a model of transformers they give the logits that each gives by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from posenc.torch import PackedCollator, document_mask

LENGTHS = (5, 1, 9, 3)
TEXTS = [
    {"input_ids": torch.randint(2, 64, (length,), generator=torch.Generator().manual_seed(length)).tolist()}
    for length in LENGTHS
]


def llama(attention: str) -> Any:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=64, hidden_size=64, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64, attn_implementation=attention,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config).eval()


def separate(model: Any) -> torch.Tensor:
    with torch.no_grad():
        return torch.cat([model(torch.tensor([text["input_ids"]])).logits[0] for text in TEXTS])


@pytest.mark.parametrize("attention", ["eager", "sdpa", pytest.param("flex_attention", marks=pytest.mark.nightly)])
@pytest.mark.parametrize("length", [None, 12])
def test_packed_logits_are_those_of_each_document(attention: str, length: int | None) -> None:
    model = llama(attention)
    batch = PackedCollator(attention=attention, length=length, document_ids=True)(TEXTS)  # type: ignore[arg-type]
    numbers = batch.pop("document_ids")
    with torch.no_grad():
        packed = model(**batch).logits
    # First fit: documents 0, 1 and 3 fill a row of 12, and 2 has its own.
    rows = [TEXTS] if length is None else [[TEXTS[0], TEXTS[1], TEXTS[3]], [TEXTS[2]]]
    single = llama("sdpa")
    for row, own in enumerate(rows):
        for number, text in enumerate(own):
            with torch.no_grad():
                alone = single(torch.tensor([text["input_ids"]])).logits[0]
            # Two layers of float32 with sums of 64: some 2^-24 a sum, relative to logits below 1.
            torch.testing.assert_close(packed[row, numbers[row] == number], alone, rtol=0, atol=2e-6)
    assert int((numbers == -1).sum()) == (0 if length is None else 24 - sum(LENGTHS))


def test_without_the_mask_or_the_positions_they_are_others() -> None:
    model, batch = llama("sdpa"), PackedCollator(attention="sdpa")(TEXTS)
    whole = {"input_ids": batch["input_ids"]}
    causal = torch.ones(18, 18, dtype=torch.bool).tril()[None, None]
    with torch.no_grad():
        leaking = model(**whole, position_ids=batch["position_ids"], attention_mask=causal).logits[0]
    assert (leaking - separate(model)).abs().max() > 1e-2


def test_labels_of_a_document_do_not_cross_its_border() -> None:
    model, batch = llama("sdpa"), PackedCollator(attention="sdpa", length=12, pad_token=1)(TEXTS)
    losses = []
    for text in TEXTS:
        tokens = torch.tensor([text["input_ids"]])
        losses += [model(tokens, labels=tokens).loss.detach() * (len(tokens[0]) - 1)] if len(tokens[0]) > 1 else []
    expected = sum(losses) / (sum(LENGTHS) - len(LENGTHS))
    with torch.no_grad():
        torch.testing.assert_close(model(**batch).loss, expected, rtol=1e-5, atol=0)


@pytest.mark.parametrize("attention", ["sdpa", "flex_attention"])
def test_a_loader_takes_it(attention: str) -> None:
    collate = PackedCollator(attention=attention)  # type: ignore[arg-type]
    batches = list(DataLoader(TEXTS, batch_size=2, collate_fn=collate))
    assert [batch["attention_mask"].shape for batch in batches] == [(1, 1, 6, 6), (1, 1, 12, 12)]


@pytest.mark.nightly
def test_a_trainer_takes_it(tmp_path: Any) -> None:
    transformers = pytest.importorskip("transformers")
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path), max_steps=2, per_device_train_batch_size=2, report_to=[], use_cpu=True,
        logging_strategy="no", save_strategy="no", disable_tqdm=True,
    )  # fmt: skip
    collate = PackedCollator(attention="sdpa")
    trainer = transformers.Trainer(llama("sdpa"), arguments, data_collator=collate, train_dataset=TEXTS)
    assert np.isfinite(trainer.train().training_loss)


def test_flash_attention_gets_boundaries() -> None:
    batch = PackedCollator(attention="flash_attention_2")(TEXTS)
    assert batch["cu_seq_lens_q"].tolist() == [0, 5, 6, 15, 18]
    assert batch["cu_seq_lens_q"].dtype == torch.int32
    assert (batch["max_length_q"], batch["max_length_k"]) == (9, 9)
    assert "attention_mask" not in batch


def test_it_gives_what_the_collator_of_transformers_gives() -> None:
    transformers = pytest.importorskip("transformers")
    texts = [{**text, "labels": [token + 1 for token in text["input_ids"]]} for text in TEXTS]
    theirs = transformers.DataCollatorWithFlattening(return_flash_attn_kwargs=True)(texts)
    ours = PackedCollator(attention="flash_attention_2")(texts)
    for name, value in ours.items():
        assert torch.equal(torch.as_tensor(value), torch.as_tensor(theirs[name])), name


GOOD = {"input_ids": [1, 2, 3]}
REFUSED = {
    "features must be a list of mappings": [1],
    "features must hold a document or more; got none": [],
    "features must all have labels, or none; got 1 of 2": [GOOD, GOOD | {"labels": [1, 2, 3]}],
    r"features must hold input_ids, labels and attention_mask alone; got \['input_ids', 'more'\] in feature 1": [
        GOOD, GOOD | {"more": [0, 0, 0]}],
    "features must have labels as long as input_ids, 3; got 2 in feature 0": [GOOD | {"labels": [1, 2]}],
    "features must hold no padding; got 1 of 3 tokens in feature 0": [GOOD | {"attention_mask": [1, 1, 0]}],
    "features must hold a token or more; got none in feature 0": [{"input_ids": []}],
    "features must hold documents of at most length=4 tokens; got 5 in feature 1": [GOOD, {"input_ids": [1] * 5}],
    r"features must hold input_ids as a list of whole numbers; got torch.int64 of shape \(1, 2\) in feature 0": [
        {"input_ids": [[1, 2]]}],
    "features must hold labels as a list of whole numbers; got None": [GOOD | {"labels": None}],
    "features must hold input_ids as a list of whole numbers; got 'text'": [{"input_ids": "text"}],
}  # fmt: skip


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_refused(message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{message}"):
        PackedCollator(attention="sdpa", length=4)(REFUSED[message])  # type: ignore[arg-type]


def test_fields_and_masks_that_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^attention must be one of 'sdpa', 'eager'"):
        PackedCollator(attention="flash")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^length must be left out for 'flash_attention_2'.* got 8"):
        PackedCollator(attention="flash_attention_2", length=8)
    with pytest.raises(TypeError, match=r"^documents must be a tensor of integers"):
        document_mask(torch.zeros(1, 2), attention="sdpa")
    with pytest.raises(ValueError, match=r"^documents must have shape \(rows, n\); got \(2,\)"):
        document_mask(torch.zeros(2, dtype=torch.long), attention="sdpa")
    with pytest.raises(ValueError, match=r"^documents, squared, must need at most"):
        document_mask(torch.zeros(1, 1 << 20, dtype=torch.long), attention="sdpa")
