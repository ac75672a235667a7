"""Files as people have them: configs, checkpoints, dumps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file


def config_file(folder: Path, name: str, config: Mapping[str, Any]) -> Path:
    """A config.json of a model under a name of its own, in a folder of its own."""
    path = folder / name
    path.mkdir(parents=True, exist_ok=True)
    (path / "config.json").write_text(json.dumps(dict(config), indent=2), encoding="utf-8")
    return path


def safetensors(path: Path, arrays: Mapping[str, Any]) -> Path:
    """Arrays in the types that they have."""
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file({name: torch.as_tensor(value).contiguous().clone() for name, value in arrays.items()}, path)
    return path


def npz(path: Path, arrays: Mapping[str, Any]) -> Path:
    """Arrays as numpy.savez writes them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **{name: np.asarray(value) for name, value in arrays.items()})
    return path


def saved(config: Any) -> dict[str, Any]:
    """What a config class of transformers writes into config.json."""
    return json.loads(config.to_json_string())
