"""Pin the fingerprints of samples that are new in the catalog; those that are pinned stay as they are."""

from __future__ import annotations

import json
from pathlib import Path

from posenc.catalog import CATALOG
from posenc.models.fingerprints import fingerprint

PINS = Path(__file__).with_name("fingerprints.json")


def main() -> None:
    pinned = json.loads(PINS.read_text(encoding="utf-8"))
    pins = {}
    for row in CATALOG:
        kept = pinned.get(row.name, [])
        pins[row.name] = kept + [fingerprint(sample) for sample in row.samples[len(kept) :]]
    PINS.write_text(json.dumps(pins, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
