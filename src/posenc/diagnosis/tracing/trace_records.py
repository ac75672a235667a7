"""Record of the positions that a running model used; `posenc.transformers.trace` fills it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from posenc.models.model_positions import ModelPositions, layer_ranges

#: Slots of a cache that hold no token, and those whose key no token of the sequence wrote.
EMPTY, FOREIGN = -1, -2


@dataclass(frozen=True, eq=False)
class TracedCall:
    """Call of a model: which tokens it read, and the positions that its request asks for.

    Attributes:
        number: Number of the call, from 0.
        sequence: Number of the sequence that it continues: calls with one cache are of one sequence.
        start: Tokens of each row that were read before it.
        expected: Positions that the tokens are to have, (batch, n, axes); NaN where the request does not say.
        real: Which tokens, those before included, are no padding, (batch, start + n).
        documents: Number of the document of every token, those before included, (batch, start + n).
        total: Tokens that the whole request will have, as far as it says; else start + n.
    """

    number: int
    sequence: int
    start: int
    expected: np.ndarray
    real: np.ndarray
    documents: np.ndarray
    total: int

    @property
    def count(self) -> int:
        """Number of tokens that the call read in each row."""
        return int(self.expected.shape[1])

    @property
    def new(self) -> np.ndarray:
        """Tokens of the call that are no padding, as flags (batch, n)."""
        return self.real[:, self.start :]


@dataclass(frozen=True, eq=False)
class TracedLayer:
    """Positions that one layer used in one call.

    Attributes:
        call: Number of the call.
        layer: Number of the layer; None for a table of positions, or where the model does not say.
        part: Part of the model, as its positions name it; "text", for example.
        module: Dotted name of the module.
        queries: Positions of queries, (batch, groups, n, axes), one row for each group of heads that share a key head;
            NaN where no position explains the rotation. For a table, the rows that were read.
        keys: Positions of the new keys, likewise.
        amplitude: Factor of the lengths of queries and of keys by the rotation; NaN where there is none.
        slots: For each key that attention was given, the token of the sequence that wrote it, (batch, keys); `EMPTY` or
            `FOREIGN` where there is none. None where that was not seen.
        visible: Whether a query may see a key in any head, (batch, n, keys); None where that was not seen.
        vectors: q, k, q_rotated and k_rotated that no position explains, for `posenc.diagnosis.diagnose`.
        kind: What carries the positions.
        dtype: Type of the vectors.
        in_every_head: Whether a query may see a key in all heads, (batch, n, keys); None where heads see the same.
    """

    call: int
    layer: int | None
    part: str
    module: str
    queries: np.ndarray
    keys: np.ndarray
    amplitude: tuple[float, float] = (float("nan"), float("nan"))
    slots: np.ndarray | None = None
    visible: np.ndarray | None = None
    vectors: dict[str, np.ndarray] = field(default_factory=dict)
    kind: Literal["rotation", "rows", "biases", "none"] = "rotation"
    dtype: str = "float32"
    in_every_head: np.ndarray | None = None

    @property
    def place(self) -> str:
        """Its part, unless that is the text, and its number; the name of its module where it has no number."""
        if self.layer is None:
            return self.module
        return f"layer {self.layer}" if self.part == "text" else f"{self.part} layer {self.layer}"


@dataclass(frozen=True, eq=False)
class StatedRequest:
    """Facts of a request that its caller stated; positions are judged by them exactly.

    Attributes:
        positions: Positions of all tokens in the order in which the model reads them, (batch or 1, total, axes).
        documents: Lengths of the documents that are packed into each row.
        offset: Position of the first token that this process holds.
    """

    positions: np.ndarray | None = None
    documents: tuple[int, ...] = ()
    offset: int = 0

    @property
    def exact(self) -> bool:
        """Whether a shift of all positions of a row counts, although a rotation alone does not show it."""
        return self.positions is not None or bool(self.documents) or self.offset != 0


@dataclass(eq=False)
class TraceRecord:
    """Everything that was recorded while a model was traced.

    Attributes:
        model: Positions that the model is to have.
        stated: What the caller stated of the request.
        calls: Calls of the model, in order.
        layers: What each layer used, in the order in which it ran.
        attends: "causal", "both", "either" or "", as in `Capture`.
        not_seen: What the trace could not see, in words.
    """

    model: ModelPositions
    stated: StatedRequest = field(default_factory=StatedRequest)
    calls: list[TracedCall] = field(default_factory=list)
    layers: list[TracedLayer] = field(default_factory=list)
    attends: str = ""
    not_seen: list[str] = field(default_factory=list)

    def of_call(self, number: int) -> Sequence[TracedLayer]:
        """Return the layers of a call with the positions that each used.

        Args:
            number: Number of the call, from 0.

        Returns:
            The layers, in the order in which they ran.
        """
        return [layer for layer in self.layers if layer.call == number]


def places_together(names: Sequence[str]) -> str:
    """Write the places of layers in one line, numbers as runs.

    Example:
        >>> places_together(["layer 0", "layer 1", "layer 4", "vision layer 0"])
        'layers 0-1, 4, vision layer 0'
    """
    texts = [name for name in names if name.startswith("layer ")]
    numbers = tuple(int(name.removeprefix("layer ")) for name in texts)
    others = [name for name in names if name not in texts]
    return ", ".join([*([layer_ranges(tuple(sorted(numbers)))] if numbers else []), *others])
