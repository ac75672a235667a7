"""Draw the pictures of docs/context-extension.md from the results on file: `python docs/draw_context_extension.py`."""

from __future__ import annotations

import sys
from pathlib import Path

from generator.context_extension import PARTS, found
from posenc.lab.context_extension.picture import picture
from posenc.plot.export import image

IMAGES = Path(__file__).parent / "images"


def main() -> int:
    for part, summary in zip(PARTS, found(), strict=True):
        kind = part.picture.rpartition(".")[2]
        (IMAGES / part.picture).write_bytes(image(picture(summary), kind, dpi=110).data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
