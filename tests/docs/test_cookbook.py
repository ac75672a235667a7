"""Each block of the cookbook runs by itself, with no name of another, in an empty folder."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "cookbook.md"
BLOCKS = dict(re.findall(r"^### ([^\n]+)\n\n```python\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE))


def test_the_cookbook_has_its_twenty_tasks() -> None:
    assert len(BLOCKS) >= 20
    assert len(BLOCKS) == PAGE.read_text("utf-8").count("\n### ")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("title", BLOCKS)
def test_a_block_runs_by_itself(title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    example = doctest.DocTestParser().get_doctest(BLOCKS[title], {}, title, str(PAGE), 0)
    report: list[str] = []
    assert doctest.DocTestRunner(verbose=False).run(example, out=report.append).failed == 0, "".join(report)
