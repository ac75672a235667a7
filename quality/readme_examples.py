"""Run the README's examples with whichever Python and posenc are called: those that need none of the libraries named.

`python -I quality/readme_examples.py README.md torch jax` runs what NumPy alone can. Needs nothing but posenc itself.
"""

from __future__ import annotations

import doctest
import re
import sys
from pathlib import Path


def blocks(text: str, without: list[str]) -> list[str]:
    """The blocks of Python that name none of these libraries."""
    found = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    return [block for block in found if not any(re.search(rf"\b{name}\b", block) for name in without)]


def main(path: str, *without: str) -> int:
    """Exit code 1 where an example fails, or where there was none to run."""
    chosen = blocks(Path(path).read_text(encoding="utf-8"), list(without))
    runner = doctest.DocTestRunner()
    runner.run(doctest.DocTestParser().get_doctest("".join(chosen), {}, "README.md", path, 0))
    failed, tried = runner.summarize()
    print(f"{Path(path).name} without {', '.join(without)}: {len(chosen)} blocks, {tried} examples, {failed} failed")
    return int(bool(failed) or not tried)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
