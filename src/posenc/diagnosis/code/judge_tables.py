"""Whether numbers are the rows of a module's own table, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from posenc.core.doors import Encoding
from posenc.diagnosis.code.code_report import CodeReport, looked_at
from posenc.diagnosis.code.observed_values import ObservedValues
from posenc.diagnosis.code.user_code import Tensor
from posenc.diagnosis.mistake import Finding
from posenc.encodings.adds.learned import Learned

#: Which row the first token may read: OPT's tables begin two rows late.
FIRST_ROWS = (0, 1, 2)

UNREGISTERED = Finding(
    "table not registered",
    "Its table is a plain attribute: no optimiser trains it, and .to(device) and state_dict leave it out.",
    "Wrap it: self.table = torch.nn.Parameter(...), or use torch.nn.Embedding.",
)


def judge_table(observed: ObservedValues, tensors: Sequence[Tensor], against: Encoding | None) -> CodeReport | None:
    """Report on code that reads rows of its module's own table in order; None where it does not."""
    if observed.door != "adds" or not (against is None or isinstance(against, Learned)):
        return None
    for tensor in tensors:
        for first in FIRST_ROWS:
            if _reads(observed, tensor, first):
                return _report(observed, tensor, first, against)
    return None


def _reads(observed: ObservedValues, tensor: Tensor, first: int) -> bool:
    """Whether every position p reads row p + `first` of the tensor."""
    rows = _rows(tensor, observed.dim)
    index = observed.positions.astype(np.int64) + first
    if rows is None or index.max() >= len(rows) or np.ptp(rows, axis=0).max() == 0:
        return False
    precision = "float32" if observed.precision == "float64" else observed.precision
    return bool(np.all(np.abs(rows[index] - observed.values) <= replace(observed, precision=precision).tolerance(0)[0]))


def _rows(tensor: Tensor, dim: int) -> np.ndarray | None:
    """Tensor as a table (rows, dim), without axes of 1; None where it has another shape or no values."""
    sizes = tuple(size for size in tensor.shape if size != 1)
    return None if tensor.values is None or len(sizes) != 2 or sizes[1] != dim else tensor.values.reshape(sizes)


def _report(observed: ObservedValues, tensor: Tensor, first: int, against: Encoding | None) -> CodeReport:
    rows = _rows(tensor, observed.dim)
    encoding = Learned(dim=observed.dim, length=0 if rows is None else len(rows))
    findings = (UNREGISTERED,) if tensor.kind == "plain" else ()
    notes = [f"Each position has its row of {tensor.name}, the module's own table."]
    notes += [f"The first token reads row {first}."] if first else []
    notes += ["The table is a buffer: it is not trained."] if tensor.kind == "buffer" else []
    fits = isinstance(against, Learned) and (encoding.dim, encoding.length) == (against.dim, against.length)
    return CodeReport(
        right=fits and not findings and not first,
        door="adds",
        convention=f"Learned(dim={encoding.dim}, length={encoding.length})",
        findings=findings,
        notes=tuple(notes),
        consistent=against is None and not findings,
        compared=int(observed.values.size),
        **looked_at(observed.positions),
    )
