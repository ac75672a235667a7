"""Rows of a learned table that tokens read, by their positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.verdict import Diagnosis
from posenc.models.model_positions import ModelPositions
from posenc.probe.answers import Answers
from posenc.probe.layout import ProbeLayout
from posenc.probe.prompts import Prompt
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
        ids = prompt.position_ids or range(len(prompt.tokens))
        logits = answers.rows[prompt.name]
        bits = logits[:, stream.bit(0) : stream.vocabulary] - logits[:, stream.constant, None]
        number = (bits > 0) @ (1 << np.arange(stream.bits))
        positions += [ids[row] for row in prompt.rows]
        rows += np.where((np.abs(bits) > LEAST_LOGIT).all(1), number, -1).tolist()
    return TableRows(tuple(positions), tuple(rows))


def judge_rows(expected: ModelPositions, reading: TableRows) -> Diagnosis:
    """Compare the rows with the positions and the offset that the config states."""
    offset = expected.groups[0].offset
    compared = f"rows of the learned table at {len(reading.rows)} positions"
    meant = tuple(position + offset for position in reading.positions)
    finding = None if reading.rows == meant else _finding(np.array(meant), np.array(reading.rows), offset)
    findings = () if finding is None else (finding,)
    return Diagnosis(not findings, findings, compared=compared, looked_at=("table rows",))


def _finding(meant: np.ndarray, rows: np.ndarray, offset: int) -> Finding:
    shift = set((rows - meant).tolist())
    wrong = int(np.flatnonzero(rows != meant)[0])
    first = f"From row {meant[wrong]} on"
    if set(rows.tolist()) == {-1}:
        return Finding("table left out", "No row of the learned table is added.", "Add it to the token embeddings.")
    if len(shift) == 1:
        (step,) = shift
        sentence = f"Tokens read rows {abs(step)} too {'high' if step > 0 else 'low'}: the first reads {rows[0]}."
        return Finding("off by one" if abs(step) == 1 else "offset", sentence, f"The first token reads row {offset}.")
    if len(set(rows.tolist())) == 1:
        return Finding("positions", f"All tokens read row {rows[0]}.", "Count positions from the start of the text.")
    tail, rest = rows[wrong:], meant[wrong:]
    if len(set(tail.tolist())) == 1:
        return Finding("table ends", f"{first}, tokens read row {tail[0]}.", "Make the table long enough.")
    period = int(rest[0] - tail[0])
    if period > 0 and np.array_equal(tail, tail[0] + (rest - rest[0]) % period):
        sentence = f"{first}, tokens read row {tail[0]} and those after it."
        return Finding("table repeats", sentence, "Make the table long enough, and do not begin again.")
    sentence = f"Tokens read other rows: {rows[wrong]} in place of {meant[wrong]}."
    return Finding("positions", sentence, "Give position 0, 1, 2, ... to the tokens of a text.")
