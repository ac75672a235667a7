"""`posenc diff`: what differs between two records or two models, and what it does to angles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import tyro

from posenc.cli import show
from posenc.cli.implementation import implementation


@dataclass(frozen=True)
class Diff:
    """Tell what differs between two records, or between two models layer by layer, and what it does at 1k, 8k and 128k.

    Exit code 0 when both compute the same, however they are written; 1 when they do not; 2 when they cannot be compared.

    examples:
      posenc diff "RoPE(dim=64)" "RoPE(dim=64, base=500_000)"
      posenc diff "ALiBi(heads=8)" "ALiBi(heads=8, rule='geometric')"
      posenc diff config.json served.json
      posenc diff config.json served.json --json
    """

    first: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="RECORD|CONFIG")]
    """What is meant: a record, a config.json, its folder, or a .gguf file."""

    second: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="RECORD|CONFIG")]
    """What it is compared with."""

    json: bool = False
    """Print JSON."""

    def run(self) -> int:
        from posenc.models import diff, fingerprint

        first, second = implementation("first", self.first), implementation("second", self.second)
        found = diff(first, second)
        if self.json:
            prints = {"fingerprints": [fingerprint(first), fingerprint(second)]}
            print(show.as_json({"same": found.same, **prints, "difference": found}))
        else:
            show.say(*found.lines())
        return 0 if found.same else 1
