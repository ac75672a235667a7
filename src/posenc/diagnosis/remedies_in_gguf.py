"""Remedies for a GGUF file: the keys and small tensors to write, which no key of a config names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from posenc.diagnosis.model_source import in_layout
from posenc.models.formats.gguf_architectures import ARCHITECTURES
from posenc.models.formats.gguf_write import to_gguf
from posenc.models.model_positions import ModelPositions
from posenc.models.reordered_rows import FLOAT32

#: How to make a tensor of divisors, which nobody writes by hand.
MAKE_IT = "posenc.models.to_gguf makes it of the model's config, as llama.cpp's converter does"


@dataclass(frozen=True)
class GGUFChange:
    """Change of one key or tensor of a GGUF file.

    Attributes:
        key: Of the file, or the name of a tensor.
        remedy: What to do, as a clause of a sentence.
        line: What to write, as a line that begins with the key.
    """

    key: str
    remedy: str
    line: str


def gguf_changes(meant: ModelPositions, there: ModelPositions) -> tuple[GGUFChange, ...]:
    """List the keys of rotations, and the tensors, that make of a GGUF file's positions those that are meant.

    Both models are written as that file would have them; nothing is listed where its format cannot say either.
    """
    arch, lengths = there.model_type, [group.length for group in there.groups if group.length is not None]
    length = lengths[0].value if lengths else 1
    layout = ARCHITECTURES[arch].pairing if arch in ARCHITECTURES else None
    try:
        (wanted, new), (held, old) = (
            to_gguf(in_layout(_main_part(model), layout), arch, context_length=int(str(length)))
            for model in (meant, there)
        )
    except (ValueError, TypeError):
        return ()
    stated = {value.key for group in there.groups for value in group.values if value.source == "file"}
    keys = [
        _of_key(key, value, repr(held[key]) if key in stated and key in held else "missing")
        for key, value in wanted.items()
        if ".rope." in key and not _alike(value, held.get(key))
    ]
    names = [name for name in dict.fromkeys((*new, *old)) if not _alike(new.get(name), old.get(name))]
    return (*keys, *(_of_tensor(name, name in new, name in old) for name in names))


def _of_key(key: str, meant: Any, got: str) -> GGUFChange:
    line = f"{key}: {meant!r} in the served file, where it is {got}"
    return GGUFChange(key, f"set {key} to {meant!r}, where it is {got}", line)


def _of_tensor(name: str, meant: bool, there: bool) -> GGUFChange:
    if not meant:
        return GGUFChange(name, f"leave out the tensor {name}", f"{name}: leave out this tensor of the served file")
    held = "has other numbers in the served file" if there else "is missing in the served file"
    remedy = f"write the tensor {name}{' anew' * there}: {MAKE_IT}"
    return GGUFChange(name, remedy, f"{name}: the tensor {held}; {MAKE_IT}")


def _main_part(model: ModelPositions) -> ModelPositions:
    return replace(model, groups=model.of(model.main_part), draft=())


def _alike(one: Any, other: Any) -> bool:
    """Whether two values are equal to float32 precision."""
    if isinstance(one, float | np.ndarray) and isinstance(other, float | np.ndarray):
        return np.shape(one) == np.shape(other) and bool(np.allclose(one, other, rtol=FLOAT32, atol=0.0))
    return bool(one is None and other is None) or (type(one) is type(other) and bool(np.all(one == other)))
