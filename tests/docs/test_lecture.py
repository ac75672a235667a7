"""The lecture: a notebook without outputs or paths of a machine, of which every cell runs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from mkdocs.config import load_config
from mkdocs.structure.files import Files

import live_pages

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "docs" / "lecture.ipynb"
#: The mistake that posenc names in each exercise that is code.
MISTAKES = {"exercise-2": "exponent i/d", "exercise-3": "minus missing", "exercise-4": "slope rule"}


def test_the_notebook_is_valid_and_holds_neither_outputs_nor_a_path_of_a_machine() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    notebook = nbformat.reads(text, as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in cells)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert not re.search(r"(?<![\w.])(/(home|root|Users|usr|opt|tmp|var|work|mnt)\b|[A-Za-z]:\\\\)", text)


def test_a_picture_on_the_site_is_described_by_its_cell() -> None:
    cell = "```python\n# The waves.\nplot()\n```\n\n\n    6.28\n\n\n![svg](lecture_files/1.svg)\n"
    other = cell.replace("waves", "dials")
    page = live_pages.executed(f"# Title\n{cell}```python\nx = 1\n```\n{other}")
    assert f"{cell.replace('svg]', 'The waves.]')}```python\nx = 1\n```\n{other.replace('svg]', 'The dials.]')}" in page
    assert "# Title" not in page


def test_the_site_shows_the_executed_notebook_and_needs_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    config = load_config(str(ROOT / "mkdocs-site.yml"))
    page = SimpleNamespace(file=SimpleNamespace(src_uri="lecture.md"))
    config.extra |= {"lecture": str(tmp_path / "lecture.md"), "lesson": str(NOTEBOOK)}
    with pytest.raises(FileNotFoundError, match=r"lecture must be executed before the site; lecture\.md is missing"):
        live_pages.on_page_markdown("# A lecture\n", page=page, config=config)
    (tmp_path / "lecture.md").write_text("# Title\n## One\n", encoding="utf-8")
    assert "\n## One\n" in live_pages.on_page_markdown("# A lecture\n", page=page, config=config)
    (tmp_path / "lecture_files").mkdir()
    (tmp_path / "lecture_files" / "1.svg").write_text("<svg/>", encoding="utf-8")
    monkeypatch.setattr(live_pages, "CATALOG", ())
    monkeypatch.setattr(config.plugins, "_current_plugin", "hook", raising=False)  # MkDocs sets it while it builds
    added = {file.src_uri for file in live_pages.on_files(Files([]), config)}
    assert added == {"live/lesson.html", "lecture_files/1.svg"}


@pytest.mark.nightly
def test_every_cell_runs_and_the_exercises_name_their_mistakes(tmp_path: Path) -> None:
    """The cells assert what the text claims, and the solutions assert themselves."""
    command = ["-m", "nbconvert", "--log-level=ERROR", "--execute", "--to", "notebook"]
    subprocess.run([sys.executable, *command, "--output-dir", tmp_path, NOTEBOOK], check=True, timeout=900)
    cells = json.loads((tmp_path / NOTEBOOK.name).read_text(encoding="utf-8"))["cells"]
    outputs = {cell["id"]: json.dumps(cell.get("outputs", [])) for cell in cells}
    for name, mistake in MISTAKES.items():
        assert f"mistake: {mistake}\\n" in outputs[name]
    assert "[ True, False,  True, False]" in outputs["exercise-1"]
    assert "13 fits" in outputs["exercise-5"]
    assert all("image/svg+xml" in outputs[cell["id"]] for cell in cells if "plot." in "".join(cell["source"]))
