"""The score that position alone gives, against distance, with its envelope."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from posenc.core.declared_fields import Whole
from posenc.core.doors import AdditiveEncoding, Encoding, RotaryEncoding
from posenc.explorer.views.view import OfEncoding, script, written
from posenc.inspect import score_by_distance
from posenc.inspect.spectrum import frequencies_of
from posenc.phase import cosine_sine

#: Curves that a picture can tell apart.
MOST_CURVES = 12


@dataclass(frozen=True)
class DistanceView(OfEncoding):
    """Scores of a query 0 … `distances` positions behind a key; with `before`, also up to as many before it."""

    distances: Annotated[int, Whole(1, 4096)] = 128
    before: bool = False

    def facts(self) -> dict[str, Any]:
        encoding = self.parsed
        first = -self.distances if self.before else 0
        distances = range(first, self.distances + 1)
        found = score_by_distance(encoding, distances)
        heads = np.unique(np.linspace(0, len(found.scores) - 1, min(MOST_CURVES, len(found.scores))).astype(int))
        bound = envelope(encoding, found.distances, found.scores[0])
        return {
            **self.described(encoding),
            "distances": list(distances),
            "curves": [{"head": int(head), "scores": found.scores[head].tolist()} for head in heads],
            "heads": len(found.scores),
            "meaning": found.meaning,
            "envelope": None if bound is None else bound.tolist(),
            "code": script(f"print(inspect.score_by_distance({written(encoding)}, {distances}))"),
        }


def envelope(encoding: Encoding, distances: np.ndarray, scores: np.ndarray) -> np.ndarray | None:
    """Upper bound |Σ_i exp(i·distance·ω_i)|, scaled as the score Σ_i cos(distance·ω_i) is; None for another score.

    It is the largest score at this distance when all pairs of the key are rotated ahead by one angle.
    """
    if not isinstance(encoding, AdditiveEncoding | RotaryEncoding) or encoding.axes > 1:
        return None
    try:
        cosine, sine = cosine_sine(distances, frequencies_of(encoding))
    except TypeError:
        return None
    total = cosine.sum(-1)
    factor = float(np.dot(total, scores) / np.dot(total, total))
    if np.abs(scores - factor * total).max() > 1e-9 * max(1.0, float(np.abs(scores).max())):
        return None
    return np.asarray(abs(factor) * np.hypot(total, sine.sum(-1)))
