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
#: How deep the objects of a config may lie in each other; released ones stay below ten.
DEEPEST = 64
FILE = "config.json"


def loaded(config: Any) -> tuple[dict[str, Any], str]:
    """The config as a dict, and what to call it in messages."""
    if isinstance(config, Mapping):
        _shallow(config)
        return dict(config), "config"
    if not isinstance(config, str | Path):
        raise TypeError(
            f"config must be a dict, or the path of a config.json or of its folder; got {type(config).__name__}. "
            "Give one of these."
        )
    path = _file(config)
    return _parsed(path), path.name


def _file(config: str | Path) -> Path:
    try:
        path = Path(config)
        path = path / FILE if path.is_dir() else path
        found = path.is_file()
    except (OSError, ValueError):
        found = False
    if not found:
        raise ValueError(
            f"config must name a file or a folder with {FILE}; got {_check.shown(str(config))}. Look again."
        )
    return path


def _parsed(path: Path) -> dict[str, Any]:
    size = path.stat().st_size
    if size > LARGEST_FILE:
        raise ValueError(
            f"config must be a file of at most {LARGEST_FILE} bytes; got {size}. Give config.json, not the weights."
        )
    try:
        data = json.loads(path.read_bytes().decode("utf-8"), object_pairs_hook=_once)
    except (ValueError, RecursionError) as problem:
        raise ValueError(
            f"config must be JSON; got {path.name}, where {_said(problem)}. Give the config.json."
        ) from None
    if not isinstance(data, dict):
        raise TypeError(f"config must hold a JSON object; got {type(data).__name__}. Give the config.json of a model.")
    _shallow(data)
    return data


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, each key of which stands there once: which of two counts, nobody says."""
    made = dict(pairs)
    if len(made) != len(pairs):
        (twice, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {twice[:80]!r} stands there twice")
    return made


def _said(problem: Exception) -> str:
    if isinstance(problem, RecursionError):
        return "objects lie too deep in each other"
    if isinstance(problem, UnicodeDecodeError):
        return f"byte {problem.start} is no UTF-8"
    return str(problem).splitlines()[0]


def _shallow(data: Mapping[str, Any]) -> None:
    """Refuse what lies too deep, before anything prints or walks it."""
    level: list[Any] = [data]
    for _ in range(DEEPEST):
        level = [value for item in level for value in _inside(item) if isinstance(value, Mapping | list | tuple)]
        if not level:
            return
    raise ValueError(f"config must not lie more than {DEEPEST} levels deep; got more. Give the config.json of a model.")


def _inside(item: Any) -> Any:
    return item.values() if isinstance(item, Mapping) else item
