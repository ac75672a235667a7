"""The shape of the code: few imports a file, and nothing generated out of date.

Ruff limits lines and functions of Python; here the lines of JavaScript and CSS have the same limit.
"""

import ast
import inspect
import re
import tomllib
from pathlib import Path

import posenc
from every import every

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))


#: Modules of posenc that one file may import; a package's own list of its names may import more.
MOST_IMPORTS = 16


def imported(path: Path) -> set[str]:
    """The modules of posenc that a file imports, wherever in the file it does."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    modules = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    modules |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return {module for module in modules if module.partition(".")[0] == "posenc"}


def test_no_file_imports_much() -> None:
    def check(path: Path) -> None:
        assert len(imported(path)) <= MOST_IMPORTS

    every((path for path in SOURCES if path.name != "__init__.py"), check)


def test_lines_of_scripts_and_styles_are_short() -> None:
    limit = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]["line-length"]
    files = [
        path for folder in ("src", "docs") for kind in ("js", "css") for path in (ROOT / folder).rglob(f"*.{kind}")
    ]
    assert len(files) > 50

    def check(path: Path) -> None:
        lines = path.read_text(encoding="utf-8").splitlines()
        long = [number for number, line in enumerate(lines, 1) if len(line) > limit]
        assert not long, f"{path.name} must have lines of at most {limit} characters; got longer ones: {long}"
        assert len(lines) <= 400, f"{path.name} must have at most 400 lines; got {len(lines)}. Split it."

    every(files, check)


def test_every_row_says_where_it_comes_from():
    for row in posenc.CATALOG:
        assert row.samples
        assert row.use
        assert all(type(sample) is row.encoding for sample in row.samples)
        text = inspect.getdoc(row.about) or ""
        assert ">>>" in text, f"{row.name} has no example"
        assert re.search(r"arXiv|kexue|google-research|notes|lecture|article|chapter", row.paper), row.paper


def test_every_row_has_an_oracle():
    from oracles import ORACLES

    assert {row.encoding.__name__ for row in posenc.CATALOG} == set(ORACLES)


def test_generated_pages_are_current():
    import generate

    files = generate.generated()
    for path, text in files.items():
        assert path.exists(), f"{path.name} is missing: run python docs/scripts/generate.py"
        assert path.read_text(encoding="utf-8") == text, (
            f"{path.name} is out of date: run python docs/scripts/generate.py"
        )
    assert not generate.unclaimed(files), "run python docs/scripts/generate.py, which removes pages without a row"


def test_every_row_has_its_picture():
    import draw

    missing = [row.name for row in posenc.CATALOG if not draw.current(row)]
    assert not missing, f"run python docs/scripts/draw.py, which draws {', '.join(missing)}"
    assert not draw.unclaimed(), "run python docs/scripts/draw.py, which removes pictures without a row"
    assert all(path.stat().st_size <= draw.LARGEST for path in draw.FOLDER.glob("*.png"))


def test_no_path_of_a_machine_is_written_down():
    pattern = re.compile(r"(?<![A-Za-z0-9_.])/(?:work|home|root|Users)/[A-Za-z.]")
    for path in [*SOURCES, *(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "Makefile"]:
        assert not pattern.search(path.read_text(encoding="utf-8")), path.name


def page() -> str:
    return (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_the_tree_of_the_page_is_the_tree() -> None:
    tree = page().split("```text\n")[1].split("```")[0]
    named = set(re.findall(r"(?<![\w/])[\w/]+(?:\.pyi?|/)(?!\w)", tree))

    def exists(name: str) -> None:
        places = [
            ROOT,
            ROOT / "src" / "posenc",
            *(path for path in (ROOT / "src" / "posenc").iterdir() if path.is_dir()),
        ]
        assert any((place / name).exists() for place in [*places, ROOT / "tests", ROOT / "docs", ROOT / "benchmarks"])

    every(sorted(named), exists)
    rooms = {path.name for path in (ROOT / "src" / "posenc").iterdir() if not path.name.startswith("__")} - {"py.typed"}
    assert not {room for room in rooms if room not in {name.split("/")[0] for name in named}}


def test_the_page_has_the_contract_of_imports() -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    text = " ".join(page().split())
    for contract in table["contracts"][:2]:
        layers = [layer.replace("posenc.", "").replace("core.", "").replace(" |", ",") for layer in contract["layers"]]
        assert " → ".join(layers) in text, contract["name"]


def test_every_folder_says_what_lives_there() -> None:
    def check(path: Path) -> None:
        text = ast.get_docstring(ast.parse((path / "__init__.py").read_text(encoding="utf-8")))
        assert text, f"{path.name}/__init__.py needs a sentence that says what lives there and what does not"

    every((path for path in sorted((ROOT / "src").rglob("*")) if path.is_dir() and list(path.glob("*.py"))), check)
