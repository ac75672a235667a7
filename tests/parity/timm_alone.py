"""The layers of timm in a process of its own: timm itself asks for torchvision, whose wrong build breaks torch here.

Run as a script it reads a dictionary of expressions, of `layers` (timm.layers) and `torch`, and writes their values.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

import torch


def stub(name: str, **members: Any) -> ModuleType:
    """An empty package of that name, with these members."""
    module = ModuleType(name)
    module.__spec__ = ModuleSpec(name, None, is_package=True)
    module.__path__ = []
    vars(module).update(members)
    sys.modules[name] = module
    return module


def layers() -> Any:
    """timm.layers, under an empty timm and beside an empty torchvision."""
    stub("torchvision")
    stub("torchvision.ops")
    stub("torchvision.ops.misc", FrozenBatchNorm2d=torch.nn.Identity)
    found = PathFinder.find_spec("timm")
    if found is None or not found.submodule_search_locations:
        raise ImportError("timm is needed by these tests: pip install --no-deps timm==1.0.31")
    stub("timm").__path__ = list(found.submodule_search_locations)
    from timm import layers

    return layers


def ask(**expressions: str) -> dict[str, Any]:
    """Values of expressions of `layers` (timm.layers) and `torch`, by name, from one process."""
    with tempfile.TemporaryDirectory() as folder:
        asked, told = Path(folder) / "asked.pt", Path(folder) / "told.pt"
        torch.save(expressions, asked)
        subprocess.run([sys.executable, "-W", "ignore", __file__, str(asked), str(told)], check=True, timeout=300)
        return torch.load(told)


def main(asked: str, told: str) -> None:
    names = {"layers": layers(), "torch": torch}
    torch.save({name: eval(text, names) for name, text in torch.load(asked).items()}, told)


if __name__ == "__main__":
    main(*sys.argv[1:])
