"""Results that the pages show, read as they are stored: a renamed field must not leave them behind."""

from pathlib import Path

import pytest

from posenc.lab import store
from posenc.lab.extension_study.study import Extension, read_extension

DOCS = Path(__file__).parents[2] / "docs"
STUDIES = sorted((DOCS / "context_extension").glob("*.json"))
COMPARISONS = sorted(path.parent for path in (DOCS / "comparisons").glob("*/results.jsonl"))


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_a_stored_study_is_read_from_the_file_that_its_name_says(path):
    extension = Extension.from_json(path.read_bytes())
    assert read_extension(path.parent, extension.study) == extension
    assert extension.study.identity in path.name
    assert all(each.encoding and each.values for each in extension.ways)


@pytest.mark.parametrize("folder", COMPARISONS, ids=lambda folder: folder.name)
def test_a_stored_comparison_is_read_whole(folder):
    stored = store.read(folder)
    assert not stored.torn
    assert stored.whole == (folder / store.NAME).stat().st_size
    assert {result.experiment.identity for result in stored.results.values()} == stored.results.keys() != set()


def test_there_are_stored_results():
    assert (len(STUDIES), len(COMPARISONS)) == (15, 2)
