"""Stubs for packages that an engine imports and its functions for positions never call."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Sequence
from typing import Any
from unittest.mock import MagicMock


class StubModule(types.ModuleType):
    """A module that has every attribute, each a MagicMock."""

    __path__: list[str] = []  # noqa: RUF012 (as modules have it)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = MagicMock(name=f"{self.__name__}.{name}")
        setattr(self, name, value)
        return value


class StubFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import finder and loader that supplies stubs for all modules of some packages, except those below `real`."""

    def __init__(self, *packages: str, real: str = "") -> None:
        self.packages, self.real = set(packages), real

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> Any:
        """Return a spec for a stub if the module belongs to one of the packages, else None."""
        parts = name.split(".")
        if self.real and (name + ".").startswith(self.real + "."):
            return None
        if any(".".join(parts[: count + 1]) in self.packages for count in range(len(parts))):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: Any) -> types.ModuleType:
        """An empty stub."""
        return StubModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing to run."""


def stub(*packages: str) -> None:
    """Make packages import as stubs if they are not installed."""
    sys.meta_path.append(StubFinder(*packages))


def stub_instead(*packages: str, real: str) -> None:
    """Make packages import as stubs even if they are installed, except the package `real` inside them."""
    sys.meta_path.insert(0, StubFinder(*packages, real=real))
