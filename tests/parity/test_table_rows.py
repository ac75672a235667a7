"""Rows of tables of learned positions against transformers 5.23.0, live: padded batches, and tokens behind a cache."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from parity.test_media import modeling
from posenc.positions import table_rows

pytestmark = pytest.mark.parity
MASK = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1], [1, 1, 0, 0, 0]])
PADDING = 7
TOKENS = torch.where(MASK.bool(), 3, PADDING)


def looked_up(kind: type, *arguments: Any, **named: Any) -> list[list[int]]:
    table = kind(20, 1)
    table.weight.data = torch.arange(22.0)[:, None]
    return table(*arguments, **named)[..., 0].long().tolist()


@pytest.mark.parametrize(
    ("folder", "owner", "table"),
    [
        ("roberta", "RobertaEmbeddings", "roberta"),
        ("camembert", "CamembertEmbeddings", "roberta"),
        ("m2m_100", "M2M100SinusoidalPositionalEmbedding", "fairseq"),
        ("nllb_moe", "NllbMoeSinusoidalPositionalEmbedding", "fairseq"),
        ("speech_to_text", "Speech2TextSinusoidalPositionalEmbedding", "fairseq"),
    ],
)
def test_families_of_fairseq(folder: str, owner: str, table: str) -> None:
    kind = getattr(modeling(folder), owner)
    make = kind.create_position_ids_from_input_ids
    bound = not isinstance(kind.__dict__["create_position_ids_from_input_ids"], staticmethod)
    arguments = (*[None] * bound, TOKENS, PADDING)
    for cached in (0, 4):
        live = make(*arguments, past_key_values_length=cached)
        assert table_rows(MASK, table=table, padding_idx=PADDING, cached=cached).tolist() == live.tolist()


@pytest.mark.parametrize(
    ("folder", "owner"), [("opt", "OPTLearnedPositionalEmbedding"), ("biogpt", "BioGptLearnedPositionalEmbedding")]
)
def test_families_of_opt(folder: str, owner: str) -> None:
    kind = getattr(modeling(folder), owner)
    assert table_rows(MASK, table="opt").tolist() == looked_up(kind, MASK)


@pytest.mark.parametrize(
    ("folder", "owner"),
    [
        ("bart", "BartLearnedPositionalEmbedding"),
        ("mbart", "MBartLearnedPositionalEmbedding"),
        ("mvp", "MvpLearnedPositionalEmbedding"),
        ("plbart", "PLBartLearnedPositionalEmbedding"),
    ],
)
def test_families_of_bart(folder: str, owner: str) -> None:
    kind = getattr(modeling(folder), owner)
    for cached in (0, 4):
        live = looked_up(kind, TOKENS, past_key_values_length=cached)
        assert table_rows(MASK, table="bart", cached=cached).tolist() == live
