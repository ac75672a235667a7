"""The pages of the API reference: every public name, where it is defined; MkDocs writes its docstring there."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import posenc

SOURCES = Path(posenc.__file__).parents[1]
#: Packages with a list of public names, and what they are for.
PACKAGES = {
    "posenc": "Encodings, the doors, and what they are composed of",
    "posenc.positions": "Where each token is",
    "posenc.cameras": "Encodings whose positions are cameras",
    "posenc.frequencies": "How fast each pair of channels rotates",
    "posenc.inspect": "Measures, as data",
    "posenc.learn": "Worked examples, and the course of the sources",
    "posenc.plot": "Pictures, as matplotlib axes",
    "posenc.torch": "PyTorch",
    "posenc.caches": "Keys and values that decoding keeps",
    "posenc.transformers": "Loaded models of Hugging Face transformers",
    "posenc.jax": "JAX",
    "posenc.models": "What released models do with positions",
    "posenc.diagnosis": "Why two implementations differ",
    "posenc.probe": "Which positions an engine applies to a model",
    "posenc.engines": "What every engine makes of a file",
    "posenc.testing": "The conformance suite",
}
#: Guides come before the reference in a search: its long pages hold most words.
FILLED_IN = (
    "In the repository these\npages hold names alone: building the site (`make docs`) writes the docstrings into them. "
    "Python's `help()` shows the\nsame text: `import posenc; help(posenc.RoPE)`."
)
AFTER_GUIDES = "---\nsearch:\n  boost: 0.2\n---\n"
#: Modules, and packages of modules, whose every public definition is listed.
MODULES = {"posenc.jax.flax": "Flax", "posenc.lab": "What an encoding does to a model"}


def pages() -> dict[str, str]:
    """The pages by file name."""
    written = {f"{name}.md": _page(name, title, _definitions(name)) for name, title in PACKAGES.items()}
    written |= {f"{name}.md": _page(name, title, _modules(name)) for name, title in MODULES.items()}
    return {"index.md": _index(), **written}


def public_names(package: str) -> list[str]:
    """The names that a package exports: the imports of its stub, or its `__all__`; subpackages have their own page."""
    tree = _tree(package)
    if _source(package).suffix == ".pyi":
        return sorted(name for name, (module, _) in _imports(package).items() if f"{module}.{name}" not in PACKAGES)
    listed = next(node.value for node in tree.body if isinstance(node, ast.Assign) and _target(node) == "__all__")
    return sorted(ast.literal_eval(listed))


def definition(module: str, name: str) -> str:
    """The full name of what a module calls `name`, in the module that defines it."""
    imports = _imports(module)
    if name not in imports:
        return f"{module}.{name}"
    return definition(*imports[name])


def _index() -> str:
    lines = [f"- [`{name}`]({name}.md): {title}" for name, title in (PACKAGES | MODULES).items()]
    head = "# API reference\n\nEvery public name, its formula or task, arguments, shapes, units, errors and an example."
    return f"{head} {FILLED_IN}\n\n" + "\n".join(lines) + "\n"


def _page(name: str, title: str, targets: list[str]) -> str:
    return "\n\n".join([f"{AFTER_GUIDES}\n# {name}", f"{title}.", *(f"::: {target}" for target in targets)]) + "\n"


def _definitions(package: str) -> list[str]:
    return [definition(package, name) for name in public_names(package)]


def _modules(name: str) -> list[str]:
    source = _source(name)
    if source.name != "__init__.py":
        return [name]
    return [f"{name}.{path.stem}" for path in sorted(source.parent.glob("[!_]*.py"))]


def _source(module: str) -> Path:
    """The file that defines a module: the stub of a package that loads its names lazily, or its code."""
    path = SOURCES / module.replace(".", "/")
    stub, code = path / "__init__.pyi", path / "__init__.py"
    return stub if stub.exists() else code if code.exists() else path.with_suffix(".py")


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(_source(module).read_text(encoding="utf-8"))


@cache
def _imports(module: str) -> dict[str, tuple[str, str]]:
    """The names that a module imports from posenc, each with the module and the name there."""
    package = module if _source(module).stem == "__init__" else module.rpartition(".")[0]
    found = {}
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*parents, *([node.module] if node.module else [])])
            if source.split(".")[0] == "posenc":
                found |= {alias.asname or alias.name: (source, alias.name) for alias in node.names}
    return found


def _target(node: ast.Assign) -> str:
    return node.targets[0].id if isinstance(node.targets[0], ast.Name) else ""
