"""`posenc explain RECORD --position 0 1 2`: the rows of several positions in one table."""

from __future__ import annotations

import numpy as np

from posenc.cli.answer import Answer
from posenc.cli.show import attributes, headed
from posenc.core.doors import AdditiveEncoding
from posenc.inspect import position_table


def explain_table(record: AdditiveEncoding, positions: tuple[int | float, ...], seed: int) -> Answer:
    """The encoding at each position, a row each; what it learns is drawn from the seed."""
    params = record.init(np.random.default_rng(seed)) if record.shapes else None
    table = position_table(record, list(positions), params=params)
    return Answer(lambda: {"record": record, **attributes(table, "positions", "rows")}, lambda: headed(table.lines()))
