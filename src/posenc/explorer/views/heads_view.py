"""What each head adds to its logits: a picture of every head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from posenc.core.declared_fields import Whole
from posenc.core.doors import AttentionBias
from posenc.explorer.views.packed import in_base64
from posenc.explorer.views.view import MOST_VALUES, OfRecord, learned, written

MOST_HEADS = 16


@dataclass(frozen=True)
class HeadsView(OfRecord):
    """tokens: queries and keys at positions from 0."""

    tokens: Annotated[int, Whole(2, 128)] = 24

    def facts(self) -> dict[str, Any]:
        record = self.parsed
        if not isinstance(record, AttentionBias) or record.axes > 1:
            raise ValueError(
                f"record must bias logits along one axis, ALiBi(heads=8), say; got {written(record)}. Pick another one."
            )
        heads = min(record.heads, MOST_HEADS, MOST_VALUES // self.tokens**2)
        rows = np.arange(self.tokens)
        matrix = np.asarray(record.matrix(rows, rows, learned(record)))[:heads]
        return {
            **self.described(record),
            "heads": record.heads,
            "tokens": self.tokens,
            "matrices": [in_base64(one) for one in matrix],
            "code": f"import numpy as np\nfrom posenc import *\n\nrecord = {written(record)}\n"
            f"positions = np.arange({self.tokens})\nvalues = record.matrix(positions, positions)",
        }
