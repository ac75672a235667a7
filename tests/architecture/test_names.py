"""Searching for a name finds one place: files, classes and public functions of src/posenc have names of their own."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2] / "src" / "posenc"

#: What several modules define on purpose: one interface that each of them implements, or one call for several array
#: libraries or rooms.
INTERFACES = {
    "an engine, and the trial that it runs": {"run"},
    "a program of its own": {"main"},
    "what runs in an engine's process": {"answer"},
    "channels of a head: of an encoding, and of a config in an engine's process": {"head_width"},
    "a kernel, and the doors of PyTorch to it": {
        "unsupported_reason", "unsupported_tensors", "cos_sin", "rotate", "rotate_", "rotate_in_place",
        "rotate_into_cache", "rotate_into_cache_",
    },
    "attention: a path of PyTorch, or its twin in NumPy or JAX": {
        "attend", "attention", "queries_per_tile", "rotate_keys", "rotated_vectors", "rotated_back",
        "sharded_attention",
    },
    "cosines and sines: posenc.torch makes them, posenc.plot draws what they do": {"rotation"},
    "what posenc.inspect or posenc.learn measures and posenc.plot draws": {
        "attention_map", "derivative", "dials", "input_sum", "look_back", "number_waves", "score_by_distance",
        "score_terms", "shift_matrix", "similarity",
    },
}  # fmt: skip


def definitions(kind: type[ast.AST]) -> Iterator[tuple[str, str]]:
    """The names that modules define at their top level, and the module of each."""
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, kind):
                yield node.name, str(path.relative_to(ROOT))


def several(names: Iterator[tuple[str, str]]) -> dict[str, list[str]]:
    """The names that more than one module has."""
    found = defaultdict(list)
    for name, module in names:
        found[name].append(module)
    return {name: modules for name, modules in found.items() if len(modules) > 1}


def test_no_two_files_share_a_name():
    assert several((path.name, str(path)) for path in ROOT.rglob("*.py") if path.name != "__init__.py") == {}


def test_no_two_classes_share_a_name():
    assert several(definitions(ast.ClassDef)) == {}


def test_no_two_public_functions_share_a_name_unless_they_are_one_interface():
    shared = {name: where for name, where in several(definitions(ast.FunctionDef)).items() if name[0] != "_"}
    interfaces = set().union(*INTERFACES.values())
    assert {name: where for name, where in shared.items() if name not in interfaces} == {}
    assert interfaces - set(shared) == set(), "named as interfaces, but at most one module has them"
