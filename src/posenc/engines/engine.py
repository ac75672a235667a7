"""Engines as data: what is installed for each, and which script runs it in a process of its own."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from posenc.core import validation

#: How an engine is seen: it runs the whole probe, or its own functions for positions are called.
Kind = Literal["whole model", "functions"]
#: Where a package comes from.
Registry = Literal["pypi", "npm"]
#: Folder of the scripts that run in engines' processes.
RUNNERS = Path(__file__).parent / "runners"


@dataclass(frozen=True)
class Package:
    """A distribution at one version.

    Attributes:
        name: As the package index has it.
        version: The one that is installed.
        size: Bytes to download; 0 where it is not known.
        hashes: SHA-256 of each file that may be installed, by its name; empty for a version that is not pinned.
        from_source: Whether it is built here from its source distribution.
        registry: Whether pip or npm downloads it.
    """

    name: str
    version: str
    size: int = 0
    hashes: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    from_source: bool = False
    registry: Registry = "pypi"

    @property
    def requirement(self) -> str:
        """Line of a requirements file, with hashes where it is pinned."""
        hashes = "".join(f" --hash=sha256:{digest}" for digest in sorted(set(self.hashes.values())))
        return f"{self.name}=={self.version}{hashes}"


@dataclass(frozen=True)
class Engine:
    """An engine that reads positions from files.

    Attributes:
        name: As people call it.
        kind: How it is seen.
        runner: Name of its script in `runners`, without ".py".
        packages: What is installed for it; the first states its version.
        build: Packages that building the first from source needs.
        requires: Modules that the running environment must have, "torch" for example: none is ever downloaded.
        programs: Programs that must be installed, "node" for example.
        model_types: Types of models that it takes; () for all that a probe is written for.
        lacks: Types of models that its source has no code of, although its functions could be called for them.
        where: Where its code for positions is, in words.
        reuse: Whether the running environment's own package is used where it has this version.
        gguf: Whether it reads the probe as GGUF.
        seconds: How long its process may take.
    """

    name: str
    kind: Kind
    runner: str
    packages: tuple[Package, ...]
    build: tuple[Package, ...] = ()
    requires: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    model_types: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    where: str = ""
    reuse: bool = False
    gguf: bool = False
    seconds: float = 240.0

    @property
    def version(self) -> str:
        """Version of the engine's own package."""
        return self.packages[0].version

    @property
    def script(self) -> Path:
        """File of its runner."""
        return RUNNERS / f"{self.runner}.py"

    @property
    def source(self) -> str:
        """Text of its runner, with that of the script in another language that it starts."""
        return "".join(
            path.read_text(encoding="utf-8") for path in sorted(self.script.parent.glob(f"{self.script.stem}.*"))
        )

    def surroundings(self) -> dict[str, str]:
        """Versions of what it runs on, and texts of the scripts that all runners use."""
        shared = sorted(path for path in RUNNERS.glob("*.py") if not path.name.startswith("run_"))
        texts = {path.name: path.read_text(encoding="utf-8") for path in shared}
        return texts | {name: version_of(name) for name in self.requires}

    def at(self, version: str) -> Engine:
        """Return the engine at another version, whose files are not pinned.

        Args:
            version: Of the first package, "0.33.0" for example.

        Returns:
            The engine; itself where it has this version.

        Raises:
            ValueError: `version` is no version.
        """
        if not version or not version[0].isdigit() or not version.replace("+", ".").replace(".", "").isalnum():
            raise ValueError(
                f"at must give a version such as 1.2.3 of {self.name}; got {version!r:.40}. Write NAME=1.2.3."
            )
        if version == self.version:
            return self
        first, *others = self.packages
        return replace(self, packages=(replace(first, version=version, size=0, hashes=MappingProxyType({})), *others))


def version_of(name: str) -> str:
    """Version of a package of the running environment; "" where it has none."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def named(engines: tuple[Engine, ...], name: str) -> Engine:
    """Return the engine of a name."""
    validation.choice("engines", name, tuple(engine.name for engine in engines))
    return next(engine for engine in engines if engine.name == name)
