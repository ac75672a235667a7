"""Images and video: the coordinate by which each pair of a released model rotates, for scores that the page sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from posenc.encodings.rotates.axial_rope import AxialRoPE
from posenc.encodings.rotates.rope import RoPE
from posenc.explorer.browser_frequencies import browser_frequencies
from posenc.models.released.released_models import models_called

MODEL = "Qwen2-VL 7B"
#: Coordinates of a token on the page, and which of them the axes of each part of the model are.
COORDINATES = ("time", "row", "column")
AXES = {"text": (0, 1, 2), "vision": (1, 2)}


def media_places() -> dict[str, Any]:
    """Give each pair's axis and frequency when patches are counted in a row, and in both parts of Qwen2-VL."""
    parts = {group.part: group.rotary_encoding for group in models_called(MODEL)[0].positions.groups}
    text, vision = parts["text"], parts["vision"]
    if not isinstance(text, AxialRoPE) or not isinstance(vision, AxialRoPE):
        raise TypeError(f"encodings must rotate by several axes; got {text!r} and {vision!r}. Choose another model.")
    line = RoPE(dim=2 * len(text.axis), base=text.base)
    return {
        "model": MODEL,
        "ways": [
            {
                "id": "one",
                "name": "one number",
                "axis": [0] * (line.dim // 2),
                "frequencies": browser_frequencies(line.frequencies),
                "note": "Patches are counted like words, row after row. All pairs turn by that one number.",
            },
            _way("text", "time, row, column", text),
            _way("vision", "row, column", vision),
        ],
    }


def _way(part: str, name: str, encoding: AxialRoPE) -> dict[str, Any]:
    frequencies = RoPE(dim=int(encoding.frequency_dim), base=encoding.base).frequencies  # type: ignore[arg-type]
    sent = browser_frequencies(frequencies)
    radians = frequencies.radians()[list(encoding.frequency_index)]
    axis = [AXES[part][one] for one in encoding.axis]
    fastest = {COORDINATES[one]: 2 * np.pi / max(radians[np.array(axis) == one].tolist()) for one in sorted(set(axis))}
    counts = {one: axis.count(COORDINATES.index(one)) for one in fastest}
    listed = ", ".join(f"{counts[one]} by {one} ({length:.3g})" for one, length in fastest.items())
    where = "Its text layers" if part == "text" else "Its vision tower, which reads each frame by itself"
    return {
        "id": part,
        "name": name,
        "axis": axis,
        "frequencies": [sent[index] for index in encoding.frequency_index],
        "note": f"{where}. Pairs turn {listed}; in brackets, after how many steps the fastest comes round.",
    }
