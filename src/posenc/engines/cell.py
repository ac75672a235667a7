"""A cell of the table of engines, in a module of its own so that reading a table from the cache imports little."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Source = Literal["live", "transcribed", "not known"]


@dataclass(frozen=True)
class Cell:
    """A field of how an engine treats positions, such as its pairs or its frequencies.

    Attributes:
        source: "live" where the engine's own process ran and computed it here; "transcribed" where it was read in its
            source; "not known".
        value: What it is, in words; why it is not known.
        differs: Whether it is another than the file states.
    """

    source: Source
    value: str
    differs: bool = False
