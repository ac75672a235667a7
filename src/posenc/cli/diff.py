"""`posenc diff`: what differs between two encodings or two models, and what it does to angles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import tyro

from posenc.cli.answer import Answer, Verb
from posenc.cli.inputs import WEIGHTS, each_waived_has_an_effect, implementations, is_config


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
      posenc diff draft/ target/ --draft --length 32768
    """

    first: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="ENCODING|CONFIG")]
    """What is expected: an encoding, a config.json, its folder, or a .gguf file."""

    second: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="ENCODING|CONFIG")]
    """What to compare with it: one of the same kinds."""

    waive: tuple[str, ...] = ()
    """Keys of configs that concern positions and may go unread; the answer names them."""

    draft: bool = False
    """Whether the first is a draft for the second in speculative decoding: compare what the two must share, no more."""

    length: int | None = None
    """Tokens that the pair serves, with --draft; the target's own length if it is left out."""

    def run(self) -> Answer:
        if self.draft:
            return self._as_draft()
        if self.length is not None:
            raise ValueError(f"length must be given with --draft alone; got {self.length}. Leave it out.")
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

    def _as_draft(self) -> Answer:
        from posenc.models import check_draft
        from posenc.models.difference import EXIT_CODES

        for name, path in (("first", self.first), ("second", self.second)):
            if not is_config(path) or path.endswith(WEIGHTS):
                raise ValueError(
                    f"{name} must be a config, its folder or a .gguf file with --draft; got {path!r:.80}. Name one."
                )
        each_waived_has_an_effect((self.first, self.second), self.waive)
        check = check_draft(self.first, self.second, length=self.length, waive=self.waive)
        return Answer(lambda: {"verdict": check.verdict, "draft": check}, check.lines, EXIT_CODES[check.verdict])
