"""The published conventions that a user's own code may follow: encodings, with the recipes that mistakes change."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np

from posenc.core import text_lines, validation
from posenc.core.doors import AdditiveEncoding, Encoding, RotaryEncoding
from posenc.core.rotation import PairLayout
from posenc.diagnosis.code.observed_values import ObservedValues
from posenc.diagnosis.code.recipe import Recipe
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.rotates.rope import RoPE
from posenc.inspect.rotation_matrix import rotation_matrices

#: What is tried for the last channel, by width.
EVEN: tuple[Literal["error"], ...] = ("error",)
ODD: tuple[Literal["truncate", "zero"], ...] = ("truncate", "zero")


@dataclass(frozen=True)
class Convention:
    """A published way: the encoding that computes it, and from which position on."""

    encoding: Encoding
    start: int = 0

    def __str__(self) -> str:
        return f"{text_lines.short(self.encoding)}{' with positions from 1' if self.start else ''}"

    def values(self, positions: np.ndarray) -> np.ndarray:
        """The exact numbers, as float64."""
        positions = positions + self.start
        if isinstance(self.encoding, AdditiveEncoding):
            return np.asarray(self.encoding.embed(positions, dtype=np.float64))
        encoding = validation.instance("against", self.encoding, RotaryEncoding, "an encoding that adds or rotates")
        return rotation_matrices(encoding, positions)

    @property
    def recipe(self) -> Recipe | None:
        """How the numbers are computed; None for an encoding that no recipe describes."""
        encoding = self.encoding
        if isinstance(encoding, Sinusoidal) and encoding.dim % 2 == 0:
            order: PairLayout = "adjacent" if encoding.layout == "interleaved" else "halves"
            functions = ("sine", "cosine") if encoding.first == "sine" else ("cosine", "sine")
            start = encoding.start + self.start
            return Recipe(
                "adds", encoding.base, encoding.exponent, order, order, functions, start=start, scale=encoding.scale
            )
        if isinstance(encoding, RoPE) and encoding.scaling is None:
            order = encoding.pairing
            return Recipe("rotates", encoding.base, "2i/d", order, order, ("cosine", "sine"), start=self.start)
        return None


def conventions(observed: ObservedValues, base: float, against: Encoding | None) -> list[Convention]:
    """The published conventions of a width, the usual ones first; or the one encoding to compare with."""
    if against is not None:
        return [Convention(against)]
    dim = observed.dim
    if observed.door == "rotates":
        ropes = [RoPE(dim, base, pairing) for pairing in ("adjacent", "halves")] if dim % 2 == 0 else []
        return [Convention(encoding, start) for start in ((0, 1) if observed.length else (0,)) for encoding in ropes]
    encodings: list[Encoding] = []
    for odd in ODD if dim % 2 else EVEN:
        encodings.append(Sinusoidal(dim, base, odd=odd))
        for exponent, first in product(("2i/d", "i/(d/2-1)") if dim > 3 else ("2i/d",), ("sine", "cosine")):
            encodings.append(Sinusoidal(dim, base, "concatenated", exponent, first, odd=odd))  # type: ignore[arg-type]
    return [Convention(encoding) for encoding in encodings]
