"""`posenc diff`: what differs between two encodings or two models, and what it does to angles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import tyro

from posenc.cli.answer import Answer, Verb
from posenc.cli.inputs import implementations


@dataclass(frozen=True)
class DiffVerb(Verb):
    """Show what differs between two encodings, or two models layer by layer, and what that does at 1k, 8k and 128k.

    Exit code: 0 when both compute the same, however they are written, 1 when they differ, 2 when they cannot be
    compared, 3 when they are the same in what was compared; what was not is listed.

    Some examples:
      posenc diff "RoPE(dim=64)" "RoPE(dim=64, base=500_000)"
      posenc diff "ALiBi(heads=8)" "ALiBi(heads=8, rule='geometric')"
      posenc diff config.json served.json
      posenc diff config.json served.json --json
    """

    first: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="ENCODING|CONFIG")]
    """What is expected: an encoding, a config.json, its folder, or a .gguf file."""

    second: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="ENCODING|CONFIG")]
    """What to compare with it: one of the same kinds."""

    waive: tuple[str, ...] = ()
    """Keys of configs that concern positions and may go unread; the answer names them."""

    def run(self) -> Answer:
        from posenc.models import ModelPositions, diff, fingerprint
        from posenc.models.difference import EXIT_CODES
        from posenc.models.keys_that_differ import keys_that_differ

        first, second = implementations({"first": self.first, "second": self.second}, self.waive)
        difference = diff(first, second)
        same, verdict = difference.same, difference.verdict
        keys: dict[str, tuple[object, object]] = {}
        if isinstance(first, ModelPositions) and isinstance(second, ModelPositions) and not same:
            keys = keys_that_differ(first, second)

        def facts() -> dict[str, Any]:
            fingerprints = [fingerprint(first), fingerprint(second)]
            shown = {key: list(values) for key, values in keys.items()}
            found = {"same": same, "verdict": verdict, "fingerprints": fingerprints, "difference": difference}
            return found | {"keys_that_differ": shown}

        def lines() -> list[str]:
            said = [f"{key} is {one!r} and {other!r}" for key, (one, other) in keys.items()]
            return [*difference.lines(), *([f"in the files: {'; '.join(said)}"] if said else [])]

        return Answer(facts, lines, EXIT_CODES[verdict])
