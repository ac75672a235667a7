"""Each room of src/posenc imports what `[tool.posenc.rooms]` of pyproject.toml allows it, and nothing else of posenc.

A room is a folder of src/posenc, or a module next to them. Every import counts: inside functions, for type checkers
and in stubs. A name that `posenc` itself shows counts as one of the room it is from.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ALLOWED: dict[str, list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["posenc"]["rooms"]
#: `__init__` shows the names of every room, and `__main__` is the command line.
OF_ALL_ROOMS = {"__init__", "__main__"}
FILES = sorted(path for kind in ("py", "pyi") for path in (ROOT / "src" / "posenc").rglob(f"*.{kind}"))


def room_of(path: Path) -> str:
    """The folder or module of src/posenc that a file belongs to."""
    return path.relative_to(ROOT / "src" / "posenc").parts[0].partition(".")[0]


def names_imported(text: str, package: tuple[str, ...]) -> Iterator[str]:
    """The dotted names that a module of a package imports, also by a name in words."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else ()
            base = ".".join((*above, *filter(None, [node.module])))
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            yield from (each.value for each in node.args if isinstance(each, ast.Constant))


def homes() -> dict[str, str]:
    """The room of each name that `posenc` shows."""
    stub = ast.parse((ROOT / "src" / "posenc" / "__init__.pyi").read_text())
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: (node.module or alias.name).partition(".")[0] for node in imports for alias in node.names}


HOMES = homes()


def rooms_imported(text: str, path: Path) -> set[str]:
    """The other rooms that the text of a file imports."""
    package = ("posenc", *path.relative_to(ROOT / "src" / "posenc").parent.parts)
    parts = [name.split(".") for name in names_imported(text, package)]
    rooms = {HOMES.get(name[1], name[1]) for name in parts if name[0] == "posenc" and len(name) > 1}
    return rooms - {room_of(path), "__version__"}


def refused(text: str, path: Path) -> set[str]:
    """The rooms that a file imports and may not."""
    return set() if room_of(path) in OF_ALL_ROOMS else rooms_imported(text, path) - set(ALLOWED[room_of(path)])


def test_the_table_has_every_room_once_and_no_circle() -> None:
    assert set(ALLOWED) == {room_of(path) for path in FILES} - OF_ALL_ROOMS
    rank = {room: place for place, room in enumerate(ALLOWED)}
    assert [(room, each) for room, others in ALLOWED.items() for each in others if rank[each] >= rank[room]] == []


def test_every_room_imports_what_it_may() -> None:
    found = {str(path.relative_to(ROOT)): refused(path.read_text(encoding="utf-8"), path) for path in FILES}
    assert {path: sorted(rooms) for path, rooms in found.items() if rooms} == {}


@pytest.mark.parametrize("room", ALLOWED)
def test_a_planted_import_is_refused(room: str) -> None:
    path = min(
        (path for path in FILES if room_of(path) == room and path.suffix == ".py"), key=lambda path: path.stat().st_size
    )
    text = path.read_text(encoding="utf-8")
    levels = "." * (len(path.relative_to(ROOT / "src" / "posenc").parts))
    for other in sorted(set(ALLOWED) - {room, *ALLOWED[room]}):
        for planted in (
            f"import posenc.{other}",
            f"from posenc import {other}",
            f"from posenc.{other}.inner import name",
            f"from {levels}{other} import name",
            f"def within():\n    from posenc.{other} import name",
            f"if TYPE_CHECKING:\n    import posenc.{other}",
            f'importlib.import_module("posenc.{other}.inner")',
        ):
            assert refused(f"{text}\n{planted}\n", path) == {other}, planted
    if room not in ("cli", "lab", "explorer") and "compose" not in ALLOWED[room] + [room]:
        assert refused(f"{text}\nfrom posenc import Sum\n", path) == {"compose"}


def test_the_rooms_of_a_library_load_no_models() -> None:
    code = (
        "import sys, posenc.torch; [getattr(posenc.torch, name) for name in posenc.torch.__all__]; "
        "print([name for name in sys.modules if name.startswith(('posenc.models', 'posenc.diagnosis'))])"
    )
    words = [sys.executable, "-c", code]
    assert subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip() == "[]"
