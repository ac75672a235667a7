"""`posenc explain ENCODING --position 0 1 2`: the rows of several positions in one table."""

from __future__ import annotations

import numpy as np

from posenc.cli.answer import Answer
from posenc.cli.show import attributes, headed
from posenc.core.doors import AdditiveEncoding
from posenc.inspect import position_table


def explain_table(encoding: AdditiveEncoding, positions: tuple[int | float, ...], seed: int) -> Answer:
    """The encoding at each position, a row each; what it learns is drawn from the seed."""
    params = encoding.init(np.random.default_rng(seed)) if encoding.shapes else None
    table = position_table(encoding, list(positions), params=params)
    return Answer(
        lambda: {"encoding": encoding, **attributes(table, "positions", "rows")}, lambda: headed(table.lines())
    )
