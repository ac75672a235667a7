"""Measure every difference that docs/conventions.md tells of: `PYTHONPATH=tests python tests/parity/measure.py`.

The figures go to docs/conventions.json, of which the page is made; test_conventions.py measures them again.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path

from parity import measures_other, measures_rotary

FIGURES = Path(__file__).parents[2] / "docs" / "conventions.json"
PEERS = (
    "diffusers", "equinox", "jax", "positional-encodings", "rotary-embedding-torch", "timm", "torch", "torchtune",
    "transformers", "x-transformers",
)  # fmt: skip
MEASURES = {**measures_rotary.MEASURES, **measures_other.MEASURES}


def main() -> int:
    figures = {name: float(f"{measure():.6g}") for name, measure in MEASURES.items()}
    versions = {peer: version(peer).partition("+")[0] for peer in PEERS}
    FIGURES.write_text(json.dumps({"versions": versions, "figures": figures}, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
