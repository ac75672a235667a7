"""Draw the pictures of the encodings' pages: `python docs/scripts/draw.py` draws missing and outdated ones.

Names of rows draw those again; `--all` draws every one, as after a change of the drawing itself.
"""

from __future__ import annotations

import sys
from pathlib import Path

import posenc
from generator import kinds
from generator.picture import LARGEST, encoding_of, picture
from generator.text import file_name
from posenc.catalog import Row, row

__all__ = ["FOLDER", "LARGEST", "current", "unclaimed"]

FOLDER = Path(__file__).parents[1] / "images" / "encodings"


def path_of(row: Row) -> Path:
    return FOLDER / f"{file_name(row.name)}.png"


def current(row: Row) -> bool:
    """Whether the row has its picture, of the encoding that it names today."""
    path = path_of(row)
    return path.exists() and encoding_of(path.read_bytes()) == repr(kinds.drawn_encoding(row))


def unclaimed() -> list[Path]:
    """Pictures that no row has any more."""
    return sorted(set(FOLDER.glob("*.png")) - {path_of(row) for row in posenc.CATALOG})


def main(asked: list[str]) -> int:
    rows = [row(name) for name in asked if name != "--all"] or list(posenc.CATALOG)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path in unclaimed():
        path.unlink()
    for one in rows:
        if asked or not current(one):
            data = picture(one)
            path_of(one).write_bytes(data)
            print(f"{path_of(one).name}  {len(data):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
