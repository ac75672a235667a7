"""The table of model types: each name once, and nothing about one type outside its row."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

from model_peers.ledger import LIVE, TYPES
from posenc.models.config.config_classes import config_classes
from posenc.models.config.model_types import MODEL_TYPES, ROWS
from posenc.models.formats.gguf_architectures import ARCHITECTURES

SOURCES = Path(__file__).parents[2] / "src" / "posenc"


def test_every_model_type_has_one_row():
    twice = [name for name, count in Counter(name for row in ROWS for name in row.names).items() if count > 1]
    assert not twice, f"listed twice, so that one row would shadow the other: {twice}"


def test_every_row_is_of_types_that_transformers_knows():
    unknown = set(MODEL_TYPES) - set(config_classes())
    assert not unknown, f"no config class has these types, which may be misspelled: {unknown}"


def test_every_model_type_is_compared_with_a_live_one():
    """Types that rotate have a line in the ledger; the tests of the others take their types from the rows."""
    rotary = {name for name, row in MODEL_TYPES.items() if row.reader is None and not row.unsupported}
    without = rotary - {name for types in TYPES.values() for name in types} - set(LIVE)
    assert not without, f"add a line to tests/model_peers/verified.txt: {without}"


def test_nothing_asks_for_one_model_type():
    """What is true of one type stands in its row; a comparison with its name elsewhere would be a second place."""
    asked = []
    for path in (*SOURCES.glob("models/**/*.py"), *SOURCES.glob("diagnosis/**/*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare | ast.Subscript) and named_types(node) and asks_for_type(node):
                asked.append(f"{path.relative_to(SOURCES)}:{node.lineno}")
    assert not asked, f"move what these lines know into rows of config/model_types/: {asked}"


def named_types(node: ast.AST) -> set[str]:
    words = {part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)}
    return words & {*config_classes(), *ARCHITECTURES}


def asks_for_type(node: ast.AST) -> bool:
    names = {getattr(part, "id", getattr(part, "attr", "")) for part in ast.walk(node)}
    return bool(names & {"model_type", "arch", "architecture"})
