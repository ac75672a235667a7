"""Rows of a learned table that tokens read, by their positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from posenc.diagnosis.verdict import Diagnosis
from posenc.encodings.adds.learned import Learned
from posenc.models.model_positions import ModelPositions
from posenc.probe.answers import Answers
from posenc.probe.layout import ProbeLayout
from posenc.probe.prompts import Prompt
from posenc.probe.row_mistakes import row_finding
from posenc.probe.stream import LOGIT

#: A bit is read if its logit is at least so large.
LEAST_LOGIT = LOGIT / 8


@dataclass(frozen=True)
class TableRows:
    """Rows of a learned table that an engine read.

    Attributes:
        positions: Positions that were asked.
        rows: The row that each read, from 0; -1 where no row was added.
    """

    positions: tuple[int, ...]
    rows: tuple[int, ...]

    def sentence(self) -> str:
        """Say what was read, in one line.

        Returns:
            The sentence.
        """
        if set(self.rows) == {-1}:
            return "no row of the table is added"
        shown = ", ".join(f"{position} → {row}" for position, row in [*zip(self.positions, self.rows, strict=True)][:4])
        last = f"{self.positions[-1]} → {self.rows[-1]}"
        return f"rows of the table by position: {shown}, ..., {last}; read exactly, bit by bit"


def read_rows(layout: ProbeLayout, prompts: Sequence[Prompt], answers: Answers) -> TableRows:
    """The row that every asked position reads."""
    stream = layout.stream
    positions: list[int] = []
    rows: list[int] = []
    for prompt in prompts:
        (ids,) = prompt.coordinates()
        logits = answers.rows[prompt.name]
        bits = logits[:, stream.bit(0) : stream.vocabulary] - logits[:, stream.constant, None]
        number = (bits > 0) @ (1 << np.arange(stream.bits))
        positions += [ids[row] for row in prompt.rows]
        rows += np.where((np.abs(bits) > LEAST_LOGIT).all(1), number, -1).tolist()
    return TableRows(tuple(positions), tuple(rows))


def judge_rows(expected: ModelPositions, reading: TableRows) -> Diagnosis:
    """Compare the rows with the positions and the offset that the config states."""
    offset, last = expected.groups[0].offset, _last_row(expected)
    compared = f"rows of the learned table at {len(reading.rows)} positions"
    positions, rows = np.array(reading.positions), np.array(reading.rows)
    finding = None if np.array_equal(positions + offset, rows) else row_finding(positions, rows, offset, last)
    findings = () if finding is None else (finding,)
    return Diagnosis(not findings, findings, compared=compared, looked_at=("table rows",))


def _last_row(expected: ModelPositions) -> int:
    return max(one.length for group in expected.groups for one in group.encodings if isinstance(one, Learned)) - 1
