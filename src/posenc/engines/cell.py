"""A cell of the table of engines; nothing else is loaded where a kept table is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Source = Literal["live", "transcribed", "not known"]


@dataclass(frozen=True)
class Cell:
    """Field of an engine's positions.

    Attributes:
        source: "live" where the engine's own process ran and computed it here; "transcribed" where it was read in its
            source; "not known".
        value: What it is, in words; why it is not known.
        differs: Whether it is another than the file states.
    """

    source: Source
    value: str
    differs: bool = False
