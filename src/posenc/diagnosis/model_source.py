"""Read one side of a comparison: an encoding, a config or a file; errors name the side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from posenc.core.doors import Encoding, RotaryEncoding
from posenc.core.rotation import PairLayout
from posenc.diagnosis.rotation.rotation_usage import RotationUsage
from posenc.models.checkpoints.conversion import layout_of_receipt
from posenc.models.config.converted_type import as_converted_from
from posenc.models.config.json_file import is_manifest, load_config
from posenc.models.config.reader import from_config
from posenc.models.formats.gguf_read import from_gguf
from posenc.models.model_positions import DRAFT, LayerGroup, ModelPositions
from posenc.models.reordered_rows import with_encodings
from posenc.models.served_length import served_at

NOUNS = {"expected": "the first side, what is meant", "actual": "the second side, what is there"}


def in_layout(model: ModelPositions, layout: PairLayout | None) -> ModelPositions:
    """Set the pair layout of rotations in a model's text, drafts and first part; None leaves the model as it is."""

    def paired(encoding: Encoding, group: LayerGroup) -> Encoding:
        if not isinstance(encoding, RotaryEncoding) or group.part not in ("text", DRAFT, *model.parts[:1]):
            return encoding
        changed = RotationUsage(encoding).with_rope(pairing=layout)
        return encoding if changed is None else changed.encoding

    return model if layout is None else with_encodings(model, paired)


class ModelSource(NamedTuple):
    """The encodings of one side, and where they were read.

    Args:
        positions: An encoding, or what a model does with positions.
        config: Its config as plain data, where it has one.
        path: Path of its file or folder.
        converted: Layout of pairs in its rows since posenc converted them, as its config or its receipt says.
    """

    positions: Encoding | ModelPositions
    config: Mapping[str, Any] | None = None
    path: Path | None = None
    converted: PairLayout | None = None

    @property
    def folder(self) -> Path | None:
        """The folder of a checkpoint."""
        return self.path if self.path is not None and self.path.is_dir() else None


def read_source(name: str, given: Any, waive: Iterable[str] = (), *, length: int | None = None) -> ModelSource:
    """Read an encoding, a config, its path, or what `from_config` returns; errors begin with the side's name.

    `length` is the one to serve, for files whose frequencies depend on it.
    """
    if isinstance(given, Encoding | ModelPositions):
        return ModelSource(given)
    if not isinstance(given, Mapping | str | Path) and not callable(getattr(given, "to_dict", None)):
        code = "Code of your own goes to posenc check FILE.py:NAME --against ENCODING, which is check_code."
        raise TypeError(
            f"{name} must be an encoding, a config or what from_config returns; got {type(given).__name__}. "
            f"{code if callable(given) else 'Give one of these.'}"
        )
    path = Path(given) if isinstance(given, str | Path) else None
    try:
        if path is not None and path.suffix == ".gguf":
            return ModelSource(_served(from_gguf(path, waive=waive), length), None, path)
        config, converted = as_converted_from(load_config(given))
        positions = from_config(config, waive=waive, length=None if is_manifest(config) else length)
        positions = _served(in_layout(positions, converted), length)
        return ModelSource(positions, config, path, converted or layout_of_receipt(path))
    except (ValueError, TypeError) as error:
        noun = f" ({NOUNS[name]})" if name in NOUNS else ""
        raise type(error)(f"{name}{noun} cannot be read: {error}") from None


def _served(positions: ModelPositions, length: int | None) -> ModelPositions:
    return positions if length is None else served_at(positions, length)
