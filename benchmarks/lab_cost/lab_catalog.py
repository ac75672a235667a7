"""Every encoding of the catalog in the lab's model, against a plain one without positions: what it costs in a step."""

from __future__ import annotations

from typing import Any

import torch
from lab_cost.lab_models import SMALL, SMALL_BATCH, case_of, fitted

import posenc


def run() -> list[dict[str, Any]]:
    torch.set_num_threads(1)
    return [case_of(row.name, fitted(row, SMALL), SMALL, SMALL_BATCH) for row in posenc.CATALOG]
