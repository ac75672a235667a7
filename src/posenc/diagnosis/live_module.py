"""What a live torch module shows of its rotations: the frequencies it holds, and the cos and sin that it returns."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from posenc.diagnosis.named_arrays import host_numbers
from posenc.diagnosis.rotation.evidence_from_arrays import rotation_evidence
from posenc.diagnosis.rotation.observed_table import ObservedFrequencies, ObservedTable
from posenc.diagnosis.rotation.rotation_evidence import RotationEvidence

#: Near ones, then those around which narrow types lose whole numbers and tables end.
POSITIONS = (
    *range(8), 15, 31, 63, 64, 65, 100, 127, 129, 200, 255, 257, 300, 511, 513, 1000, 1023, 1025, 2047, 2049, 3000,
    4095,
)  # fmt: skip
BUFFER = "inv_freq"
#: Where rotary-embedding-torch holds them, as a parameter.
PARAMETER = "freqs"


def is_module(value: Any) -> bool:
    """Whether this is a torch module, without importing torch."""
    return hasattr(value, "named_modules") and hasattr(value, "forward") and not isinstance(value, type)


def module_of(value: Any) -> Any:
    """The module of a bound method, such as `rotate_queries_or_keys`; anything else as it is."""
    owner = getattr(value, "__self__", value)
    return owner if is_module(owner) else value


def module_evidence(module: Any, length: int | None = None) -> list[tuple[str, RotationEvidence]]:
    """Collect (layer type or "", evidence) for every different set of frequencies that a module holds.

    Args:
        module: A torch module.
        length: The length served, below which positions stay, since some modules change with the longest one.

    Raises:
        ValueError: For a module that shows nothing of a rotation.
    """
    shown: list[tuple[str, ObservedFrequencies | ObservedTable]] = []
    for owner in module.modules():
        for label, buffered in list(held_frequencies(owner)):
            table = _table(owner, label, length)  # which may change what the module holds
            shown.append(
                (label, buffered if table is None else replace(table, buffered=dict(held_frequencies(owner))[label]))
            )
    if not shown:
        table = _table(module, "", length)
        if table is None:
            raise ValueError(
                f"actual must hold inv_freq or return cos and sin for (x, position_ids); got {type(module).__name__}. "
                "Dump its cos and sin, or q and q_rotated, and give these."
            )
        return [("", table)]
    return _each_once(shown)


def held_frequencies(owner: Any) -> Iterator[tuple[str, ObservedFrequencies]]:
    """The frequencies of one module by layer type, with its attention factor."""
    for name, value in owner.named_buffers(recurse=False):
        if name.endswith(BUFFER) and not name.endswith(f"original_{BUFFER}") and value.dim() == 1:
            label = name.removesuffix(BUFFER).rstrip("_")
            factor = getattr(owner, f"{label}_attention_scaling" if label else "attention_scaling", None)
            yield (
                label,
                ObservedFrequencies(host_numbers(name, value).values, None if factor is None else float(factor)),
            )
    for name, value in owner.named_parameters(recurse=False):
        if name == PARAMETER and value.dim() == 1:
            yield "", ObservedFrequencies(host_numbers(name, value.detach()).values, None)


def _table(owner: Any, label: str, length: int | None) -> ObservedTable | None:
    """Cosines and sines as the module returns them, where it is called with x and position_ids."""
    torch: Any = sys.modules.get("torch")
    names = list(inspect.signature(owner.forward).parameters)
    if torch is None or "position_ids" not in names:
        return None
    positions = np.array(POSITIONS)
    if length is not None:
        positions = np.append(positions[positions < length], length - 1)
    arguments = {
        "x": torch.zeros(1, len(positions), 1),
        "position_ids": torch.from_numpy(positions)[None],
        "layer_type": label,
    }
    try:
        with torch.no_grad():
            cos, sin = owner(**{name: value for name, value in arguments.items() if name in names})
        evidence = rotation_evidence({"cos": cos, "sin": sin, "positions": positions})
    except Exception:  # a module of another kind: what it holds is all there is to see
        return None
    return evidence if isinstance(evidence, ObservedTable) else None


def _each_once(shown: list[tuple[str, ObservedFrequencies | ObservedTable]]) -> list[tuple[str, RotationEvidence]]:
    """Evidence without repeats: one entry for modules with the same label, frequencies and attention factor."""
    kept: dict[Any, tuple[str, RotationEvidence]] = {}
    for label, evidence in shown:
        buffered = evidence.buffered if isinstance(evidence, ObservedTable) else evidence
        key = (label, buffered.values.tobytes(), buffered.attention) if buffered is not None else (label,)
        kept.setdefault(key, (label, evidence))
    return list(kept.values())
