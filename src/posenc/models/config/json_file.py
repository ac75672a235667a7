"""A config as a plain dict: from a dict, a file or a folder. Nothing is executed, unpickled or fetched."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from posenc.core import plain_file, validation

#: The largest config file that is read; the largest released ones stay below a tenth of it.
LARGEST_FILE = 4 << 20
FILE = "config.json"
#: What a file that holds a manifest says it is.
SCHEMA = "posenc.manifest"


def load_config(config: Any, name: str = "config") -> dict[str, Any]:
    """Return a config as a dict, from a mapping, an object with `to_dict`, a file or a folder; raise for others."""
    if not isinstance(config, type) and callable(getattr(config, "to_dict", None)):  # a config of transformers, say
        config = config.to_dict()
    if isinstance(config, Mapping):
        if plain_file.is_too_deep(config):
            raise ValueError(
                f"{name} must be nested at most {plain_file.DEEPEST} levels deep; got more. Give the config.json of a "
                "model."
            )
        if "model_type" in config:  # what names no type is no config, and is refused as such
            _refuse_arrays(config, name)
        return dict(config)
    if not isinstance(config, str | Path):
        raise TypeError(
            f"{name} must be a dict, an object with to_dict() such as LlamaConfig, or the path of a config.json or of "
            f"its folder; got {type(config).__name__}. "
            f"{'Give model.config' if hasattr(config, 'config') else 'Give one of these'}."
        )
    return _parse(_file(config, name), name)


def _refuse_arrays(held: Any, name: str) -> None:
    """Raise a TypeError for a NumPy array or tensor at any depth of a config: it must be a list, as in JSON."""
    for key, value in held.items() if isinstance(held, Mapping) else enumerate(held):
        if isinstance(value, Mapping | list | tuple):
            _refuse_arrays(value, f"{name}[{key!r}]")
        elif getattr(value, "ndim", 0):
            raise TypeError(
                f"{name}[{key!r}] must be what JSON holds; got {validation.shown(value)}. Give a list: its tolist()."
            )


def _file(config: str | Path, name: str) -> Path:
    try:
        path = Path(config)
        path = path / FILE if path.is_dir() else path
        exists = path.is_file()
    except (OSError, ValueError):
        exists = False
    if not exists:
        raise ValueError(
            f"{name} must name a file or a folder with {FILE}; got {validation.shown(str(config))}. Check the path."
        )
    return path


def _parse(path: Path, name: str) -> dict[str, Any]:
    text = plain_file.read_bytes(path, LARGEST_FILE, name=name, advice="Give config.json, not the weights.")
    try:
        data = plain_file.json_of(text)
    except ValueError as error:
        raise ValueError(f"{name} must be JSON; got {path.name}, where {error}. Give the config.json.") from None
    if not isinstance(data, dict):
        raise TypeError(f"{name} must hold a JSON object; got {type(data).__name__}. Give the config.json of a model.")
    return data


def is_manifest(data: Mapping[str, Any]) -> bool:
    """Whether the object of a JSON file says that it is a manifest.

    Example:
        >>> is_manifest({"schema": "posenc.manifest"}), is_manifest({"model_type": "llama"})
        (True, False)
    """
    return data.get("schema") == SCHEMA
