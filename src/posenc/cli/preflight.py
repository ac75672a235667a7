"""`posenc preflight`: everything to check of two files of one model before it is served, in one page."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from posenc.cli.answer import Answer, Heading, Verb
from posenc.cli.inputs import WEIGHTS, each_waived_has_an_effect, is_config
from posenc.cli.working import working
from posenc.diagnosis import Preflight, preflight
from posenc.models.config.json_file import is_manifest, load_config


@dataclass(frozen=True)
class PreflightVerb(Verb):
    """Check two files of one model before it is served: positions of every layer and role, weights, and the length.

    They may be a trainer's and a rollout's, saved and reloaded, full and quantised. The page ends with what to write in
    the served file, and with the command that repeats the check.

    Exit code: 0 when all agree in everything, 1 when anything differs, 2 when a file cannot be read, 3 when all agree
    in what was compared; what was not is listed.

    Some examples:
      posenc preflight config.json served.json
      posenc preflight config.json served.json --length 32768
      posenc preflight target/ target/ --draft draft/ --json

    With --engine, that engine runs here on a probe of the served file (posenc engines); of a .gguf file or a manifest,
    on one of the trainer's config.
    """

    trainer: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="CONFIG")]
    """The file that is meant: a config.json, its folder, a .gguf file or a manifest."""

    served: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="CONFIG")]
    """The file that runs, any of these."""

    length: int | None = None
    """Tokens that are served; as many as the trainer's file takes if left out."""

    draft: Annotated[str | None, tyro.conf.arg(metavar="CONFIG")] = None
    """A model that drafts for the served one in speculative decoding."""

    engine: Annotated[tuple[str, ...], tyro.conf.arg(metavar="ENGINE")] = ()
    """Engines that serve the file, each run here on a probe of it: llama.cpp, mlx-lm, transformers and others."""

    cache: Path | None = None
    """Folder of the engines' environments and answers; the platform's cache folder if left out."""

    waive: tuple[str, ...] = ()
    """Keys of configs that concern positions and may go unread; the page names them."""

    def run(self) -> Answer:
        files = {"trainer": self.trainer, "served": self.served, "draft": self.draft}
        given = {name: path for name, path in files.items() if path is not None}
        for name, path in given.items():
            if not is_config(path) or path.endswith(WEIGHTS):
                raise ValueError(
                    f"{name} must be a config.json, its folder, a .gguf file or a manifest; got {path!r:.80}. Name it."
                )
        if self.cache is not None and not self.engine:
            raise ValueError(f"cache must come with --engine; got {str(self.cache)!r:.80} alone. Leave it out.")
        each_waived_has_an_effect(tuple(given.values()), self.waive)
        with working("comparing positions and weights"):
            found = preflight(self.trainer, self.served, length=self.length, draft=self.draft, waive=self.waive)
        found = self._with_engines(found) if self.engine else found
        facts = {"verdict": found.verdict, "to_write": found.to_write, "again": self.command, "preflight": found}
        return Answer(lambda: facts, lambda: self._lines(found), found.exit_code)

    def _with_engines(self, found: Preflight) -> Preflight:
        """Ask each engine what it makes of the served file; loaded here, since few preflights ask one."""
        from posenc.cli.engines import engine_progress
        from posenc.engines import engine_table, with_engines

        path = next((path for path in (self.served, self.trainer) if _is_plain_config(path)), None)
        if path is None:
            raise ValueError(
                f"engine must come with a config.json, of which its probe is made; got {self.trainer!r:.60} and "
                f"{self.served!r:.60}. Give the config as one side."
            )
        stop = threading.Event()
        with engine_progress() as watch:
            try:
                table = engine_table(path, engines=self.engine, cache=self.cache, stop=stop, watch=watch)
            finally:
                stop.set()
        return with_engines(found, table)

    @property
    def command(self) -> str:
        """The command that repeats this check."""
        options = {"--length": self.length, "--draft": self.draft}
        words = [str(word) for name, value in options.items() if value is not None for word in (name, value)]
        words += ["--engine", *self.engine] if self.engine else []
        words += ["--cache", str(self.cache)] if self.cache else []
        words += ["--waive", *self.waive] if self.waive else []
        return shlex.join(["posenc", "preflight", self.trainer, self.served, *words])

    def _lines(self, found: Preflight) -> Iterator[str]:
        headings = {f"{check.name}: {check.verdict}" for check in found.checks} | {found.lines()[0]}
        for line in found.lines():
            yield Heading(line) if line in headings else line
        yield from ("", "to repeat it:", f"  {self.command}")


def _is_plain_config(path: str) -> bool:
    return not path.endswith(".gguf") and not is_manifest(load_config(path))
