"""Every mutant of a file, by mutmut's operators, and a random sample that outlives moves and renamed files.

mutmut's own runner leaves out decorated functions (properties, exact arithmetic on the host, memos) and everything
outside functions, the tables of models among it. So its operators are applied here to whole files.
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path

import libcst
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider
from mutmut.mutation.mutators import mutation_operators, operator_string

#: Calls whose arguments any test would miss at once.
TRIVIAL_CALLS = ("len", "isinstance")


@dataclass(frozen=True)
class Mutant:
    """One small change of a file. `key` names it by its function and its text, not by file or line."""

    key: str
    file: str
    function: str
    line: int
    before: str
    after: str
    #: Which of the file's mutants, in order.
    index: int

    @property
    def name(self) -> str:
        return f"{self.key} {self.file}:{self.line}"


class Collector(libcst.CSTVisitor):
    """Walks a file and collects (node, mutated node, function, line)."""

    METADATA_DEPENDENCIES = (PositionProvider, ParentNodeProvider)

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[libcst.CSTNode, libcst.CSTNode, str, int]] = []
        self.within: list[libcst.CSTNode] = []

    def on_visit(self, node: libcst.CSTNode) -> bool:
        if ignored(node):
            return False
        self.within.append(node)
        for kind, operator in mutation_operators:
            if isinstance(node, kind) and not (operator is operator_string and self.in_message()):
                self.found += [(node, other, self.function(), self.line(node)) for other in operator(node)]
        return True

    def on_leave(self, original_node: libcst.CSTNode) -> None:
        if self.within and self.within[-1] is original_node:
            self.within.pop()

    def in_message(self) -> bool:
        """The words of an error are compared with patterns by tests, which text around them would fit as well."""
        return any(isinstance(node, libcst.Raise) for node in self.within)

    def function(self) -> str:
        named = (libcst.FunctionDef, libcst.ClassDef)
        return ".".join(node.name.value for node in self.within if isinstance(node, named))

    def line(self, node: libcst.CSTNode) -> int:
        """Where it begins; operators and keywords have no position of their own."""
        position = self.get_metadata(PositionProvider, node, None)
        while position is None:
            node = self.get_metadata(ParentNodeProvider, node)
            position = self.get_metadata(PositionProvider, node, None)
        return int(position.start.line)


def ignored(node: libcst.CSTNode) -> bool:
    """What no test could notice: annotations, imports, `__all__`, bare text, blocks for checkers; and trivial calls."""
    if isinstance(node, libcst.Annotation | libcst.Import | libcst.ImportFrom):
        return True
    if isinstance(node, libcst.Assign) and isinstance(name := node.targets[0].target, libcst.Name):
        return name.value == "__all__"
    if isinstance(node, libcst.Expr) and isinstance(node.value, libcst.BaseString):
        return True
    if isinstance(node, libcst.If) and isinstance(node.test, libcst.Name) and node.test.value == "TYPE_CHECKING":
        return True
    if not isinstance(node, libcst.Call) or not isinstance(node.func, libcst.Name):
        return False
    words = node.func.value == "float" and isinstance(node.args[0].value, libcst.SimpleString)  # in any spelling, "NaN"
    return words or node.func.value in TRIVIAL_CALLS


@cache
def parsed(path: Path) -> tuple[libcst.Module, Collector]:
    """The file, and what was collected in it."""
    wrapper = MetadataWrapper(libcst.parse_module(path.read_text(encoding="utf-8")), unsafe_skip_copy=True)
    wrapper.visit(collector := Collector())
    return wrapper.module, collector


def candidates(root: Path, file: str) -> list[Mutant]:
    """Each mutant of the file."""
    module, collector = parsed(root / file)
    made, seen = [], Counter[str]()
    for index, (node, other, function, line) in enumerate(collector.found):
        before, after = (module.code_for_node(either).strip() for either in (node, other))
        same = "\0".join((function, before, after))
        seen[same] += 1
        key = hashlib.sha256(f"{same}\0{seen[same]}".encode()).hexdigest()[:12]
        made.append(Mutant(key, file, function, line, before, after, index))
    return made


def mutated(root: Path, mutant: Mutant) -> str | None:
    """The file with the mutant in place; None where that is no Python, or reads the same."""
    module, collector = parsed(root / mutant.file)
    node, other, _, _ = collector.found[mutant.index]
    changed = module.deep_replace(node, other)
    code = changed.code if isinstance(changed, libcst.Module) else ""
    try:
        return None if ast.dump(ast.parse(code)) == ast.dump(ast.parse(module.code)) else code
    except SyntaxError:
        return None


def sample(root: Path, files: Iterable[str], number: int, seed: int) -> tuple[list[Mutant], int]:
    """`number` mutants of these files drawn at random, and how many there are in all.

    Drawn by the hash of seed and key: whoever is drawn stays drawn while other code changes, moves or is renamed.
    """
    every = [mutant for file in files for mutant in candidates(root, file)]
    drawn = sorted(every, key=lambda mutant: (hashlib.sha256(f"{seed} {mutant.key}".encode()).digest(), mutant.name))
    valid = (mutant for mutant in drawn if mutated(root, mutant) is not None)
    return list(islice(valid, number)), len(every)


def python_files(root: Path, rooms: Sequence[str]) -> list[str]:
    """The Python files of these modules and packages, next to `root`."""
    found = []
    for room in rooms:
        path = root / room
        if not path.exists():
            raise FileNotFoundError(f"{room} does not exist: name where it is now in quality/measure_mutants.py.")
        found += [path] if path.is_file() else sorted(path.rglob("*.py"))
    return [str(path.relative_to(root)) for path in found]
