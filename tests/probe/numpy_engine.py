"""The engine of docs/probe.md, with mistakes to plant."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "probe.md").read_text(encoding="utf-8"), re.DOTALL)

GUIDE_CLIENT, GUIDE_ENGINE, GUIDE_RUN = BLOCKS


def engine(*changes: tuple[str, str]) -> Callable[..., dict[str, Any]]:
    """`run` of the guide, with some of its text replaced; each text must occur."""
    source = GUIDE_ENGINE
    for old, new in changes:
        assert old in source, f"the guide must hold {old!r}"
        source = source.replace(old, new)
    names: dict[str, Any] = {}
    exec(compile(source, "docs/probe.md", "exec"), names)
    return names["run"]  # type: ignore[no-any-return]
