"""Threads may import any part of posenc first, in any order: no module waits for one that waits for it.

Python locks a module while importing it, and asks for the lock of `a.b` before that of `a`. A thread that imports `a.b`
and one that imports `a`, whose `__init__` imports `a.b`, wait for each other: Python then raises an error in one, or
hands it an unfinished module. So a package loads its names lazily, from its stub, and imports form no cycle.
"""

from __future__ import annotations

import ast
import graphlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
FIRST_USE = Path(__file__).with_name("first_use.py")
#: Packages whose `__init__` imports their own modules: JAX and PyTorch must be told of classes and operators, and the
#: command line is a program. Other modules must import such a package before any module of it.
ENTERED_FIRST = {"posenc.jax", "posenc.kernels.triton", "posenc.cli"}


def modules(source: Path) -> dict[str, Path]:
    """Every module by its dotted name; a package by that of its `__init__`."""
    paths = {path.relative_to(source).with_suffix(""): path for path in source.glob("posenc/**/*.py")}
    return {".".join(name.parts).removesuffix(".__init__"): path for name, path in paths.items()}


def at_import(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when a module is imported: not those in functions, nor for type checkers."""
    for node in body:
        yield node
        if isinstance(node, ast.FunctionDef) or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)):
            continue
        for part in ("body", "orelse", "finalbody"):
            yield from at_import(getattr(node, part, []))
        for handler in getattr(node, "handlers", []):
            yield from at_import(handler.body)


def home(module: str, name: str, known: dict[str, Path]) -> str:
    """The module that `from module import name` loads, through the stubs of lazy packages."""
    stub = known[module].with_suffix(".pyi")
    found = stub.exists() and re.search(rf"^from \.([\w.]*) import {name} as", stub.read_text(), re.MULTILINE)
    if found:
        return home(".".join(filter(None, (module, found[1]))), name, known)
    return f"{module}.{name}" if f"{module}.{name}" in known else module


def imported(node: ast.AST, known: dict[str, Path]) -> set[str]:
    """The modules of posenc that a statement loads, apart from the packages that they are in."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names} & set(known)
    if isinstance(node, ast.ImportFrom) and node.module in known:
        return {node.module, *(home(node.module, alias.name, known) for alias in node.names)}
    return set()


def packages(module: str) -> set[str]:
    return {module.rsplit(".", count)[0] for count in range(1, module.count(".") + 1)}


def waits(source: Path) -> dict[str, set[str]]:
    """What each module waits for while it is imported."""
    known = modules(source)
    graph = {}
    for module, path in known.items():
        direct = {each for node in at_import(ast.parse(path.read_text()).body) for each in imported(node, known)}
        around = {package for each in direct | {module} for package in packages(each)}
        inside = {package for package in ENTERED_FIRST if package in packages(module)}
        graph[module] = direct - {module} | around - {module} - inside
    return graph


def import_statements(path: Path) -> list[ast.Import | ast.ImportFrom]:
    """Every import of a file, those in functions too, as they stand below each other."""
    nodes = ast.walk(ast.parse(path.read_text()))
    return sorted(
        (node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)), key=lambda node: node.lineno
    )


def entered_late(source: Path) -> list[str]:
    """Imports of a module in a package of ENTERED_FIRST, from outside it, that do not import the package before."""
    known, found = modules(source), []
    for module, path in known.items():
        seen: set[str] = set()
        for node in import_statements(path):
            targets = imported(node, known)
            seen |= targets if not (isinstance(node, ast.ImportFrom) and node.module not in ENTERED_FIRST) else set()
            found += [
                f"{module}: {each}"
                for each in targets
                for package in ENTERED_FIRST & packages(each) - seen
                if package not in packages(module) | {module}
            ]
    return found


def torch_late(source: Path) -> list[str]:
    """Imports of a module of PyTorch by modules that have not imported PyTorch itself before.

    `import torch.distributed` does not wait for a thread that is importing `torch`: half of PyTorch ends the process.
    """
    found = []
    for module, path in modules(source).items():
        seen: set[str] = set()
        for node in import_statements(path):
            asked = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [str(node.module)]
            found += [f"{module}: {name}" for name in asked if name.startswith("torch.") and "torch" not in seen]
            seen.update(asked)
    return found


def test_no_module_waits_for_one_that_waits_for_it() -> None:
    graphlib.TopologicalSorter(waits(SOURCE)).prepare()  # CycleError names the modules of a cycle


def test_packages_that_import_their_modules_are_entered_first() -> None:
    assert entered_late(SOURCE) == []


def test_torch_is_imported_before_its_modules(tmp_path: Path) -> None:
    assert torch_late(SOURCE) == []
    (tmp_path / "posenc").mkdir()
    (tmp_path / "posenc" / "late.py").write_text("import torch.distributed as dist\nimport torch")
    (tmp_path / "posenc" / "early.py").write_text("from torch import Tensor\nfrom torch.autograd import forward_ad")
    assert torch_late(tmp_path) == ["posenc.late: torch.distributed"]


@pytest.mark.parametrize(
    ("package", "module"),
    [
        ("from posenc.room.wall import height", "height = 3"),
        ("", "from posenc.room.door import width"),
        ("import lazy_loader", "from posenc.room import width"),
    ],
    ids=["eager package", "two modules", "through a stub"],
)
def test_cycles_are_found(tmp_path: Path, package: str, module: str) -> None:
    room = tmp_path / "posenc" / "room"
    room.mkdir(parents=True)
    (room.parent / "__init__.py").write_text("")
    (room / "__init__.py").write_text(package)
    (room / "__init__.pyi").write_text("from .door import width as width\n")
    (room / "wall.py").write_text(module)
    (room / "door.py").write_text("from posenc.room.wall import height\nwidth = height\n")
    with pytest.raises(graphlib.CycleError):
        graphlib.TopologicalSorter(waits(tmp_path)).prepare()


def test_a_package_entered_late_is_found(tmp_path: Path) -> None:
    jax = tmp_path / "posenc" / "jax"
    jax.mkdir(parents=True)
    for path, text in {
        jax.parent / "__init__.py": "",
        jax / "__init__.py": "from posenc.jax.bound import Bound",
        jax / "bound.py": "Bound = 1",
        jax.parent / "late.py": "def late():\n    from posenc.jax.bound import Bound",
        jax.parent / "early.py": "import posenc.jax\nfrom posenc.jax.bound import Bound",
    }.items():
        path.write_text(text)
    assert entered_late(tmp_path) == ["posenc.late: posenc.jax.bound"]


def first_use(seed: int, *rooms: str) -> str:
    """What goes wrong where 16 threads of a new process use the names of these packages first."""
    words = [sys.executable, str(FIRST_USE), str(seed), *rooms]
    return subprocess.run(words, capture_output=True, text=True, timeout=300, check=True).stdout


def test_threads_may_use_names_first() -> None:
    for seed in range(2):
        assert first_use(seed, "posenc") == ""


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(12))
def test_threads_may_use_every_name_and_module_first(seed: int) -> None:
    lazy = [name for name, path in modules(SOURCE).items() if path.with_suffix(".pyi").exists()]
    others = [name for name in modules(SOURCE) if not name.endswith("__main__") and not packages(name) & ENTERED_FIRST]
    assert first_use(seed, *lazy, *(others if seed % 2 else [])) == ""
