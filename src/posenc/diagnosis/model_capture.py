"""Record of what a live model did with positions; `posenc.transformers.capture` makes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from posenc.core import validation
from posenc.diagnosis.named_arrays import NamedArray, from_file, on_host

#: Entry of a file that holds a record, with everything that is no array.
FACTS = "capture"
#: Where values come from when they reach attention; "other" where neither a projection nor a rotation gave them.
ValueSource = Literal["projection", "rotation", "inside attention", "other"]


@dataclass(frozen=True, eq=False)
class Recorded:
    """Arrays of one layer, under the names that `diagnose` knows.

    Args:
        arrays: Arrays by name: q, k, q_rotated and k_rotated, or bias and table.
        layer: Number of the layer, None where the model does not say.
        part: "encoder", "decoder", "vision" or "audio", as the module's name says; "" for text.
        layout: Order of the axes of q and k, None where they have no four axes.
    """

    arrays: dict[str, Any]
    layer: int | None = None
    part: str = ""
    layout: str | None = None


@dataclass(frozen=True, eq=False)
class MeasuredAttention:
    """Measurements of the attention function of one layer.

    Args:
        visible: Whether a query gives a key any weight, (batch, queries, keys).
        layer: Number of the layer, None where the model does not say.
        part: As in `Recorded`.
        logit_factor: What q·k is multiplied by in addition to 1/√d, from the projections to the softmax; None where the
            vectors were not traced back to a projection, or logits are not proportional to q·k.
        values: Where values come from; where they are changed inside attention, the mask was not measured.
        multiplies: Whether logits are proportional to q·k, except for a mask and a bias.
        keeps_keys: Whether the keys of earlier steps stay in the cache as they were.
        dtype: Type of the vectors, which bounds how exact the factor is.
        finite: Whether the queries, keys and values of tokens that are no padding hold numbers alone.
        added: By how much logits differ between keys that a head of a query sees, where all queries are zero.
        heads_alike: Whether all heads of a query see the same keys.
    """

    visible: np.ndarray
    layer: int | None
    part: str
    logit_factor: float | None
    values: ValueSource
    multiplies: bool = True
    keeps_keys: bool = True
    dtype: str = "float32"
    finite: bool = True
    added: float = 0.0
    heads_alike: bool = True


@dataclass(frozen=True, eq=False)
class Capture:
    """Record of what a model did with positions in one run, from `posenc.transformers.capture`.

    Attributes:
        rotations: Queries and keys before and after their rotation, layer by layer.
        biases: Biases of the logits, layer by layer.
        rows: Rows (batch, n) that were read of each table of positions, by its name in the model.
        attention: What the attention function of each layer did; empty where the model's code calls none.
        padded: Which tokens are padding, (batch, n); None where none is.
        config: The model's own config, as plain data.
        attends: Whether queries of the model's type see later keys: "causal", "both", "either" where its config says
            so by is_decoder, or "" where that is not known.
        given: Inputs that say where tokens stand: position_ids, grids of images and videos, types of tokens.
    """

    rotations: tuple[Recorded, ...] = ()
    biases: tuple[Recorded, ...] = ()
    rows: dict[str, np.ndarray] = field(default_factory=dict)
    attention: tuple[MeasuredAttention, ...] = ()
    padded: np.ndarray | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    attends: Literal["causal", "both", "either", ""] = ""
    given: Mapping[str, np.ndarray] = field(default_factory=dict)

    def save(self, path: str | Path) -> None:
        """Write the record to an .npz file, for `Capture.load` and `posenc doctor`.

        Args:
            path: Name of the file, which ends in .npz.

        Raises:
            TypeError: `path` is no path.
            ValueError: `path` does not end in .npz.
        """
        path = validation.path("path", path)
        if path.suffix != ".npz":
            raise ValueError(f"path must end in .npz; got {path.name!r}. Name a file such as captured.npz.")
        arrays: dict[str, np.ndarray] = {f"rows/{name}": rows for name, rows in self.rows.items()}
        arrays |= {f"given/{name}": array for name, array in self.given.items()}
        if self.padded is not None:
            arrays["padded"] = self.padded
        facts: dict[str, Any] = {"config": dict(self.config), "attends": self.attends}
        for kind in ("rotations", "biases"):
            facts[kind] = [[one.layer, one.part, one.layout] for one in getattr(self, kind)]
            for number, one in enumerate(getattr(self, kind)):
                named = {f"{kind}/{number}/{name}": on_host(array) for name, array in one.arrays.items()}
                arrays |= {name: array.values for name, array in named.items()}
                facts.setdefault("dtypes", {}).update({name: array.dtype for name, array in named.items()})
        facts["attention"] = [
            {name: value for name, value in vars(one).items() if name != "visible"} for one in self.attention
        ]
        arrays |= {f"attention/{number}": one.visible for number, one in enumerate(self.attention)}
        text = np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)
        np.savez_compressed(path, **{FACTS: text}, **arrays)  # type: ignore[arg-type]

    @staticmethod
    def load(path: str | Path) -> Capture:
        """Read a record that `save` wrote.

        Args:
            path: Name of the .npz file.

        Returns:
            The record.

        Raises:
            TypeError: `path` is no path.
            ValueError: The file holds no record.
        """
        path = validation.path("path", path)
        try:
            arrays = {name: array.values for name, array in from_file(path).items()}
            return _capture_of(arrays, json.loads(arrays[FACTS].tobytes()))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"path must hold a record that Capture.save wrote; got {path.name}: {error!r:.100}. Save one."
            ) from None


def part_in(parts: tuple[str, ...], recorded: str) -> str | None:
    """Map a recorded part to a part of the model's positions; None for vision or audio that it does not have.

    Example:
        >>> part_in(("text",), "decoder"), part_in(("text",), "vision")
        ('text', None)
    """
    if recorded in parts:
        return recorded
    if recorded in ("vision", "audio"):
        return None
    return "text" if "text" in parts else parts[0]


def _capture_of(arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]) -> Capture:
    """The record that a file's arrays and facts state."""

    def recorded(kind: str) -> tuple[Recorded, ...]:
        """Read the `Recorded` parts of a kind from the file, with the dtype that each array had in the model."""
        every = []
        for number, (layer, part, layout) in enumerate(facts[kind]):
            start = f"{kind}/{number}/"
            own = {name for name in arrays if name.startswith(start)}
            named = {name.removeprefix(start): NamedArray(arrays[name], facts["dtypes"][name]) for name in own}
            every.append(Recorded(named, layer, part, layout))
        return tuple(every)

    rows, given = (
        {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}
        for start in ("rows/", "given/")
    )
    attention = [
        MeasuredAttention(visible=arrays[f"attention/{number}"], **one) for number, one in enumerate(facts["attention"])
    ]
    every = recorded("rotations"), recorded("biases"), rows, tuple(attention), arrays.get("padded")
    return Capture(*every, facts["config"], facts["attends"], given)


def spread_over_seen(numbers: np.ndarray, seen: np.ndarray) -> float:
    """Largest difference between the numbers (..., keys) of the keys that one query sees; 0 where none sees two."""
    low = np.where(seen, numbers, np.inf).min(-1)
    high = np.where(seen, numbers, -np.inf).max(-1)
    return max(0.0, float((high - low).max()))
