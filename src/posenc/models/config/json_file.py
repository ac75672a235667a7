"""A config as a plain dict: from a dict, a file or a folder. Nothing is executed, unpickled or fetched."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from posenc import _check

#: The largest config file that is read; the largest released ones stay below a tenth of it.
LARGEST_FILE = 4 << 20
#: How deeply the objects of a config may be nested; released ones stay below ten levels.
DEEPEST = 64
FILE = "config.json"


def load_config(config: Any) -> dict[str, Any]:
    """The config as a dict, of an object what its `to_dict` gives; ValueError or TypeError where it is none."""
    if not isinstance(config, type) and callable(getattr(config, "to_dict", None)):  # a config of transformers, say
        config = config.to_dict()
    if isinstance(config, Mapping):
        _check_depth(config)
        return dict(config)
    if not isinstance(config, str | Path):
        raise TypeError(
            "config must be a dict, an object with to_dict() such as LlamaConfig, or the path of a config.json or of "
            f"its folder; got {type(config).__name__}. "
            f"{'Give model.config' if hasattr(config, 'config') else 'Give one of these'}."
        )
    return _parse(_file(config))


def _file(config: str | Path) -> Path:
    try:
        path = Path(config)
        path = path / FILE if path.is_dir() else path
        exists = path.is_file()
    except (OSError, ValueError):
        exists = False
    if not exists:
        raise ValueError(
            f"config must name a file or a folder with {FILE}; got {_check.shown(str(config))}. Check the path."
        )
    return path


def _parse(path: Path) -> dict[str, Any]:
    size = path.stat().st_size
    if size > LARGEST_FILE:
        raise ValueError(
            f"config must be a file of at most {LARGEST_FILE} bytes; got {size}. Give config.json, not the weights."
        )
    try:
        data = json.loads(path.read_bytes().decode("utf-8"), object_pairs_hook=unique_keys)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"config must be JSON; got {path.name}, where {_problem(error)}. Give the config.json."
        ) from None
    if not isinstance(data, dict):
        raise TypeError(f"config must hold a JSON object; got {type(data).__name__}. Give the config.json of a model.")
    _check_depth(data)
    return data


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object whose keys all differ; nothing says which of two equal ones counts."""
    result = dict(pairs)
    if len(result) != len(pairs):
        (twice, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {twice[:80]!r} occurs twice")
    return result


def _problem(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "objects are nested too deeply"
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is no UTF-8"
    return str(error).splitlines()[0]


def _check_depth(data: Mapping[str, Any]) -> None:
    """Refuse what is nested too deeply, before anything prints or walks it."""
    level: list[Any] = [data]
    for _ in range(DEEPEST):
        level = [value for item in level for value in _items(item) if isinstance(value, Mapping | list | tuple)]
        if not level:
            return
    raise ValueError(f"config must be nested at most {DEEPEST} levels deep; got more. Give the config.json of a model.")


def _items(item: Any) -> Any:
    return item.values() if isinstance(item, Mapping) else item
