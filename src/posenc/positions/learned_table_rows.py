"""Rows of learned position tables, with the offset and padding row of each model family."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.positions.sequences import LONGEST


class TableRule(NamedTuple):
    """Rule by which a model family numbers the rows of its position table.

    Attributes:
        first: Row of the first token.
        padding: Row of padding; None where padding counts as tokens do.
    """

    first: int
    padding: int | None


#: In transformers 5.23: `create_position_ids_from_input_ids`, `OPTLearnedPositionalEmbedding`,
#: `BartLearnedPositionalEmbedding`, and tables that are read by plain indices. The first are for `padding_idx` 1.
TABLES: Mapping[str, TableRule] = MappingProxyType(
    {
        "bert": TableRule(0, None),
        "gpt2": TableRule(0, None),
        "bart": TableRule(2, None),
        "opt": TableRule(2, 1),
        "roberta": TableRule(2, 1),
        "fairseq": TableRule(2, 1),
    }
)


def table_rows(
    mask: Array, *, table: str, rows: int | None = None, padding_idx: int | None = None, cached: int = 0
) -> Any:
    """Row of a table of learned positions for each token, with the offset of its family.

    Args:
        mask: (*batch, n), true or 1 for tokens, 0 for padding.
        table: "roberta" (XLM-R, CamemBERT, Longformer, ESM) and "fairseq" (M2M100, NLLB-MoE, Speech2Text): tokens
            count from padding_idx + 1, padding has padding_idx; "opt" (BioGPT): from 2, padding has 1; "bart" (mBART,
            MVP, PLBart): from 2, padding included; "bert" and "gpt2": from 0, padding included.
        rows: Rows of the table, which no token may lie beyond; None leaves that to the table.
        padding_idx: `pad_token_id` of "roberta" and "fairseq"; None for 1, which theirs is.
        cached: Number of tokens of each row that are in the cache already.

    Returns:
        Integers, in the shape of `mask`.

    Raises:
        TypeError: `mask` holds no truth values, or an argument no whole number.
        ValueError: A row is past the table, the table is unknown, or it has no `padding_idx`.

    Example:
        >>> table_rows([[0, 1, 1], [1, 1, 1]], table="roberta").tolist()
        [[1, 2, 3], [2, 3, 4]]
        >>> table_rows([[0, 1, 1]], table="bart").tolist()
        [[2, 3, 4]]
    """
    rule = TABLES[validation.choice("table", table, tuple(TABLES))]
    if padding_idx is not None:
        if table not in ("roberta", "fairseq"):
            raise ValueError(f"padding_idx must be left out for {table!r}, which has none; got {padding_idx}. Drop it.")
        number = validation.integer("padding_idx", padding_idx, 0, LONGEST)
        rule = TableRule(number + 1, number)
    first = rule.first + validation.integer("cached", cached, 0, LONGEST)
    tokens = arrays.as_mask("mask", mask)
    lib = arrays.library(tokens)
    counted = lib.astype(tokens, lib.integer)
    counted = lib.xp.ones_like(counted) if rule.padding is None else counted
    found = lib.astype(lib.xp.cumsum(counted, -1), lib.integer) + (first - 1)
    if rule.padding is not None:
        found = lib.xp.where(tokens, found, rule.padding)
    _inside(found, rows, first, lib)
    return found


def _inside(found: Array, rows: int | None, first: int, lib: Any) -> None:
    """Refuse rows past the table, where they can be read."""
    if rows is None:
        return
    rows = validation.integer("rows", rows, 1, LONGEST)
    ends = lib.extremes(found)
    if ends is not None and ends[1] >= rows:
        raise ValueError(
            f"mask must have at most {max(rows - first, 0)} tokens for a table of {rows} rows whose first token has "
            f"row {first}; got {ends[1] - first + 1}. Cut the text, or make the table longer."
        )
