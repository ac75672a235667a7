"""Draw the pictures of docs/context-extension.md from the results on file."""

from __future__ import annotations

import io
import sys
from pathlib import Path

from PIL import Image

from generator.context_extension import PARTS, found
from posenc.lab.extension_study.study_summary import extension_picture
from posenc.plot.export import image

IMAGES = Path(__file__).parents[1] / "images"


def main() -> int:
    for part, summary in zip(PARTS, found(), strict=True):
        kind = part.picture.rpartition(".")[2]
        drawn = image(extension_picture(summary), kind, dpi=110).data
        (IMAGES / part.picture).write_bytes(drawn if kind == "svg" else of_few_colours(drawn))
    return 0


def of_few_colours(png: bytes) -> bytes:
    """The same picture from a palette of 256 colours, less than half as large."""
    small = io.BytesIO()
    Image.open(io.BytesIO(png)).convert("RGB").quantize(256).save(small, "png", optimize=True)
    return small.getvalue()


if __name__ == "__main__":
    sys.exit(main())
