"""Every rotary class of transformers: found, built from a config, and asked for frequencies, tables and rotated
vectors."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import warnings
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from model_peers.ledger import TYPES

#: The models of transformers.
ROOT = Path(importlib.util.find_spec("transformers").origin).parent / "models"
#: Classes that make the tables of a rotation, by name.
NAMES = re.compile(r"^class (\w*(?:Rotary|Rope|RoPE)\w*)", re.MULTILINE)


@dataclass(frozen=True)
class Peer:
    """A rotary class, the module it stands in, and the class of its config."""

    name: str
    module: ModuleType
    rotary: type
    config: type

    @property
    def model_type(self) -> str:
        return self.config.model_type or self.config.__name__

    def configured(self, settings: dict[str, Any]) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.config(**settings)

    def built(self, config: Any) -> torch.nn.Module:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.rotary(config)


@lru_cache(maxsize=512)
def peer(case: str) -> Peer:
    """The class "folder.Class", imported, as the config of a model type builds it.

    case: "folder.Class model_type", a line of the ledger; the type may be left out of a class that the ledger has once.
    """
    import transformers

    transformers.logging.set_verbosity_error()
    name, *model_type = case.split()
    folder, kind = name.split(".")
    file = next(p for p in sorted((ROOT / folder).glob("modeling_*.py")) if f"class {kind}" in p.read_text("utf-8"))
    module = importlib.import_module(f"transformers.models.{folder}.{file.stem}")
    return Peer(name, module, getattr(module, kind), config_class(*(model_type or TYPES[name])))


@lru_cache(maxsize=512)
def config_class(model_type: str) -> type:
    """The config class of a model type, or of that name where it has none; only its own file is imported."""
    stated = re.compile(rf'^    model_type = "{re.escape(model_type)}"$|^class {re.escape(model_type)}\(', re.MULTILINE)
    file = next(file for file in sorted(ROOT.glob("*/configuration_*.py")) if stated.search(file.read_text("utf-8")))
    module = importlib.import_module(f"transformers.models.{file.parent.name}.{file.stem}")
    return next(
        value
        for value in vars(module).values()
        if inspect.isclass(value) and model_type in (getattr(value, "model_type", ""), value.__name__)
    )


@lru_cache(maxsize=1)
def names() -> tuple[str, ...]:
    """Every "folder.Class" that rotates by its name, read from the sources without importing them."""
    return tuple(
        f"{file.parent.name}.{name}"
        for file in sorted(ROOT.glob("*/modeling_*.py"))
        for name in NAMES.findall(file.read_text(encoding="utf-8"))
    )
