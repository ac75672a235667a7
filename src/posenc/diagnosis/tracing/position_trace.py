"""The positions that a running model used, as a schedule to look at and to compare."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from posenc.core import text_lines
from posenc.diagnosis.tracing.judge_trace import judge_trace
from posenc.diagnosis.tracing.trace_records import TracedCall, TracedLayer, TraceRecord, places_together
from posenc.diagnosis.verdict import Diagnosis
from posenc.models.model_positions import layer_ranges

#: Blocks of calls, and lines of each, that a schedule shows before it says how many more there are.
MOST_BLOCKS, MOST_LINES = 12, 16


class PositionTrace(TraceRecord, text_lines.Lines):
    """Positions that a model used while it was traced, from `posenc.transformers.trace`.

    Printed, it is the schedule: for every call and row, the positions of queries and keys, layers that used the same
    together.
    """

    def check(self) -> Diagnosis:
        """Compare with what the config and the request ask for, and name the first wrong position.

        Returns:
            The verdict, with the call, layer, row and token of the first wrong position, and its likely cause.

        Raises:
            ValueError: No call of the model was recorded.
        """
        return judge_trace(self)

    def lines(self) -> list[str]:
        """Return the lines of the schedule."""
        blocks = self._blocks()
        lines = [line for block in blocks[:MOST_BLOCKS] for line in self._of_block(block)]
        left = len(blocks) - MOST_BLOCKS
        return [*lines, f"... and {left} more call{'s' if left > 1 else ''}"] if left > 0 else lines

    def _blocks(self) -> list[list[TracedCall]]:
        """Group calls into blocks: consecutive one-token calls of a sequence share one, others stand alone."""
        blocks: list[list[TracedCall]] = []
        for call in self.calls:
            last = blocks[-1][-1] if blocks else None
            follows = last is not None and last.count == 1 == call.count and last.start + 1 == call.start
            if follows and last.sequence == call.sequence and len(last.real) == len(call.real):  # type: ignore[union-attr]
                blocks[-1].append(call)
            else:
                blocks.append([call])
        return blocks

    def _of_block(self, block: list[TracedCall]) -> Iterator[str]:
        """The lines of calls that are shown together: rows and layers that did the same share one."""
        first, last = block[0], block[-1]
        if len(block) > 1:
            yield f"calls {first.number}-{last.number}: 1 token each, after {first.start}-{last.start}"
        else:
            yield f"call {first.number}: {first.count} token{'s' if first.count > 1 else ''} after {first.start}"
        alike: dict[str, dict[str, tuple[int, ...]]] = {}
        for row in range(len(first.real)):
            for name, words in self._of_row(block, row).items():
                alike.setdefault(words, {}).setdefault(name, ())
                alike[words][name] += (row,)
        shown: dict[tuple[tuple[int, ...], str], list[str]] = {}
        for words, rows_of in alike.items():
            for name, rows in rows_of.items():
                shown.setdefault((rows, words), []).append(name)
        for (rows, words), names in list(shown.items())[:MOST_LINES]:
            numbers = layer_ranges(rows).replace("layer", "row")
            yield f"  {numbers}, {places_together(names)}: {words}"
        if len(shown) > MOST_LINES:
            yield f"  ... and {len(shown) - MOST_LINES} more"

    def _of_row(self, block: list[TracedCall], row: int) -> dict[str, str]:
        """Positions of each layer in words, by its name, in one batch row of the calls."""
        steps: dict[str, list[TracedLayer]] = {}
        for call in block:
            for layer in self.of_call(call.number):
                steps.setdefault(layer.place, []).append(layer)
        return {name: self._in_words(layers, row) for name, layers in steps.items()}

    def _in_words(self, layers: list[TracedLayer], row: int) -> str:
        """Positions of a row in words, with the keys that its last query sees."""
        last, calls = layers[-1], [self.calls[layer.call] for layer in layers]
        if last.kind == "biases":
            return f"keys biased as at {_runs(last.keys[row], np.ones(last.keys.shape[2], dtype=bool))}"
        real = np.concatenate([call.new[row] for call in calls])
        queries, keys = (
            _runs(np.concatenate([getattr(layer, side)[row] for layer in layers], 1), real)
            for side in ("queries", "keys")
        )
        if last.kind == "rows":
            words = [f"rows {queries}"]
        elif last.kind == "none":
            words = ["no position"]
        else:
            words = [f"q and k at {queries}" if queries == keys else f"q at {queries}, k at {keys}"]
        if last.visible is not None and last.slots is not None and calls[-1].new[row].any():
            query = int(np.flatnonzero(calls[-1].new[row])[-1])
            visible = np.broadcast_to(last.visible, (len(last.slots), *last.visible.shape[1:]))[row, query]
            seen = np.sort(last.slots[row][visible])
            words.append(f"the last query sees tokens {_ranges(seen)} ({len(seen)} of {len(last.slots[row])} slots)")
        return "; ".join(words)


def _runs(used: np.ndarray, real: np.ndarray) -> str:
    """Positions (groups, n, axes) of the tokens that are no padding, as runs."""
    if not used.size:
        return ""
    groups = {_axes(group[real]) for group in used}
    return " | ".join(sorted(groups))


def _axes(used: np.ndarray) -> str:
    if used.shape[-1] == 1:
        return _ranges(used[:, 0])
    same = np.all((used == used[:, :1]) | np.isnan(used))
    if same:
        return _ranges(used[:, 0])
    return f"({'; '.join(_ranges(used[:, axis]) for axis in range(used.shape[-1]))})"


def _ranges(values: np.ndarray, most: int = 6) -> str:
    """Numbers as runs of steps of one, "?" for those that are not known: 0-4 0-2 ? 9."""
    runs: list[list[float]] = []
    for value in values:
        if runs and (value == runs[-1][1] + 1 or (np.isnan(value) and np.isnan(runs[-1][1]))):
            runs[-1][1] = value
        else:
            runs.append([value, value])
    words = ["?" if np.isnan(a) else f"{a:g}" if a == b else f"{a:g}-{b:g}" for a, b in runs]
    if len(words) > most:
        words = [*words[: most - 1], f"... {words[-1]}"]
    return " ".join(words)
