"""Draw the pictures of the README and the docs; the same code gives the same bytes."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from PIL import Image

from posenc import ALiBi, RoPE, Sinusoidal, plot

FOLDER = Path(__file__).parents[1] / "images"
#: A picture must stay below this many bytes, so that a clone stays small.
LARGEST = 60_000


def first() -> Figure:
    """The README's picture: a table that is added, and a vector that is rotated."""
    figure = Figure(figsize=(8.4, 3.3), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.35, 1))
    plot.heatmap(Sinusoidal(dim=128), 100, ax=left)
    plot.rotation(RoPE(dim=2), ax=right)
    return figure


def pictures() -> dict[str, Any]:
    """Every picture by its file name."""
    sinusoidal, rotary = Sinusoidal(dim=128), RoPE(dim=128)
    return {
        "first": first(),
        "heatmap": plot.heatmap(sinusoidal),
        "dimensions": plot.dimensions(sinusoidal),
        "waves": plot.waves(sinusoidal),
        "wavelengths": plot.wavelengths(rotary, length=2048),
        "similarity": plot.similarity(sinusoidal),
        "rotation": plot.rotation(RoPE(dim=2)),
        "rotated": plot.rotated(rotary),
        "differences": plot.differences(sinusoidal),
        "score_by_distance": plot.score_by_distance(rotary),
        "bias": plot.bias(ALiBi(heads=8)),
        "bias_by_distance": plot.bias_by_distance(ALiBi(heads=8)),
        "dials": plot.dials(Sinusoidal(dim=8), 150),
        "binary": plot.binary(),
        "pairs_adjacent": plot.pairing(RoPE(dim=16)),
        "pairs_halves": plot.pairing(RoPE(dim=16, pairing="halves")),
    }


def small(picture: Any) -> bytes:
    """A PNG of at most 256 colours, as sharp as the limit allows."""
    for dpi in (160, 140, 120, 100, 85, 72, 60):
        with Image.open(io.BytesIO(plot.image(picture, "png", dpi=dpi).data)) as whole:
            few = whole.convert("RGB").quantize(256, kmeans=4, dither=Image.Dither.NONE)
        buffer = io.BytesIO()
        few.save(buffer, format="png", optimize=True)
        data = buffer.getvalue()
        if len(data) <= LARGEST:
            return data
    raise ValueError(f"picture must fit in {LARGEST} bytes at 60 dots an inch; got {len(data)}. Draw less.")


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, picture in pictures().items():
        data = small(picture)
        (FOLDER / f"{name}.png").write_bytes(data)
        print(f"{name}.png  {len(data):,} bytes")


if __name__ == "__main__":
    main()
