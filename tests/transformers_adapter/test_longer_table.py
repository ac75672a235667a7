"""A trained table of positions with more rows: kept, extended by a named way, saved, and never lost in a swap."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers

import posenc
from posenc.torch import module
from posenc.transformers import compare_extensions, extend_table, swap
from transformers_adapter.tiny_models import SIZES
from transformers_adapter.tiny_models import model as small

ROWS, LENGTH = 12, 20
IDS = torch.randint(3, 32, (2, LENGTH), generator=torch.Generator().manual_seed(1))
GPT2 = {"vocab_size": 32, "n_embd": 48, "n_layer": 2, "n_head": 4, "bos_token_id": 1, "eos_token_id": 2}


def gpt2(**changes: Any) -> Any:
    torch.manual_seed(0)
    config = transformers.GPT2Config(n_positions=ROWS, initializer_range=0.3, **GPT2)
    return transformers.GPT2LMHeadModel._from_config(config, **changes).eval()


def roberta() -> Any:
    """A table whose first two rows no token reads."""
    torch.manual_seed(0)
    config = transformers.RobertaConfig(**SIZES | {"max_position_embeddings": ROWS + 2, "initializer_range": 0.3})
    return transformers.RobertaForMaskedLM(config).eval()


def logits(one: Any, ids: Any) -> Any:
    with torch.no_grad():
        return one(ids).logits


def seed_of(way: str) -> int | None:
    return 3 if way == "draw" else None


@pytest.mark.parametrize("way", ["repeat", "last", "draw"])
@pytest.mark.parametrize("make", [gpt2, roberta, lambda: small("Bert", max_position_embeddings=ROWS)])
def test_rows_are_kept_and_a_saved_copy_is_the_copy(make: Any, way: Any, tmp_path: Any) -> None:
    one = make()
    before = one.state_dict()
    longer = extend_table(one, LENGTH, way=way, seed=seed_of(way))
    assert torch.equal(logits(longer, IDS[:, :ROWS]), logits(one, IDS[:, :ROWS]))
    longer.save_pretrained(tmp_path)
    loaded, report = type(one).from_pretrained(tmp_path, output_loading_info=True)
    assert not any(report[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    assert torch.equal(logits(loaded.eval(), IDS), logits(longer, IDS))
    stated = one.config.max_position_embeddings
    assert loaded.config.max_position_embeddings == stated + LENGTH - ROWS
    assert all(torch.equal(value, before[name]) for name, value in one.state_dict().items())


def test_the_rows_of_each_way() -> None:
    one = gpt2()
    rows = one.transformer.wpe.weight
    made = {
        way: extend_table(one, LENGTH, way=way, seed=seed_of(way)).transformer.wpe.weight
        for way in ("stretch", "repeat", "last", "draw")
    }
    assert torch.equal(made["repeat"][ROWS:], rows[: LENGTH - ROWS])
    assert torch.equal(made["last"][ROWS:], rows[-1:].expand(LENGTH - ROWS, -1))
    assert torch.equal(made["stretch"][[0, -1]], rows[[0, -1]])
    middle = (ROWS - 1) * 10 / (LENGTH - 1)
    wanted = torch.lerp(rows[int(middle)], rows[int(middle) + 1], middle % 1)
    torch.testing.assert_close(made["stretch"][10], wanted)
    many = extend_table(one, 4000, way="draw", seed=0).transformer.wpe.weight[ROWS:]
    torch.testing.assert_close(many.mean(0), rows.mean(0), atol=0.03, rtol=0)
    torch.testing.assert_close(many.std(0), rows.std(0, correction=0), atol=0.03, rtol=0)


def test_dtype_mode_and_frozen_parameters_stay() -> None:
    one = gpt2(dtype=torch.bfloat16).train()
    one.transformer.wte.weight.requires_grad_(False)
    torch.manual_seed(5)
    longer = extend_table(one, LENGTH, way="stretch")
    assert (longer.dtype, longer.training) == (torch.bfloat16, True)
    assert not longer.transformer.wte.weight.requires_grad
    drawn = torch.rand(1)
    torch.manual_seed(5)
    assert torch.equal(drawn, torch.rand(1))  # the caller's generator is left alone


def test_ways_are_compared_on_a_text() -> None:
    one = gpt2()
    compared = compare_extensions(one, IDS)
    assert (compared.rows, compared.length, len(compared.ways)) == (ROWS, LENGTH, 4)
    by_way = {each.way: each for each in compared.ways}
    assert by_way["stretch"].logit_change > 0.1
    for way in ("repeat", "last", "draw"):
        assert by_way[way].loss_within == pytest.approx(compared.loss_before, rel=1e-5)
    ids = IDS.clone()
    labels = torch.where(torch.arange(LENGTH) > ROWS, ids, -100)  # predicted at positions from ROWS on
    with torch.no_grad():
        wanted = extend_table(one, LENGTH, way="last")(ids, labels=labels).loss
    assert by_way["last"].loss_beyond == pytest.approx(float(wanted), rel=1e-5)
    assert "before training; chance is 3.466" in str(compared)
    assert "stretch" in str(compared)


def test_a_swap_loses_no_trained_row_and_says_what_it_drew() -> None:
    one = gpt2()
    with pytest.raises(ValueError, match=r"^encoding must not put random numbers in place of the 12 rows of transf"):
        swap(one, [posenc.Learned(dim=48, length=64), posenc.T5Bias(heads=4)])
    own = module(posenc.Learned(dim=48, length=64))
    with swap(one, own) as swapped:
        assert swapped.drawn == ()
        assert str(swapped.proof).endswith("of the encoding that is in now, nothing was measured")
    with swap(one, [own, posenc.T5Bias(heads=4)]) as swapped:
        assert swapped.drawn == tuple(f"transformer.h.{layer}.attn.posenc.0.table" for layer in (0, 1))


REFUSED = [
    (lambda: extend_table(gpt2(), LENGTH, way="zeros"), r"^way must be one of 'stretch'"),  # type: ignore[arg-type]
    (lambda: extend_table(gpt2(), ROWS, way="last"), r"^length must be an integer from 13"),
    (lambda: extend_table(gpt2(), LENGTH, way="draw"), r"^seed must be given for way='draw' .* Give a number"),
    (lambda: extend_table(gpt2(), LENGTH, way="last", seed=1), r"^seed must .* Leave it out"),
    (lambda: extend_table(small("Llama"), LENGTH, way="last"), r"^model must have a learned table of positions"),
    (lambda: compare_extensions(gpt2(), IDS[:, :ROWS]), r"^ids must be whole numbers \(batch, n\) with n from 14"),
    (lambda: compare_extensions(roberta(), IDS), r"^model must predict the next token .* change by"),
    (lambda: compare_extensions(gpt2().transformer, IDS), r"^model must predict the next token .* of shape"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_refusals(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_what_else_follows_from_the_length_is_refused() -> None:
    one = gpt2()
    one.config.n_positions = 99
    with pytest.raises(ValueError, match="its table has 12 rows, and its config states 99"):
        extend_table(one, LENGTH, way="last")
    one = gpt2()
    one.transformer.register_buffer("places", torch.arange(ROWS))
    with pytest.raises(ValueError, match="more than the table follows from its length"):
        extend_table(one, LENGTH, way="last")


def test_a_model_with_a_swap_in_is_refused() -> None:
    one = gpt2()
    with (
        swap(one, posenc.ALiBi(heads=4)),
        pytest.raises(ValueError, match=r"^model must have its own table; got a swap"),
    ):
        extend_table(one, LENGTH, way="last")
