"""Biases of each head: a picture of every head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from posenc.core.declared_fields import Whole
from posenc.core.doors import AttentionBias
from posenc.explorer.views.view import MOST_VALUES, OfEncoding, in_base64, making, written
from posenc.inspect.encoding_facts import drawn_params

MOST_HEADS = 16


@dataclass(frozen=True)
class HeadsView(OfEncoding):
    """Bias matrices of up to 16 heads, for queries and keys at positions 0 … `tokens` - 1."""

    tokens: Annotated[int, Whole(2, 128)] = 24

    def facts(self) -> dict[str, Any]:
        encoding = self.parsed
        if not isinstance(encoding, AttentionBias) or encoding.axes > 1:
            raise ValueError(
                f"encoding must bias logits along one axis, ALiBi(heads=8), say; got {written(encoding)}. "
                "Pick another one."
            )
        heads = min(encoding.heads, MOST_HEADS, MOST_VALUES // self.tokens**2)
        rows = np.arange(self.tokens)
        matrix = np.asarray(encoding.matrix(rows, rows, drawn_params(encoding)))[:heads]
        made, given = making(encoding)
        return {
            **self.described(encoding),
            "heads": encoding.heads,
            "tokens": self.tokens,
            "matrices": [in_base64(one) for one in matrix],
            "code": "\n".join(
                [
                    "import numpy as np",
                    *made,
                    f"positions = np.arange({self.tokens})",
                    f"values = encoding.matrix(positions, positions{given})",
                ]
            ),
        }
