"""What the button of an example copies runs, in a fresh process and an empty folder, from the top of its page."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
#: Blocks that are run, drawn by the seed.
DRAWN, SEED = 40, 0
#: What a page says where its examples read files of the repository.
NEEDS_CLONE = "in a clone"
#: Examples, and those that show an error.
EXAMPLES, ERROR = '.highlight:has(.gp:has-text(">>>"))', ".gt"
#: Runs blocks of one page in turn; those that show an error must raise one.
PASTE = """
import json, sys
names = {"__name__": "__main__"}
for code, raises in json.load(open(sys.argv[1], encoding="utf-8")):
    try:
        exec(compile(code, "pasted", "exec"), names)
    except Exception:
        if not raises:
            raise
    else:
        assert not raises, "no error: " + code
"""


def copied(page: Any, count: int) -> list[tuple[str, bool]]:
    """Texts that the buttons of the first examples of a page copy, and whether each shows an error."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    texts = []
    for block in page.locator(EXAMPLES).all()[:count]:
        block.locator("button[data-clipboard-target]").first.click()
        texts.append((page.evaluate("navigator.clipboard.readText()"), block.locator(ERROR).count() > 0))
    return texts


def errors(blocks: list[tuple[str, bool]], folder: Path, cwd: Path) -> str:
    """Errors of blocks that are pasted into one process; nothing where all end well."""
    pasted = folder / "pasted.json"
    pasted.write_text(json.dumps(blocks), encoding="utf-8")
    command = [sys.executable, "-W", "ignore", "-c", PASTE, str(pasted)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300)
    return done.stderr if done.returncode else ""


@pytest.mark.browser
def test_forty_copied_blocks_run_as_pasted(watched: Any, site: str, tmp_path: Path) -> None:
    page, pages, failed = watched().page, sorted((ROOT / "docs").rglob("*.md")), {}
    blocks = [(path, place) for path in pages for place in range(path.read_text("utf-8").count("```python\n>>> "))]
    for number, (path, place) in enumerate(random.Random(SEED).sample(blocks, DRAWN)):
        name = path.relative_to(ROOT / "docs").with_suffix("").as_posix()
        page.goto(f"{site}/{'' if name == 'index' else name}/")
        texts = copied(page, place + 1)
        assert len(texts) == place + 1, name
        assert not any(">>> " in text for text, _ in texts), name
        (folder := tmp_path / str(number)).mkdir()
        cwd = ROOT if NEEDS_CLONE in path.read_text("utf-8").lower() else folder
        if error := errors(texts, folder, cwd):
            failed[f"{name}, block {place}"] = error[-500:]
    assert not failed, failed
