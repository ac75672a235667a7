"""What a live torch module shows of its rotations: the frequencies it holds, and the cos and sin that it returns."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from posenc.diagnosis.rotation.observations import evidence, numbers
from posenc.diagnosis.rotation.rotation_evidence import Evidence, FrequenciesSeen, TableSeen

#: Near ones, then those around which narrow types lose whole numbers and tables end.
PLACES = (*range(8), 15, 31, 63, 64, 65, 100, 127, 129, 200, 255, 257, 300, 511, 513, 1000, 1023, 1025, 2047, 2049, 3000, 4095)  # fmt: skip
HELD = "inv_freq"


def is_module(value: Any) -> bool:
    """Whether this is a torch module, without importing torch."""
    return hasattr(value, "named_modules") and hasattr(value, "forward")


def of_module(module: Any, length: int | None = None) -> list[tuple[str, Evidence]]:
    """For every set of frequencies that a module holds: the layer type it is of, or "", and what it shows.

    length: the length served, below which positions stay, since some modules change with the longest one.
    """
    found: list[tuple[str, Evidence]] = []
    for owner in (part for _, part in module.named_modules()):
        for label, held in list(_held(owner)):
            table = _table(owner, label, length)  # which may change what the module holds
            found.append((label, held if table is None else replace(table, frequencies=dict(_held(owner))[label])))
    if not found:
        table = _table(module, "", length)
        if table is None:
            raise ValueError(
                f"second must hold inv_freq or return cos and sin for (x, position_ids); got {type(module).__name__}. "
                "Dump its cos and sin, or q and q_rotated, and give these."
            )
        found.append(("", table))
    return _once(found)


def _held(owner: Any) -> Iterator[tuple[str, FrequenciesSeen]]:
    """The frequencies of one module by layer type, with its attention factor."""
    for name, value in owner.named_buffers(recurse=False):
        if name.endswith(HELD) and not name.endswith(f"original_{HELD}") and value.dim() == 1:
            label = name.removesuffix(HELD).rstrip("_")
            factor = getattr(owner, f"{label}_attention_scaling" if label else "attention_scaling", None)
            yield label, FrequenciesSeen(numbers(name, value)[0], None if factor is None else float(factor))


def _table(owner: Any, label: str, length: int | None) -> TableSeen | None:
    """cos and sin as the module returns them, where it is called with x and position_ids."""
    torch: Any = sys.modules.get("torch")
    names = list(inspect.signature(owner.forward).parameters)
    if torch is None or "position_ids" not in names:
        return None
    places = np.array(
        [place for place in PLACES if length is None or place < length] + ([length - 1] if length else [])
    )
    given = {"x": torch.zeros(1, len(places), 1), "position_ids": torch.from_numpy(places)[None]}
    if "layer_type" in names:
        given["layer_type"] = label
    try:
        with torch.no_grad():
            result = owner(**{name: value for name, value in given.items() if name in names})
        cos, sin = result
    except Exception:  # a module of another kind: what it holds is all there is to see
        return None
    try:
        shown = evidence({"cos": cos, "sin": sin, "positions": places})
    except ValueError:
        return None
    return shown if isinstance(shown, TableSeen) else None


def _once(found: list[tuple[str, Evidence]]) -> list[tuple[str, Evidence]]:
    """Modules of many layers that hold the same, once."""
    kept: list[tuple[str, Evidence]] = []
    for label, one in found:
        if not any(label == other and _alike(one, another) for other, another in kept):
            kept.append((label, one))
    return kept


def _alike(one: Evidence, other: Evidence) -> bool:
    mine, theirs = ((part.frequencies if isinstance(part, TableSeen) else part) for part in (one, other))
    if not isinstance(mine, FrequenciesSeen) or not isinstance(theirs, FrequenciesSeen):
        return False
    return np.array_equal(mine.values, theirs.values) and mine.attention == theirs.attention
