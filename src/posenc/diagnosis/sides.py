"""The two sides of a comparison, as encodings or as what configs say; an error says which side it is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from posenc.core.doors import Encoding
from posenc.core.rotation import PairLayout
from posenc.diagnosis.same_terms import in_layout
from posenc.models.checkpoints.conversion import layout_of_receipt
from posenc.models.config.converted_type import as_converted_from
from posenc.models.config.json_file import load_config
from posenc.models.config.reader import from_config
from posenc.models.formats.gguf_read import from_gguf
from posenc.models.model_positions import ModelPositions

NOUNS = {"expected": "the first side, what is meant", "actual": "the second side, what is there"}


class Side(NamedTuple):
    """What one side does with positions, and where it was read: its config as plain data, and the path of its file.

    Args:
        converted: How pairs lie in its rows since posenc converted them, as its config or its receipt says.
    """

    positions: Encoding | ModelPositions
    config: Mapping[str, Any] | None = None
    path: Path | None = None
    converted: PairLayout | None = None

    @property
    def folder(self) -> Path | None:
        """The folder of a checkpoint."""
        return self.path if self.path is not None and self.path.is_dir() else None


def side_of(name: str, given: Any, waive: Iterable[str] = ()) -> Side:
    """An encoding, a config, the path of one, or what `from_config` returns. Errors begin with the name of the side."""
    if isinstance(given, Encoding | ModelPositions):
        return Side(given)
    if not isinstance(given, Mapping | str | Path) and not callable(getattr(given, "to_dict", None)):
        raise TypeError(
            f"{name} must be an encoding, a config or what from_config returns; got {type(given).__name__}. "
            "Give one of these."
        )
    path = Path(given) if isinstance(given, str | Path) else None
    try:
        if path is not None and path.suffix == ".gguf":
            return Side(from_gguf(path, waive=waive), None, path)
        config, converted = as_converted_from(load_config(given))
        positions = from_config(config, waive=waive)
        return Side(in_layout(positions, converted), config, path, converted or layout_of_receipt(path))
    except (ValueError, TypeError) as error:
        raise type(error)(f"{name} ({NOUNS[name]}) cannot be read: {error}") from None
